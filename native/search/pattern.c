/* Searches by pattern (PCRE2), for search_code with "re:…". A match has at least one byte; `^` and
 * `$` match at line ends.
 *
 * A pattern can run almost forever, so its steps are limited. The limit does not depend on time, so
 * that the same search has the same answer on every machine. PCRE2 calls `count_step` before each
 * item of the pattern. Each call counts as a step, and the text between two calls counts as further
 * steps. Steps are counted for each file and for the whole search. PCRE2's own limits start again
 * at each byte, so they are only a second defence. The steps of a pattern without repeats and
 * groups are not counted, because its time is linear. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "search/reply_private.h"

#define ANY_CASE "(?i)" /* prefix that makes a pattern ignore case */
#define WORD_CHARACTER "[\\p{L}\\p{M}\\p{N}_]"
#define MATCH_LIMIT 10000000u          /* PCRE2's own limit of steps for one starting position */
#define DEPTH_LIMIT 100000u            /* PCRE2's own limit of nesting */
#define HEAP_LIMIT_KIB (32u * 1024)    /* memory limit of one match without JIT, in KiB */
#define STACK_START (32u * 1024)       /* initial memory of one match with JIT, in bytes */
#define STACK_LIMIT (8u * 1024 * 1024) /* memory limit of one match with JIT, in bytes */
/* number of bytes between two calls of count_step that count as one more step */
#define STEP_BYTES 16u
#define MAX_MESSAGE 256u /* maximum length of PCRE2's error message */
/* code with which count_step ends a match when no steps are left */
#define ERROR_STEPS PCRE2_ERROR_CALLOUT

typedef struct {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool by_line; /* a match does not cross line ends */
    /* the pattern has a back reference, which reads bytes without calling count_step */
    bool refers_back;
    guint64 steps, total_steps; /* number of steps in the current file, and in all earlier files */
    gsize at;                   /* position in the text at the last call of count_step */
    guint cut;                  /* number of files that were searched only in part, because the
                                 * steps ran out */
    gsize first_cut;            /* entry of the first of these files */
} Pattern;

const char *acr_pattern_of(const char *argument)
{
    return g_str_has_prefix(argument, "re:") ? argument + strlen("re:") : NULL;
}

/* True if the pattern has no repeats and no groups, so that a match takes at most one step for each
 * character of the pattern. */
static bool is_linear(const char *pattern)
{
    pattern += g_str_has_prefix(pattern, ANY_CASE) ? strlen(ANY_CASE) : 0;
    for (; *pattern; pattern++) {
        if (*pattern == '\\') {
            pattern++;
            if (g_ascii_isalnum(*pattern) && !strchr("bBdDwWsSntrf", *pattern))
                return false;
            if (!*pattern)
                return true;
        } else if (strchr("*+?{(", *pattern)) {
            return false;
        }
    }
    return true;
}

/* PCRE2 calls this function before each item of the pattern. Ends the match if no steps are left
 * for the file or the search. */
static int count_step(pcre2_callout_block *block, void *user)
{
    Pattern *pattern = user;
    gsize now = block->current_position;
    gsize passed = now > pattern->at ? now - pattern->at : pattern->at - now;
    if (pattern->refers_back && now > block->start_match)
        passed += now - block->start_match;
    pattern->steps += 1 + passed / STEP_BYTES;
    pattern->at = now;
    return pattern->steps > ACR_PATTERN_FILE_STEPS ||
                   pattern->total_steps + pattern->steps > ACR_PATTERN_STEPS
               ? ERROR_STEPS
               : 0;
}

static void pattern_clear(Pattern *pattern)
{
    pcre2_match_data_free(pattern->data);
    pcre2_match_context_free(pattern->context);
    pcre2_jit_stack_free(pattern->stack);
    pcre2_code_free(pattern->code);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Pattern, pattern_clear)

static pcre2_code *compile(const char *text, int *out_code, gsize *out_off)
{
    guint32 options = PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        g_error("out of memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    pcre2_set_max_pattern_length(context, ACR_PATTERN_MAX_BYTES);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                                     is_linear(text) ? options : options | PCRE2_AUTO_CALLOUT,
                                     out_code, out_off, context);
    pcre2_compile_context_free(context);
    return code;
}

/* Compiles the pattern `text`. If `text` is invalid, returns false and sets *out_why (owned) to the
 * reason. */
static bool pattern_init(Pattern *pattern, const char *text, char **out_why)
{
    int code = 0;
    gsize off = 0;
    guint32 refers_back = 0;
    *pattern = (Pattern){.code = compile(text, &code, &off)};
    if (!pattern->code) {
        PCRE2_UCHAR message[MAX_MESSAGE] = "";
        pcre2_get_error_message(code, message, sizeof message);
        off = MIN(off, strlen(text));
        g_autofree char *before = acr_utf8_repair(text, off);
        *out_why = g_strdup_printf("it is not a valid pattern: %s, at offset %ld",
                                   (const char *)message, g_utf8_strlen(before, -1));
        return false;
    }
    pcre2_pattern_info(pattern->code, PCRE2_INFO_BACKREFMAX, &refers_back);
    pattern->refers_back = refers_back > 0;
    pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* the pattern also works without JIT */
    pattern->data = pcre2_match_data_create(1, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    pattern->stack = pcre2_jit_stack_create(STACK_START, STACK_LIMIT, NULL);
    if (!pattern->data || !pattern->context)
        g_error("out of memory");
    pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
    pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KIB);
    pcre2_set_callout(pattern->context, count_step, pattern);
    pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
    return true;
}

