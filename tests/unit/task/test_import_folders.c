/* Where the modules of a project that is not installed are imported from. */
#include "test_task.h"

typedef struct {
    const char *what, *files[4][2], *expected;
} Layout;

static const Layout layouts[] = {
    {"flat", {{"shop/__init__.py", ""}}, ""},
    {"a module in src", {{"src/shop.py", ""}}, "src"},
    {"a namespace package in src", {{"src/corp/shop/__init__.py", ""}}, "src"},
    {"src that is a package itself", {{"src/__init__.py", ""}}, ""},
    {"lib of other things", {{"lib/tool.py", ""}}, ""},
    {"setup.py", {{"code/shop.py", ""}, {"setup.py", "setup(package_dir={'': 'code'})\n"}}, "code"},
    {"find_packages",
     {{"code/shop/a.py", ""},
      {"tools/b.py", ""},
      {"setup.py", "setup(packages=find_packages('code', exclude=['tools']))\n"}},
     "code"},
    {"setup.cfg",
     {{"code/shop.py", ""}, {"setup.cfg", "[options]\npackage_dir =\n    = code\nname = x\n"}},
     "code"},
    {"a table of pyproject.toml",
     {{"code/shop.py", ""}, {"pyproject.toml", "[tool.setuptools.package-dir]\n\"\" = \"code\"\n"}},
     "code"},
    {"a list of pyproject.toml",
     {{"code/shop.py", ""}, {"pyproject.toml", "[tool.x]\nwhere = [\n  \"code\",\n]\n"}},
     "code"},
    {"a package by its own folder",
     {{"code/shop/__init__.py", ""}, {"setup.py", "setup(package_dir={'shop': 'code/shop'})\n"}},
     "code"},
    {"tox.ini",
     {{"code/shop.py", ""}, {"tox.ini", "setenv =\n  PYTHONPATH = {toxinidir}/code\n"}},
     "code"},
    {"another key", {{"code/shop.py", ""}, {"setup.cfg", "omit = code\n"}}, ""},
    {"a way out", {{"code/shop.py", ""}, {"setup.cfg", "package_dir = ../code/../..\n"}}, ""},
    {"several projects",
     {{"one/src/a.py", ""},
      {"one/setup.py", ""},
      {"two/b/__init__.py", ""},
      {"two/pyproject.toml", ""}},
     "one/src two"},
    {"projects of tests", {{"tests/x/src/a.py", ""}, {"tests/x/setup.py", ""}}, ""},
};

static void test_modules_are_found_where_developers_find_them(Place *place, gconstpointer data)
{
    for (guint i = 0; i < G_N_ELEMENTS(layouts); i++) {
        const Layout *layout = &layouts[i];
        g_autoptr(GError) error = NULL;
        g_autofree char *folder = place_path(place, layout->what);
        for (guint k = 0; k < G_N_ELEMENTS(layout->files) && layout->files[k][0]; k++) {
            g_autofree char *path = g_build_filename(layout->what, layout->files[k][0], NULL);
            place_write(place, path, layout->files[k][1]);
        }
        g_autoptr(AcrRepo) repo = acr_repo_open(folder, &error);
        g_assert_no_error(error);
        g_autoptr(AcrSnapshot) snapshot = acr_snapshot_of_worktree(repo, &error);
        g_assert_no_error(error);
        g_autoptr(GPtrArray) folders = acr_import_folders(snapshot);
        g_ptr_array_add(folders, NULL);
        g_autofree char *found = g_strjoinv(" ", (char **)folders->pdata);
        g_test_message("%s", layout->what);
        g_assert_cmpstr(found, ==, layout->expected);
    }
}

void add_import_folders_tests(void)
{
    PLACE_TEST("import_folders", modules_are_found_where_developers_find_them);
}
