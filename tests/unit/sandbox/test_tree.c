/* Tests of trees on disk: what is written, and what a copy contains. */
#include "test_sandbox.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static mode_t mode_of(const Box *box, const char *name)
{
    struct stat st;
    g_autofree char *path = box_path(box, name);
    g_assert_cmpint(lstat(path, &st), ==, 0);
    return st.st_mode;
}

static void expect_link(const Box *box, const char *name, const char *target)
{
    g_autofree char *path = box_path(box, name);
    assert_text(g_file_read_link(path, NULL), target);
}

static void export_ok(const Box *box, AcrSnapshot *snapshot, const char *name, char **out_remark)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = box_path(box, name);
    box_make(box, name);
    assert_ok(acr_tree_export(snapshot, dir, -1, out_remark, &error), error);
}

BOX_TEST("/sandbox/tree", a_snapshot_is_written_out_as_it_is)
{
    g_autofree char *remark = NULL;
    box_put(box, "r/a/b/c.py", "code\n", 0600);
    box_put(box, "r/run", "#!/bin/sh\n", 0755);
    box_put(box, "r/empty", "", 0644);
    box_put(box, "r/two\nlines \xff", "odd\n", 0644);
    box_link(box, "../../outside", "r/a/out");
    box_link(box, "a", "r/folder");
    g_autoptr(AcrSnapshot) snapshot = box_snapshot(box, "r");
    mode_t before = umask(0077); /* the umask of the user who runs the program */
    export_ok(box, snapshot, "t", &remark);
    umask(before);
    g_assert_null(remark);
    g_autofree char *code = box_get(box, "t/a/b/c.py"), *odd = box_get(box, "t/two\nlines \xff"),
                    *empty = box_get(box, "t/empty");
    g_assert_cmpstr(code, ==, "code\n");
    g_assert_cmpstr(odd, ==, "odd\n");
    g_assert_cmpstr(empty, ==, "");
    assert_text(box_names(box, "t"), "a empty folder run two\nlines \xff");
    g_assert_cmphex(mode_of(box, "t/a/b/c.py"), ==, S_IFREG | 0644);
    g_assert_cmphex(mode_of(box, "t/run"), ==, S_IFREG | 0755);
    g_assert_cmphex(mode_of(box, "t/a/b"), ==, S_IFDIR | 0755);
    expect_link(box, "t/a/out", "../../outside");
    expect_link(box, "t/folder", "a");
}

BOX_TEST("/sandbox/tree", what_came_changed_or_went_is_listed)
{
    box_put(box, "t/same", "x", 0644);
    box_put(box, "t/d/changed", "x", 0644);
    box_put(box, "t/d/gone", "x", 0644);
    box_link(box, "same", "t/link");
    g_autofree char *tree = box_path(box, "t"), *gone = box_path(box, "t/d/gone"), *link = box_path(box, "t/link"),
                    *none = box_path(box, "none");
    g_autoptr(GHashTable) before = acr_tree_list(tree), missing = acr_tree_list(none);
    g_assert_cmpuint(g_hash_table_size(before), ==, 4);
    g_assert_null(missing);
    box_put(box, "t/d/changed", "y", 0644);
    box_put(box, "t/d/e/new", "y", 0644);
    g_assert_true(unlink(gone) == 0 && unlink(link) == 0);
    box_link(box, "other", "t/link");
    g_autoptr(GHashTable) after = acr_tree_list(tree);
    acr_tree_drop_same(after, before);
    g_assert_cmpuint(g_hash_table_size(after), ==, 4);
    g_assert_false(g_hash_table_contains(after, "same"));
    g_assert_true(g_hash_table_contains(after, "d/e/new") && g_hash_table_contains(after, "d/gone"));
}

BOX_TEST("/sandbox/tree", what_is_too_large_is_named)
{
    g_autofree char *path = box_path(box, "r/large"), *remark = NULL;
    box_put(box, "r/large", "", 0644);
    box_put(box, "r/small", "x", 0644);
    g_assert_cmpint(truncate(path, (off_t)ACR_VCS_MAX_FILE_BYTES + 1), ==, 0);
    g_autoptr(AcrSnapshot) snapshot = box_snapshot(box, "r");
    export_ok(box, snapshot, "t", &remark);
    g_assert_nonnull(remark);
    g_assert_nonnull(strstr(remark, "'large'"));
    assert_text(box_names(box, "t"), "small");
}

