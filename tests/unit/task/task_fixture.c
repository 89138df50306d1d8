/* Creates the folder that each test of task gets. */
#include "test_task.h"

#include <string.h>

void place_set_up(Place *place, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    place->dir = g_dir_make_tmp("acr-task-XXXXXX", &error);
    g_assert_no_error(error);
}

void place_tear_down(Place *place, gconstpointer data)
{
    g_assert_true(acr_dir_remove(place->dir, NULL));
    g_free(place->dir);
}

char *place_path(const Place *place, const char *name)
{
    return g_build_filename(place->dir, name, NULL);
}

void place_write(const Place *place, const char *name, const char *text)
{
    g_autofree char *path = place_path(place, name);
    g_autofree char *parent = g_path_get_dirname(path);
    g_assert_true(acr_dir_make(parent, NULL));
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

char *place_read(const Place *place, const char *name)
{
    g_autofree char *path = place_path(place, name);
    char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}
