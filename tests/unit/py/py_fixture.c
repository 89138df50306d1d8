/* Runs the tests of py, and has the code that their files share. With a folder as its argument, the
 * program is a worker with the package in that folder: a referee, or with a further argument an
 * outliner. */
#include "py_fixture.h"

#include <string.h>
#include <unistd.h>

/* One interpreter serves most tests. */
static AcrPython *shared_python;
static char *shared_dir;

/* Copies the files of `from` into the folder `to`. */
static void copy_files(const char *from, const char *to)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) dir = made(g_dir_open(from, 0, &error), error);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *source = g_build_filename(from, name, NULL), *target = g_build_filename(to, name, NULL),
                        *text = NULL;
        gsize len;
        if (!g_str_has_suffix(name, ".py"))
            continue;
        g_assert_true(g_file_get_contents(source, &text, &len, NULL));
        g_assert_true(g_file_set_contents(target, text, (gssize)len, NULL));
    }
}

char *package_copy(void)
{
    g_autoptr(GError) error = NULL;
    char *folder = g_dir_make_tmp("acr-py-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *package = g_build_filename(folder, "acr", NULL),
                    *experiments = g_build_filename(package, "experiments", NULL);
    g_assert_true(acr_dir_make(experiments, NULL));
    copy_files(ACR_SOURCE_DIR "/python/acr", package);
    copy_files(ACR_SOURCE_DIR "/python/acr/experiments", experiments);
    copy_files(ACR_SOURCE_DIR "/tests/unit/py", package);
    return folder;
}

const char *package_dir(void)
{
    if (!shared_dir)
        shared_dir = package_copy();
    return shared_dir;
}

char *package_without(const char *left_out)
{
    char *folder = g_dir_make_tmp("acr-py-XXXXXX", NULL);
    g_autofree char *package = g_build_filename(folder, "acr", NULL);
    g_autofree char *empty = g_build_filename(package, left_out, NULL);
    g_autoptr(GDir) dir = g_dir_open(ACR_SOURCE_DIR "/python/acr", 0, NULL);
    g_assert_true(acr_dir_make(package, NULL));
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *from = g_build_filename(ACR_SOURCE_DIR "/python/acr", name, NULL);
        g_autofree char *to = g_build_filename(package, name, NULL);
        if (strcmp(name, left_out) != 0)
            g_assert_cmpint(symlink(from, to), ==, 0);
    }
    g_assert_true(g_file_set_contents(empty, "", 0, NULL));
    return folder;
}

AcrPython *the_python(void)
{
    g_autoptr(GError) error = NULL;
    if (!shared_python)
        shared_python = made(acr_python_new(package_dir(), &error), error);
    return shared_python;
}

void no_python(void)
{
    acr_python_free(g_steal_pointer(&shared_python));
}

GBytes *bytes_of(const char *text)
{
    return g_bytes_new(text, strlen(text));
}

char *probe(AcrPython *python, const char *function, const char *argument)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = bytes_of(argument), out = NULL;
    assert_ok(acr_python_call(python, "probe", function, bytes, 0, &out, &error), error);
    gsize len;
    const char *data = g_bytes_get_data(out, &len);
    return g_strndup(data, len);
}

void probe_fails(AcrPython *python, const char *function, gint64 deadline_ms, AcrPyError code, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = bytes_of("the\targument\nin two lines"), out = NULL;
    g_assert_false(acr_python_call(python, "probe", function, bytes, deadline_ms, &out, &error));
    g_assert_null(out);
    g_assert_error(error, ACR_PY_ERROR, (gint)code);
    if (message)
        g_assert_cmpstr(error->message, ==, message);
}

int main(int argc, char **argv)
{
    if (argc >= 2 && argv[1][0] == '/')
        return acr_python_work(argc == 2 ? ACR_PYTHON_REFEREE : ACR_PYTHON_OUTLINES, argv[1], NULL) ? 0 : 1;
    int failed = run_tests(argc, argv);
    no_python();
    if (shared_dir)
        g_assert_true(acr_dir_remove(shared_dir, NULL));
    g_free(shared_dir);
    return failed;
}
