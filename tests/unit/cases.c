/* Registers tests, and defines a `main` for libraries whose tests have none. */
#include "cases.h"

#include <string.h>

static ListedTest *first, **last = &first;

void list_test(ListedTest *added)
{
    *last = added;
    last = &added->next;
}

static void add_golden(const ListedTest *item)
{
    g_autofree char *folder = g_build_filename(ACR_SOURCE_DIR "/tests/cases", item->golden, NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint n = 0;
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        if (!g_str_has_suffix(name, ".txt"))
            continue;
        g_autofree char *path = g_strdup_printf("%s/%.*s", item->path, (int)strlen(name) - 4, name);
        g_autofree char *file = g_build_filename(folder, name, NULL);
        /* Interned, because GLib would free a path only for tests that run. */
        g_test_add_data_func(path, g_intern_string(file), (GTestDataFunc)(void (*)(void))item->test);
        n++;
    }
    g_assert_cmpuint(n, >, 0);
}

int run_tests(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (const ListedTest *item = first; item; item = item->next) {
        if (item->golden)
            add_golden(item);
        else
            g_test_add_vtable(item->path, item->fixture_size, item->data, (GTestFixtureFunc)item->set_up,
                              (GTestFixtureFunc)item->test, (GTestFixtureFunc)item->tear_down);
    }
    return g_test_run();
}

__attribute__((weak)) int main(int argc, char **argv)
{
    return run_tests(argc, argv);
}
