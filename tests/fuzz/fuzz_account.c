/* Checks that the answer parser ignores no line of an edit: each line that only an edit can have
 * (the first changed line after a hunk's header, the marks of a search/replace block, the tags of a
 * part) must belong to an edit, or an edit must say why the answer is refused. */
#include "patch/patch.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_refused(const GPtrArray *edits)
{
    for (guint i = 0; i < edits->len; i++)
        if (((const AcrEdit *)edits->pdata[i])->complaint)
            return true;
    return false;
}

static bool is_read(const GPtrArray *edits, gsize at)
{
    for (guint i = 0; i < edits->len; i++) {
        const AcrEdit *edit = edits->pdata[i];
        if (edit->off <= at && at < edit->end)
            return true;
    }
    return false;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static bool is_line(const char *line, const char *text)
{
    gsize n = strlen(text);
    return begins(line, text) && (line[n] == '\n' || line[n] == '\0');
}

/* Whether the line can only be a part of an edit. */
static bool is_of_edit(const char *line, const char *before)
{
    bool changed = (*line == '+' || *line == '-') && !begins(line, "+++") && !begins(line, "--");
    if (changed && before && begins(before, "@@ -") && strstr(before, "@@\n") == line - 3)
        return true;
    return is_line(line, "<<<<<<< SEARCH") || is_line(line, ">>>>>>> REPLACE") || is_line(line, "<original>") ||
           is_line(line, "</original>") || is_line(line, "<patched>") || is_line(line, "</patched>");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = acr_utf8_repair(data, size);
    g_autoptr(GPtrArray) edits = acr_patch_parse(text, strlen(text));
    const char *before = NULL;
    if (is_refused(edits))
        return 0;
    for (const char *line = text; *line;) {
        if (is_of_edit(line, before) && !is_read(edits, (gsize)(line - text)))
            g_assert_cmpstr(line, ==, "accounted for");
        before = line;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return 0;
}
