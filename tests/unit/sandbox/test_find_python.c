/* Tests of the search for a Python, in folders prepared here. The search executes nothing, so a
 * small program stands in for the interpreter. */
#include "test_sandbox.h"

#include <string.h>
#include <sys/stat.h>

/* Installs a Python at `prefix`: bin/python3, which is a program, and lib/python3.9/os.py. */
static void install(const Box *box, const char *prefix)
{
    g_autofree char *bin = g_build_filename(prefix, "bin/python3", NULL),
                    *module = g_build_filename(prefix, "lib/python3.9/os.py", NULL);
    box_put(box, module, "", 0644);
    box_put(box, bin, "\177ELF", 0755);
}

static bool find(const Box *box, const char *given, AcrSandboxPython *out, GError **error)
{
    box_put(box, "work/code.py", "", 0644);
    box_make(box, "work/.git");
    g_autofree char *work = box_path(box, "work"), *empty = box_path(box, "project");
    box_put(box, "project/code.py", "", 0644);
    g_autoptr(AcrSnapshot) snapshot = box_snapshot(box, "project");
    return acr_sandbox_python_find(given, work, snapshot, out, error);
}

static void expect_words(const GPtrArray *words, const char *expected)
{
    g_autoptr(GString) joined = g_string_new(NULL);
    for (guint i = 0; i < words->len; i++)
        g_string_append_printf(joined, "%s%s", i ? " " : "", (const char *)words->pdata[i]);
    g_assert_cmpstr(joined->str, ==, expected);
}

BOX_TEST("/sandbox/find_python", the_environment_of_the_working_tree_comes_first)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrSandboxPython) python = {0};
    g_autofree char *program = box_path(box, "opt/py/bin/python3"), *path = box_path(box, "work/.venv/bin/python"),
                    *venv = box_path(box, "work/.venv"), *prefix = box_path(box, "opt/py"),
                    *roots = g_strdup_printf("%s %s", venv, prefix);
    install(box, "opt/py");
    box_put(box, "work/.venv/pyvenv.cfg", "home = x\n", 0644);
    box_link(box, program, "work/.venv/bin/python");
    assert_ok(find(box, NULL, &python, &error), error);
    /* the path is not resolved, because the interpreter finds its packages by it */
    g_assert_cmpstr(python.path, ==, path);
    g_assert_cmpstr(python.venv, ==, venv);
    expect_words(python.roots, roots);
    expect_words(python.links, "");
    g_assert_null(python.not_taken);
    g_assert_nonnull(strstr(python.remark, path));
}

BOX_TEST("/sandbox/find_python", the_active_environment_comes_before_the_systems)
{
    static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "PATH"};
    g_autofree char *folder = box_path(box, "opt/active"), *bin = box_path(box, "opt/active/bin"),
                    *before = g_strdup(g_getenv("PATH"));
    install(box, "opt/active");
    box_put(box, "opt/active/pyvenv.cfg", "", 0644);
    box_link(box, "python3", "opt/active/bin/python");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(AcrSandboxPython) python = {0};
        g_setenv(names[i], i < 2 ? folder : bin, TRUE);
        assert_ok(find(box, NULL, &python, &error), error);
        g_assert_true(g_str_has_prefix(python.path, bin));
        g_assert_nonnull(strstr(python.remark, "the active environment"));
        if (i < 2)
            g_unsetenv(names[i]);
    }
    g_setenv("PATH", before, TRUE);
}

BOX_TEST("/sandbox/find_python", python_version_names_one_of_pyenv)
{
    static const struct {
        const char *text;
        bool is_found;
    } rows[] = {{"3.9.1\n3.8\n", true}, {"../../evil", false}, {"..", false}, {"3.8", false}};
    g_autofree char *root = box_path(box, "pyenv"), *wanted = box_path(box, "pyenv/versions/3.9.1/bin/python3");
    install(box, "pyenv/versions/3.9.1");
    install(box, "evil");
    g_setenv("PYENV_ROOT", root, TRUE);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(AcrSandboxPython) python = {0};
        box_put(box, "work/.python-version", rows[i].text, 0644);
        assert_ok(find(box, NULL, &python, &error), error);
        g_assert_cmpint(strcmp(python.path, wanted) == 0, ==, rows[i].is_found);
        g_assert_cmpint(strstr(python.remark, "pyenv's") != NULL, ==, rows[i].is_found);
    }
    g_unsetenv("PYENV_ROOT");
}

/* A link outside the folders that the sandbox shows must be created in the sandbox. */
BOX_TEST("/sandbox/find_python", links_on_the_way_are_told)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrSandboxPython) python = {0};
    g_autofree char *alias = box_path(box, "alias/python"), *links = g_strdup_printf("%s ../opt/py/bin/python3", alias);
    install(box, "opt/py");
    box_link(box, "../opt/py/bin/python3", "alias/python");
    box_put(box, "work/.venv/pyvenv.cfg", "", 0644);
    box_link(box, alias, "work/.venv/bin/python");
    assert_ok(find(box, NULL, &python, &error), error);
    expect_words(python.links, links);
}

