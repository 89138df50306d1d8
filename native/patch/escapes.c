/* Handles HTML escapes in the code of an answer ("a &lt; b"). Whether the model escaped its answer
 * is decided once for the whole answer. The model escaped it if a quote is found in its file only
 * after unescaping, or if new Python code has escapes where only an operator can stand and the
 * answer contains no unescaped character. Otherwise an edit with escapes in new code is refused,
 * because such code can compile and mean something else. */
#include "patch/apply_private.h"

static const struct {
    const char *escape;
    char plain;
} escapes[] = {{"&lt;", '<'},  {"&gt;", '>'},    {"&quot;", '"'}, {"&apos;", '\''}, {"&#39;", '\''},
               {"&#34;", '"'}, {"&#x27;", '\''}, {"&#x22;", '"'}, {"&#60;", '<'},   {"&#62;", '>'},
               {"&#38;", '&'}, {"&nbsp;", ' '},  {"&amp;", '&'}};

/* Returns the length of the escape at `at`, and sets *out_plain to its character; 0 if there is no
 * escape. */
static gsize escape_at(const char *at, char *out_plain)
{
    for (gsize i = 0; *at == '&' && i < G_N_ELEMENTS(escapes); i++) {
        if (!g_str_has_prefix(at, escapes[i].escape))
            continue;
        *out_plain = escapes[i].plain;
        return strlen(escapes[i].escape);
    }
    return 0;
}

char *acr_text_unescape(const char *text)
{
    g_autoptr(GString) out = g_string_sized_new(strlen(text));
    bool any = false;
    while (*text) {
        char plain = *text;
        gsize n = escape_at(text, &plain);
        any = any || n > 0;
        g_string_append_c(out, plain);
        text += MAX(n, 1);
    }
    return any ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

static bool has_escape(const char *text)
{
    char plain;
    for (const char *at = text; (at = strchr(at, '&')); at++)
        if (escape_at(at, &plain) > 0)
            return true;
    return false;
}

/* Whether the text contains a character that HTML escaping would have replaced. */
static bool has_plain(const char *text)
{
    char plain;
    for (const char *at = text; (at = strpbrk(at, "<>&")); at++)
        if (escape_at(at, &plain) == 0)
            return true;
    return false;
}

/* Whether Python code contains an escape outside strings and comments. */
static bool has_escape_in_code(const char *text)
{
    char open = '\0', plain;
    /* length of the quotation marks around the current string; 0 outside strings */
    gsize width = 0;
    for (const char *at = text; *at; at++) {
        bool three = (*at == '"' || *at == '\'') && at[1] == *at && at[2] == *at;
        if (*at == '\\' && at[1]) {
            at++;
        } else if (open) {
            bool closes = *at == open && (width == 1 || three);
            at += closes ? width - 1 : 0;
            if (closes || (*at == '\n' && width == 1))
                open = '\0';
        } else if (*at == '"' || *at == '\'') {
            open = *at;
            width = three ? 3 : 1;
            at += width - 1;
        } else if (*at == '#') {
            at += strcspn(at, "\n");
            if (!*at)
                break;
        } else if (escape_at(at, &plain) > 0) {
            return true;
        }
    }
    return false;
}

static bool has_parts(const AcrEdit *edit)
{
    return edit->kind == ACR_EDIT_CHANGE && edit->original && edit->patched;
}

/* Whether the edit's quote occurs in its file only after unescaping, which proves that the answer
 * is escaped. */
static bool is_proof(const Work *work, const AcrEdit *edit)
{
    g_autoptr(GPtrArray) near = NULL;
    g_autoptr(GError) ignored = NULL;
    g_auto(AcrMatch) as_written = {0}, unescaped = {0};
    if (!edit->file || !has_parts(edit) || !has_escape(edit->original))
        return false;
    g_autofree char *clean = acr_file_name_clean(edit->file);
    g_autofree char *path = acr_file_names_resolve(work->names, clean, false, &near);
    gssize entry = path ? acr_snapshot_find(work->context->snapshot, path) : -1;
    g_autoptr(GBytes) bytes =
        entry < 0 ? NULL : acr_snapshot_read(work->context->snapshot, (gsize)entry, &ignored);
    if (!bytes)
        return false;
    g_autoptr(AcrSource) source = acr_source_new(path, bytes);
    g_autofree char *plain = acr_text_unescape(edit->original);
    acr_ladder_find(source, edit->original, "", &as_written);
    if (as_written.places->len > 0)
        return false;
    acr_ladder_find(source, plain, "", &unescaped);
    return unescaped.places->len > 0;
}

static void unescape(char **text)
{
    char *plain = *text ? acr_text_unescape(*text) : NULL;
    if (!plain)
        return;
    g_free(*text);
    *text = plain;
}

static void unescape_edit(AcrEdit *edit)
{
    unescape(&edit->original);
    unescape(&edit->patched);
    for (guint i = 0; edit->others && i < edit->others->len; i++) {
        AcrEditReading *reading = edit->others->pdata[i];
        unescape(&reading->original);
        unescape(&reading->patched);
    }
}

void acr_patch_unescape(const Work *work)
{
    bool escaped = false, plain = false, in_code = false;
    for (guint i = 0; i < work->edits->len && !escaped; i++)
        escaped = is_proof(work, edit_at(work, i));
    for (guint i = 0; i < work->edits->len; i++) {
        const AcrEdit *edit = edit_at(work, i);
        if (!has_parts(edit))
            continue;
        plain = plain || has_plain(edit->original) || has_plain(edit->patched);
        in_code = in_code || (edit->file && g_str_has_suffix(edit->file, ".py") &&
                              has_escape_in_code(edit->patched));
    }
    for (guint i = 0; i < work->edits->len; i++) {
        AcrEdit *edit = work->edits->pdata[i];
        if (escaped || (in_code && !plain))
            unescape_edit(edit);
        else if (in_code && has_parts(edit) && has_escape(edit->patched) &&
                 has_escape_in_code(edit->patched))
            acr_parse_complain(edit, "the new code contains HTML escapes such as &lt;, which would "
                                     "be written to the file literally: write <, > and & instead");
    }
}