/* Returns the number of bytes of a match that are shown: at most ACR_SEARCH_MAX_BLOCK lines. */
static gsize shown_len(const AcrContent *content, gsize off, gsize len)
{
    const char *end = content->text.text + off + len, *at = content->text.text + off;
    for (guint i = 0; i < ACR_SEARCH_MAX_BLOCK && at < end; i++)
        at = acr_text_next_line(content, at, end);
    return (gsize)(at - content->text.text) - off;
}

static int match_once(Pattern *pattern, const char *text, gsize len, gsize from)
{
    return pcre2_match(pattern->code, (PCRE2_SPTR)text, len, from,
                       PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, pattern->data, pattern->context);
}

/* Adds a hit for each line in which a match begins. Returns false if the search of the file took
 * too many steps. */
static bool find_in(Pattern *pattern, AcrReply *reply, gsize entry, const AcrContent *content)
{
    const char *text = content->text.text, *end = text + content->text.len;
    AcrLineCursor cursor = {.line = 1};
    int rc = 0;
    for (gsize from = 0; from < content->text.len;) {
        pattern->at = from;
        rc = match_once(pattern, text, content->text.len, from);
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(pattern->data);
        if (rc < 0 || span[0] >= span[1] || span[0] < cursor.off)
            break;
        gsize next = (gsize)(acr_text_next_line(content, text + span[0], end) - text);
        if (pattern->by_line && span[1] >= next && next < content->text.len) {
            from = next;
            if (match_once(pattern, text, next - 1, span[0]) < 0)
                continue;
        }
        gsize len = shown_len(content, span[0], span[1] - span[0]);
        if (!acr_text_add_match(reply, entry, content, &cursor, span[0], len))
            break;
        from = (gsize)(acr_text_next_line(content, text + span[1] - 1, end) - text);
    }
    return rc >= 0 || rc == PCRE2_ERROR_NOMATCH;
}

bool acr_pattern_find(AcrReply *reply, const char *text, const GArray *entries, char **out_why,
                      GError **error)
{
    g_auto(Pattern) pattern = {0};
    *out_why = NULL;
    if (!pattern_init(&pattern, text, out_why))
        return true;
    pattern.by_line = reply->search->mode.literal && !strstr(text, "\\n");
    guint i = 0;
    for (; i < entries->len && !reply->overfull && pattern.total_steps < ACR_PATTERN_STEPS; i++) {
        gsize entry = g_array_index(entries, gsize, i);
        AcrContent *content;
        if (!acr_search_content(reply->search, entry, &content, error))
            return false;
        pattern.steps = 0;
        if (content && content->is_binary && reply->search->mode.literal)
            continue;
        if (content && !find_in(&pattern, reply, entry, content) && pattern.cut++ == 0)
            pattern.first_cut = entry;
        pattern.total_steps += pattern.steps;
    }
    g_autofree char *path =
        pattern.cut ? acr_search_shown(acr_search_path(reply->search, pattern.first_cut)) : NULL;
    if (pattern.cut)
        acr_reply_note(reply, "The pattern is too slow: %u file%s searched only in part (%s).",
                       pattern.cut, pattern.cut == 1 ? " was" : "s were", path);
    if (i < entries->len && !reply->overfull)
        acr_reply_note(
            reply,
            "%u of %u files were not searched, because the search reached its limit of steps.",
            entries->len - i, entries->len);
    guint32 matches_empty = 0;
    pcre2_pattern_info(pattern.code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty && reply->hits->len == 0)
        acr_reply_note(reply, "The pattern matches the empty string; only a match of at least one "
                              "character counts.");
    return true;
}

char *acr_search_pattern(const char *text, bool is_pattern, bool is_any_case, bool is_whole,
                         GError **error)
{
    g_autoptr(GString) out = g_string_new(is_any_case ? "re:" ANY_CASE : "re:");
    g_string_append(out, is_whole ? "(?<!" WORD_CHARACTER ")(?:" : "");
    for (const char *at = text; *at; at++) {
        if (!is_pattern && (guchar)*at < 0x80 && !g_ascii_isalnum(*at))
            g_string_append_c(out, '\\');
        g_string_append_c(out, *at);
    }
    g_string_append(out, is_whole ? ")(?!" WORD_CHARACTER ")" : "");
    g_auto(Pattern) given = {0}, pattern = {0};
    g_autofree char *why = NULL;
    /* compile `text` alone first: "a)(b" is invalid, but would be valid inside our parentheses */
    if ((!is_pattern || pattern_init(&given, text, &why)) &&
        pattern_init(&pattern, acr_pattern_of(out->str), &why))
        return g_strdup(out->str);
    acr_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL, "cannot search for '%s': %s",
                  text, why);
    return NULL;
}

char *acr_search_library(void)
{
    char version[64] = "";
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    return g_strdup(version);
}