/* The configuration of an environment with a copied program names the original. */
BOX_TEST("/sandbox/find_python", a_copied_program_is_found_by_its_home)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrSandboxPython) python = {0};
    g_autofree char *home = box_path(box, "opt/py/bin"), *venv = box_path(box, "work/.venv"),
                    *prefix = box_path(box, "opt/py"),
                    *config = g_strdup_printf("x = y\n home =  %s \nversion = 3.9\n", home),
                    *roots = g_strdup_printf("%s %s", venv, prefix);
    install(box, "opt/py");
    box_put(box, "work/.venv/bin/python", "\177ELF", 0755);
    box_put(box, "work/.venv/pyvenv.cfg", config, 0644);
    assert_ok(find(box, NULL, &python, &error), error);
    expect_words(python.roots, roots);
}

static void expect_system(const Box *box, const char *why)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrSandboxPython) python = {0};
    g_autofree char *work = box_path(box, "work");
    if (!find(box, NULL, &python, &error)) { /* the machine has no Python */
        g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE);
        return;
    }
    g_assert_false(g_str_has_prefix(python.path, work));
    if (why)
        g_assert_nonnull(strstr(python.not_taken, why));
    else
        g_assert_null(python.not_taken);
}

TEST("/sandbox/find_python", an_environment_that_cannot_be_used_is_passed_over)
{
    g_auto(Box) none, no_config, dead, no_prefix;
    box_init(&none);
    box_init(&no_config);
    box_init(&dead);
    box_init(&no_prefix);
    expect_system(&none, NULL);
    box_put(&no_config, "work/.venv/bin/python", "\177ELF", 0755);
    expect_system(&no_config, "pyvenv.cfg");
    box_put(&dead, "work/.venv/pyvenv.cfg", "", 0644);
    box_link(&dead, "/nowhere/python3", "work/.venv/bin/python");
    expect_system(&dead, "is not executable");
    box_put(&no_prefix, "work/.venv/pyvenv.cfg", "home = relative\n", 0644);
    box_put(&no_prefix, "work/.venv/bin/python", "\177ELF", 0755);
    expect_system(&no_prefix, "is not inside an installed Python");
}

BOX_TEST("/sandbox/find_python", an_environment_of_the_project_itself_is_not_trusted)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrSandboxPython) python = {0};
    install(box, "work/.venv");
    g_autofree char *work = box_path(box, "work"), *venv = box_path(box, "work/.venv");
    box_put(box, "work/.venv/pyvenv.cfg", "", 0644);
    box_link(box, "python3", "work/.venv/bin/python");
    g_autoptr(AcrSnapshot) snapshot = box_snapshot(box, "work");
    if (acr_sandbox_python_find(NULL, work, snapshot, &python, &error)) {
        g_assert_false(g_str_has_prefix(python.path, venv));
        g_assert_nonnull(strstr(python.not_taken, "belong"));
    } else {
        g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE);
    }
}

BOX_TEST("/sandbox/find_python", what_is_asked_for_by_name_must_be_a_python)
{
    static const char *const names[] = {"none", "script", "plain", "folder", "alone", "loop"};
    box_put(box, "bin/script", "#!/bin/sh\n", 0755);
    box_put(box, "bin/plain", "\177ELF", 0644);
    box_put(box, "bin/alone", "\177ELF", 0755); /* no Python is installed around it */
    box_link(box, "loop", "bin/loop");
    box_make(box, "bin/folder");
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(AcrSandboxPython) python = {0};
        g_autofree char *name = g_build_filename("bin", names[i], NULL), *path = box_path(box, name);
        g_test_message("%s", names[i]);
        g_assert_false(find(box, path, &python, &error));
        g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, path));
    }
    g_autoptr(GError) error = NULL;
    g_auto(AcrSandboxPython) python = {0};
    install(box, "opt/py");
    g_autofree char *path = box_path(box, "opt/py/bin/python3");
    g_assert_true(find(box, path, &python, &error));
    g_assert_cmpstr(python.path, ==, path);
    g_assert_null(python.venv);
}

BOX_TEST("/sandbox/find_python", the_stamp_changes_with_program_and_packages)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrSandboxPython) one = {0}, same = {0}, more = {0}, other = {0};
    install(box, "opt/py");
    g_autofree char *program = box_path(box, "opt/py/bin/python3");
    box_put(box, "work/.venv/pyvenv.cfg", "", 0644);
    box_make(box, "work/.venv/lib/python3.9/site-packages");
    box_link(box, program, "work/.venv/bin/python");
    g_assert_true(find(box, NULL, &one, &error) && find(box, NULL, &same, &error));
    g_assert_cmpstr(one.stamp, ==, same.stamp);
    box_put(box, "work/.venv/lib/python3.9/site-packages/new/x.py", "", 0644);
    g_assert_true(find(box, NULL, &more, &error));
    g_assert_cmpstr(one.stamp, !=, more.stamp);
    box_put(box, "opt/py/bin/python3", "\177ELF of another kind", 0755);
    g_assert_true(find(box, NULL, &other, &error));
    g_assert_cmpstr(more.stamp, !=, other.stamp);
}
