/* Fuzzes the answer parser, in all formats of edits, and the matcher. The input is the text of a
 * file, a NUL, and an answer about the file. Parsed edits must be valid text, in order; applied
 * edits must keep the bytes before and after the places that they name. */
#include "patch/patch.h"

#include <glib/gstdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_edits(const GPtrArray *edits, gsize len)
{
    gsize off = 0;
    for (guint i = 0; i < edits->len; i++) {
        const AcrEdit *edit = edits->pdata[i];
        g_assert_true(edit->complaint || (edit->file && edit->original && edit->patched));
        g_assert_true(!edit->original || g_utf8_validate(edit->original, -1, NULL));
        g_assert_true(!edit->patched || g_utf8_validate(edit->patched, -1, NULL));
        g_assert_cmpuint(edit->off, >=, off);
        g_assert_cmpuint(edit->end, >=, edit->off);
        off = edit->off;
    }
}

/* Index of the first byte in which the texts differ. */
static gsize first_difference(const guint8 *a, gsize na, const guint8 *b, gsize nb)
{
    gsize i = 0;
    while (i < na && i < nb && a[i] == b[i])
        i++;
    return i;
}

static gsize first_line_of_edits(const AcrPatchResult *result)
{
    gsize line = G_MAXSIZE;
    for (guint i = 0; i < result->edits->len; i++) {
        const AcrEditOutcome *outcome = result->edits->pdata[i];
        line = MIN(line, MAX(outcome->start, 1));
    }
    return line;
}

static void check_result(const AcrPatchResult *result, const uint8_t *file, gsize len)
{
    g_assert_true(acr_utf8_is_text(result->message, strlen(result->message)));
    g_assert_cmpuint(strlen(result->message), <=, ACR_PATCH_MAX_MESSAGE);
    g_assert_true((result->overlay != NULL) == (result->status == ACR_APPLICABLE_PATCH));
    if (!result->overlay || !acr_overlay_has(result->overlay, "a.py"))
        return;
    g_autoptr(GBytes) after = acr_overlay_read(result->overlay, "a.py", NULL);
    gsize after_len = 0;
    const guint8 *got = g_bytes_get_data(after, &after_len);
    gsize at = first_difference(file, len, got, after_len), line = 1;
    for (gsize i = 0; i < at; i++)
        line += file[i] == '\n' || (file[i] == '\r' && (i + 1 == len || file[i + 1] != '\n'));
    g_assert_cmpuint(line, >=, first_line_of_edits(result));
}

static void apply(const char *dir, const uint8_t *file, gsize len, const char *answer, gsize answer_len)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrPatchResult) result = {0};
    g_autofree char *path = g_build_filename(dir, "a.py", NULL);
    g_assert_true(g_file_set_contents(path, (const char *)file, (gssize)len, NULL));
    g_autoptr(AcrRepo) repo = acr_repo_open(dir, &error);
    g_assert_no_error(error);
    g_autoptr(AcrSnapshot) snapshot = acr_snapshot_of_worktree(repo, &error);
    g_assert_no_error(error);
    AcrPatchContext context = {.snapshot = snapshot};
    g_assert_true(acr_patch_apply(&context, answer, answer_len, &result, &error));
    g_assert_no_error(error);
    check_result(&result, file, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    gsize len = nul ? (gsize)(nul - data) : 0;
    const char *answer = nul ? (const char *)nul + 1 : (const char *)data;
    gsize answer_len = nul ? size - len - 1 : size;
    g_autoptr(GPtrArray) edits = acr_patch_parse(answer, answer_len);
    check_edits(edits, answer_len);
    g_autofree char *dir = g_dir_make_tmp("acr-fuzz-XXXXXX", NULL);
    apply(dir, data, len, answer, answer_len);
    g_assert_true(acr_dir_remove(dir, NULL));
    return 0;
}
