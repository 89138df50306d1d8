/* Fuzzes applying diffs to an overlay: the whole diff must be applied, or nothing; only paths that
 * may be written may change; and the diff of the result must give the same result on another
 * overlay. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vcs/vcs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char code[] = "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n";

static void put(const char *dir, const char *name, const char *text, gsize len, int mode)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);

    g_assert_true(g_file_set_contents_full(path, text, (gssize)len, G_FILE_SET_CONTENTS_NONE, mode, NULL));
}

/* One file of each kind: code, no final line end, other line ends, binary, empty, executable,
 * link. */
static AcrSnapshot *make_snapshot(void)
{
    g_autofree char *dir = g_dir_make_tmp("acr-fuzz-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(dir, "d", NULL), *link = g_build_filename(dir, "link", NULL);
    g_autoptr(GError) error = NULL;

    g_assert_true(g_mkdir_with_parents(folder, 0755) == 0 && symlink("a.py", link) == 0);
    put(dir, "a.py", code, strlen(code), 0644);
    put(dir, "bare", "x\ny", 3, 0644);
    put(dir, "d/crlf", "x\r\ny\r\nz\r\n", 9, 0644);
    put(dir, "bytes", "\0\1\2\3", 4, 0644);
    put(dir, "empty", "", 0, 0644);
    put(dir, "run", "#!/bin/sh\n", 10, 0755);
    g_autoptr(AcrRepo) repo = acr_repo_open(dir, &error);
    AcrSnapshot *snapshot = repo ? acr_snapshot_of_worktree(repo, &error) : NULL;
    g_assert_no_error(error);
    g_assert_true(acr_dir_remove(dir, NULL));
    return snapshot;
}

static void check_same(const AcrOverlay *a, const AcrOverlay *b)
{
    g_auto(GStrv) left = acr_overlay_changed(a), right = acr_overlay_changed(b);

    g_assert_true(g_strv_equal((const char *const *)left, (const char *const *)right));
    for (gsize i = 0; left[i]; i++) {
        g_assert_cmpuint(acr_overlay_mode(a, left[i]), ==, acr_overlay_mode(b, left[i]));
        if (!acr_overlay_has(a, left[i]))
            continue;
        g_autoptr(GBytes) one = acr_overlay_read(a, left[i], NULL), other = acr_overlay_read(b, left[i], NULL);
        g_assert_true(one && other && g_bytes_equal(one, other));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static AcrSnapshot *snapshot;
    g_autoptr(GError) error = NULL;

    if (!snapshot)
        snapshot = make_snapshot();
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot), again = acr_overlay_new(snapshot);
    bool ok = acr_overlay_apply_diff(overlay, data, size, &error);
    g_auto(GStrv) changed = acr_overlay_changed(overlay);
    g_assert_true(ok == (error == NULL));
    if (!ok) {
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        g_assert_null(strchr(error->message, '\n'));
        g_assert_null(changed[0]);
        return 0;
    }
    for (gsize i = 0; changed[i]; i++)
        g_assert_true(!acr_overlay_has(overlay, changed[i]) || acr_overlay_path_ok(overlay, changed[i]));
    g_autoptr(GBytes) diff = acr_overlay_diff(overlay, &error);
    g_assert_no_error(error);
    gsize len;
    const void *text = g_bytes_get_data(diff, &len);
    if (len == 0)
        return 0;
    g_assert_true(acr_overlay_apply_diff(again, text, len, &error));
    g_assert_no_error(error);
    check_same(overlay, again);
    return 0;
}
