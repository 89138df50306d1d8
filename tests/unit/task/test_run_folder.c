/* Tests of which folders may become run folders, which are refused unchanged, and how the states of
 * a run folder follow each other. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "test_task.h"

/* Opens the folder "out". Returns its state, or -1 minus the error's code. */
static int open_out(const Place *place, AcrFolder *out)
{
    g_autofree char *path = place_path(place, "out");
    g_autoptr(GError) error = NULL;
    if (acr_folder_open(path, out, &error))
        return (int)out->state;
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, path));
    g_assert_true(error->domain == ACR_TASK_ERROR || error->domain == ACR_BASE_ERROR);
    return -1 - error->code;
}

static bool exists(const Place *place, const char *name)
{
    g_autofree char *path = place_path(place, name);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

PLACE_TEST("/task/folder", a_missing_folder_is_made)
{
    g_auto(AcrFolder) folder = {0};
    g_assert_cmpint(open_out(place, &folder), ==, ACR_FOLDER_NEW);
    g_assert_null(folder.meta);
    assert_text(place_read(place, "out/.gitignore"), "*\n");
}

PLACE_TEST("/task/folder", states_follow_each_other)
{
    static const AcrFolderState states[] = {ACR_FOLDER_NEW, ACR_FOLDER_READY, ACR_FOLDER_DONE};
    g_autofree char *path = place_path(place, "out");
    for (guint i = 0; i < G_N_ELEMENTS(states); i++) {
        g_auto(AcrFolder) folder = {0}, read = {0};
        g_autoptr(GError) error = NULL;
        g_autoptr(AcrJson) meta = acr_json_new_object();
        acr_json_set_int(meta, "format", ACR_META_FORMAT);
        g_assert_cmpint(open_out(place, &folder), ==, i == 0 ? ACR_FOLDER_NEW : states[i - 1]);
        g_assert_true(acr_folder_write_meta(&folder, meta, states[i], &error));
        g_assert_cmpint(folder.state, ==, states[i]);
        g_assert_true(acr_folder_read(path, &read, NULL) == (states[i] != ACR_FOLDER_NEW));
        g_assert_true(acr_folder_exists(path));
    }
}

PLACE_TEST("/task/folder", a_folder_has_one_process_at_a_time)
{
    g_auto(AcrFolder) first = {0}, second = {0};
    g_autofree char *path = place_path(place, "out"), *pid = g_strdup_printf("process %ld", (long)getpid());
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(open_out(place, &first), ==, ACR_FOLDER_NEW);
    g_assert_false(acr_folder_open(path, &second, &error));
    g_assert_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY);
    g_assert_nonnull(strstr(error->message, pid));
    acr_folder_clear(&first);
    g_assert_cmpint(open_out(place, &second), ==, ACR_FOLDER_NEW);
}

PLACE_TEST("/task/folder", what_a_kill_left_is_taken_up)
{
    g_auto(AcrFolder) folder = {0};
    place_write(place, "out/lock", "4711\n");
    place_write(place, "out/.gitignore", "*\n");
    place_write(place, "out/.acr-aB3dEf", "{\"form");
    g_assert_cmpint(open_out(place, &folder), ==, ACR_FOLDER_NEW);
    g_assert_false(exists(place, "out/.acr-aB3dEf"));
}

PLACE_TEST("/task/folder", unfinished_writes_are_removed_from_a_run_that_goes_on)
{
    g_auto(AcrFolder) folder = {0};
    place_write(place, "out/meta.json", "{\"format\": 3, \"state\": \"ready\"}");
    place_write(place, "out/attempt_0/search/.acr-aB3dEf", "{");
    place_write(place, "out/attempt_0/.acr-notes", "mine");
    place_write(place, "elsewhere/.acr-aB3dEf", "mine");
    g_autofree char *link = place_path(place, "out/attempt_0/link"), *target = place_path(place, "elsewhere");
    g_assert_cmpint(symlink(target, link), ==, 0);
    g_assert_cmpint(open_out(place, &folder), ==, ACR_FOLDER_READY);
    g_assert_false(exists(place, "out/attempt_0/search/.acr-aB3dEf"));
    g_assert_true(exists(place, "elsewhere/.acr-aB3dEf"));
}

/* "out" must be refused as wrong usage, and must still contain this file with this text. */
static void check_refused(const Place *place, const char *name, const char *text)
{
    g_auto(AcrFolder) folder = {0};
    g_autofree char *inside = g_build_filename("out", name, NULL);
    place_write(place, inside, text);
    g_assert_cmpint(open_out(place, &folder), ==, -1 - ACR_TASK_ERROR_USAGE);
    assert_text(place_read(place, inside), text);
    g_autofree char *path = place_path(place, inside), *out = place_path(place, "out");
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(out), ==, 0); /* the folder contains nothing else */
}