static void put_odd_things(const Box *box)
{
    g_autofree char *fifo = box_path(box, "from/fifo"), *path = box_path(box, "from/sock");
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    g_strlcpy(un.sun_path, path, sizeof un.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&un, sizeof un), ==, 0);
    close(fd);
    g_assert_cmpint(mkfifo(fifo, 0644), ==, 0);
}

BOX_TEST("/sandbox/tree", a_copy_has_files_folders_and_links_only)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *from = box_path(box, "from"), *to = box_path(box, "to"), *large = g_strnfill(200000, 'l');
    box_put(box, "secret", "outside\n", 0644);
    box_put(box, "from/a/b/c", "c\n", 0640);
    box_put(box, "from/a/run", "r\n", 0755);
    box_put(box, "from/z/large", large, 0644);
    box_put(box, "from/z/new\nline", "", 0644);
    box_make(box, "from/e/mpty");
    box_link(box, "../secret", "from/file");
    box_link(box, "..", "from/folder");
    box_link(box, "nowhere", "from/dead");
    put_odd_things(box);
    box_make(box, "to");
    assert_ok(acr_tree_copy(from, to, &error), error);
    assert_text(box_names(box, "to"), "a dead e file folder z");
    g_autofree char *c = box_get(box, "to/a/b/c");
    g_assert_cmpstr(c, ==, "c\n");
    assert_text(box_get(box, "to/z/large"), large);
    g_assert_true(box_has(box, "to/z/new\nline") && box_has(box, "to/e/mpty"));
    g_assert_cmphex(mode_of(box, "to/a/b/c"), ==, S_IFREG | 0640);
    g_assert_cmphex(mode_of(box, "to/a/run"), ==, S_IFREG | 0755);
    expect_link(box, "to/file", "../secret");
    expect_link(box, "to/folder", "..");
    expect_link(box, "to/dead", "nowhere");
    box_put(box, "to/a/b/c", "changed\n", 0644);
    assert_text(box_get(box, "from/a/b/c"), "c\n");
}

/* A sparse file of that size with a text at its start, middle and end; "" leaves it empty. */
static void put_sparse(const Box *box, const char *name, const char *text, off_t size)
{
    g_autofree char *path = box_path(box, name);
    const off_t places[] = {0, size / 2 - 1, size - (off_t)strlen(text)};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    g_assert_cmpint(ftruncate(fd, size), ==, 0);
    for (guint i = 0; i < G_N_ELEMENTS(places); i++)
        g_assert_cmpint(pwrite(fd, text, strlen(text), places[i]), ==, strlen(text));
    close(fd);
}

BOX_TEST("/sandbox/tree", holes_stay_holes)
{
    g_autoptr(GError) error = NULL;
    box_make(box, "from");
    box_make(box, "to");
    put_sparse(box, "from/some", "text", 64 << 20);
    put_sparse(box, "from/none", "", 64 << 20);
    g_autofree char *from = box_path(box, "from"), *to = box_path(box, "to");
    g_assert_true(acr_tree_copy(from, to, &error));
    const char *const diff[] = {"diff", "-r", from, to, NULL};
    assert_text(box_run(box, diff), "");
    if (acr_tree_bytes(from) > 1 << 20)
        g_test_skip("files have no holes here");
    else
        g_assert_cmpint(acr_tree_bytes(to), <, 1 << 20);
}

BOX_TEST("/sandbox/tree", a_tree_of_too_many_folders_ends)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) deep = g_string_new("from");
    for (int i = 0; i < 300; i++)
        g_string_append(deep, "/d");
    box_make(box, deep->str);
    box_make(box, "to");
    g_autofree char *from = box_path(box, "from"), *to = box_path(box, "to");
    assert_fails_with(acr_tree_copy(from, to, &error), error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED);
}

BOX_TEST("/sandbox/tree", bytes_are_those_on_disk_and_links_are_not_followed)
{
    g_autofree char *text = g_strnfill(1 << 20, 'x'), *path = box_path(box, "t"), *none = box_path(box, "none");
    box_put(box, "t/a/large", text, 0644);
    box_put(box, "outside/large", text, 0644);
    box_link(box, "../outside", "t/link");
    gint64 bytes = acr_tree_bytes(path);
    g_assert_cmpint(bytes, >=, 1 << 20);
    g_assert_cmpint(bytes, <, 2 << 20);
    g_assert_cmpint(acr_tree_bytes(none), ==, 0);
}