PLACE_TEST("/task/folder", a_file_in_the_place_of_the_folder_is_named_as_such)
{
    g_autofree char *path = place_path(place, "out");
    place_write(place, "out", "mine");
    for (guint i = 0; i < 2; i++) {
        g_auto(AcrFolder) folder = {0};
        g_autoptr(GError) error = NULL;
        g_assert_false(i ? acr_folder_read(path, &folder, &error) : acr_folder_open(path, &folder, &error));
        g_assert_nonnull(strstr(error->message, "is not a folder"));
    }
    assert_text(place_read(place, "out"), "mine");
}

PLACE_TEST("/task/folder", other_folders_are_refused_untouched)
{
    static const char *const metas[] = {"",
                                        "{",
                                        "[]",
                                        "7",
                                        "{}",
                                        "{\"format\": 3}",
                                        "{\"format\": \"2\", \"state\": \"done\"}",
                                        "{\"format\": 2, \"state\": \"done\"}",
                                        "{\"format\": 3, \"state\": \"over\"}",
                                        "{\"format\": 3, \"state\": 3}"};
    check_refused(place, "thesis.tex", "mine");
    check_refused(place, ".gitignore", "*.o\n");
    check_refused(place, "lock", "locked by me");
    check_refused(place, "lock", "12 monkeys\n");
    for (guint i = 0; i < G_N_ELEMENTS(metas); i++)
        check_refused(place, "meta.json", metas[i]);
}

PLACE_TEST("/task/folder", a_folder_of_an_older_version_says_which)
{
    static const char meta[] = "{\"format\": 2, \"version\": \"0.0.7\", \"state\": \"done\"}";
    g_auto(AcrFolder) folder = {0};
    g_autoptr(GError) error = NULL;
    place_write(place, "out/meta.json", meta);
    g_autofree char *path = place_path(place, "out");
    g_assert_false(acr_folder_open(path, &folder, &error));
    g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
    g_assert_nonnull(strstr(error->message, "created by acr-host 0.0.7"));
    g_assert_null(strchr(error->message, '\n'));
    check_refused(place, "meta.json", meta);
}

PLACE_TEST("/task/folder", a_file_is_no_folder)
{
    g_auto(AcrFolder) folder = {0};
    place_write(place, "out", "mine");
    g_assert_cmpint(open_out(place, &folder), ==, -1 - ACR_TASK_ERROR_USAGE);
    assert_text(place_read(place, "out"), "mine");
}

PLACE_TEST("/task/folder", nothing_is_written_through_a_linked_lock)
{
    g_autofree char *link = place_path(place, "out/lock"), *target = place_path(place, "precious");
    place_write(place, "out/meta.json", "{\"format\": 3, \"state\": \"ready\"}");
    place_write(place, "precious", "4711\n");
    g_assert_cmpint(symlink(target, link), ==, 0);
    g_auto(AcrFolder) folder = {0};
    g_assert_cmpint(open_out(place, &folder), ==, -1 - ACR_TASK_ERROR_USAGE);
    assert_text(place_read(place, "precious"), "4711\n");
}

PLACE_TEST("/task/folder", artifacts_get_their_folders)
{
    g_auto(AcrFolder) folder = {0};
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(open_out(place, &folder), ==, ACR_FOLDER_NEW);
    assert_ok(acr_folder_write(&folder, "a/b/c.txt", "x\0y", 3, &error), error);
    g_autofree char *path = acr_folder_path(&folder, "a/b/c.txt");
    g_autoptr(GBytes) bytes = acr_file_read(path, 100, &error);
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "x\0y", 3);
}

PLACE_TEST("/task/folder", nothing_is_written_through_a_linked_folder)
{
    static const char *const names[] = {"attempt_0/patch.diff", "attempt_1/search/round.json"};
    static const char *const links[] = {"out/attempt_0", "out/attempt_1/search"};
    g_auto(AcrFolder) folder = {0};
    g_assert_cmpint(open_out(place, &folder), ==, ACR_FOLDER_NEW);
    place_write(place, "elsewhere/mine", "mine");
    place_write(place, "out/attempt_1/mine", "mine");
    g_autofree char *target = place_path(place, "elsewhere");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *link = place_path(place, links[i]);
        g_autoptr(GError) error = NULL;
        g_assert_cmpint(symlink(target, link), ==, 0);
        assert_fails_with(acr_folder_write(&folder, names[i], "x", 1, &error), error, ACR_TASK_ERROR,
                          ACR_TASK_ERROR_USAGE);
    }
    g_autoptr(GDir) dir = g_dir_open(target, 0, NULL);
    g_assert_cmpstr(g_dir_read_name(dir), ==, "mine");
    g_assert_null(g_dir_read_name(dir));
}

PLACE_TEST("/task/folder", a_second_process_leaves_a_beginning_alone)
{
    g_autofree char *lock_path = place_path(place, "out/lock");
    g_auto(AcrFolder) folder = {0};
    place_write(place, "out/.acr-aB3dEf", "{\"form");
    g_autoptr(AcrLock) lock = acr_lock_take(lock_path, NULL);
    g_assert_nonnull(lock);
    g_assert_cmpint(open_out(place, &folder), ==, -1 - ACR_BASE_ERROR_BUSY);
    g_assert_true(exists(place, "out/.acr-aB3dEf"));
    g_assert_false(exists(place, "out/.gitignore"));
}
