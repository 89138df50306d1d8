/* Separates a model's thoughts from its answer. Servers and chat templates leave thoughts in the
 * text in several notations: tags, often without the opening tag, because the template has written
 * it; pairs of special tokens; the channels of OpenAI's open models ("harmony").
 *
 * Code in the answer may contain the same notations: between the marks of an edit or in a code
 * fence they are text. Elsewhere, a mark counts only at the beginning or the end of a line. */
#include <string.h>

#include "base/base.h"

typedef struct {
    const char *open, *close;
} Pair;

static const Pair pairs[] = {
    {"<think>", "</think>"},
    {"<thinking>", "</thinking>"},
    {"<thought>", "</thought>"},
    {"<thoughts>", "</thoughts>"},
    {"<reasoning>", "</reasoning>"},
    {"<reflection>", "</reflection>"},
    {"<scratchpad>", "</scratchpad>"},
    {"<inner_monologue>", "</inner_monologue>"},
    {"<antthinking>", "</antthinking>"},
    {"<seed:think>", "</seed:think>"},
    {"[THINK]", "[/THINK]"},
    {"\xe2\x97\x81think\xe2\x96\xb7", "\xe2\x97\x81/think\xe2\x96\xb7"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<|begin_of_thought|>", "<|end_of_thought|>"},
    {"<|inner_prefix|>", "<|inner_suffix|>"},
    {"<|channel>thought", "<channel|>"},
    {"Here is my thought process:", "Here is my response:"},
};

/* Pairs of marks around code; thought tags between the marks are plain text. */
static const Pair codes[] = {
    {"```", "\n```"},
    {"<original>", "</original>"},
    {"<patched>", "</patched>"},
    {"<<<<<<< ", "\n>>>>>>> "},
};

typedef struct {
    const char *text; /* borrowed */
    GString *answer, *thoughts;
    /* whether no closing mark follows the current position, so that the opening mark is plain
     * text */
    bool endless[G_N_ELEMENTS(codes)];
    /* whether no thoughts with the pair's marks end after the current position, so that the opening
     * mark is plain text */
    bool unclosed[G_N_ELEMENTS(pairs)];
} Split;

static bool is_space(char c)
{
    return c != '\0' && strchr(" \t\r\n", c);
}

static const char *skip_space(const char *at, bool lines)
{
    while (is_space(*at) && (lines || *at != '\n'))
        at++;
    return at;
}

static bool has_prefix(const char *at, const char *mark)
{
    return g_ascii_strncasecmp(at, mark, strlen(mark)) == 0;
}

/* Returns the position after the opening mark at `at`, including the attributes of a tag; NULL if
 * there is no mark. */
static const char *behind_open(const char *at, const char *open)
{
    gsize n = strlen(open);
    if (has_prefix(at, open))
        return at + n;
    if (open[n - 1] != '>' || open[1] == '|' || g_ascii_strncasecmp(at, open, n - 1) != 0 ||
        at[n - 1] != ' ')
        return NULL;
    const char *end = at + strcspn(at, ">\n");
    return *end == '>' ? end + 1 : NULL;
}

/* Returns the first closing mark from `at` on, in upper or lower case; NULL if there is none. If
 * the thoughts only mention the mark, take_close finds the real closing mark later. */
static const char *find_close(const char *at, const char *close)
{
    const char *here = strchr(at, *close);
    while (here && !has_prefix(here, close))
        here = strchr(here + 1, *close);
    return here;
}

static void add_thoughts(Split *split, const char *from, gsize len)
{
    g_autofree char *part = g_strstrip(g_strndup(from, len));
    if (*part)
        g_string_append_printf(split->thoughts, "%s%s", split->thoughts->len ? "\n\n" : "", part);
}

/* Removes the thoughts whose opening mark is at `at`. Returns the position after the thoughts, or
 * `at` if there are no thoughts. Without a closing mark, the rest of the text is thoughts if no
 * answer precedes. */
static const char *take_thoughts(Split *split, const char *at)
{
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
        const char *from = behind_open(at, pairs[i].open);
        const char *close = from && !split->unclosed[i] ? find_close(from, pairs[i].close) : NULL;
        split->unclosed[i] = split->unclosed[i] || (from && !close);
        bool first = *skip_space(split->answer->str, true) == '\0';
        if (!from || (!close && !first))
            continue;
        add_thoughts(split, from, close ? (gsize)(close - from) : strlen(from));
        return close ? close + strlen(pairs[i].close) : from + strlen(from);
    }
    return at;
}

/* Handles a closing mark without an opening mark, at the beginning or the end of the line [at,
 * end): if an answer follows, all text before the mark is thoughts. Returns the position after the
 * mark; NULL if there is no such mark. */
static const char *take_close(Split *split, const char *at, const char *end)
{
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
        gsize n = strlen(pairs[i].close);
        const char *from = skip_space(at, false), *last = end;
        while (last > from && is_space(last[-1]))
            last--;
        if ((gsize)(last - from) < n)
            continue;
        const char *mark = has_prefix(from, pairs[i].close)       ? from
                           : has_prefix(last - n, pairs[i].close) ? last - n
                                                                  : NULL;
        if (!mark)
            continue;
        if (*skip_space(mark + n, true) != '\0') {
            g_string_append_len(split->answer, at, mark - at);
            add_thoughts(split, split->answer->str, split->answer->len);
            g_string_truncate(split->answer, 0);
        } else {
            g_string_append_len(split->answer, at, mark - at);
        }
        return mark + n;
    }
    return NULL;
}

/* Returns the end of the code that begins at `at`; `at` if no code begins at `at`, or if the code
 * has no end. */
static const char *behind_code(Split *split, const char *at)
{
    for (gsize i = 0; i < G_N_ELEMENTS(codes); i++) {
        if (split->endless[i] || !has_prefix(at, codes[i].open))
            continue;
        const char *end = strstr(at + 1, codes[i].close);
        if (end)
            return end + strlen(codes[i].close);
        split->endless[i] = true;
    }
    return at;
}

static void split_marked(Split *split)
{
    for (const char *at = split->text; *at;) {
        const char *first = skip_space(at, false);
        const char *behind = take_thoughts(split, first);
        if (behind > first) {
            at = behind;
            continue;
        }
        const char *code = behind_code(split, first);
        const char *end = code + strcspn(code, "\n");
        behind = code == first ? take_close(split, at, end) : NULL;
        if (!behind) {
            behind = *end ? end + 1 : end;
            g_string_append_len(split->answer, at, behind - at);
        }
        at = behind;
    }
}

/* Splits messages in channels, "<|channel|>NAME<|message|>TEXT"; only the channel "final" is the
 * answer. Returns false if the text has no channels. */
static bool split_channels(Split *split)
{
    static const char channel[] = "<|channel|>", message[] = "<|message|>";
    const char *at = skip_space(split->text, true);
    /* the notation of channels without special tokens, which some servers drop */
    if (has_prefix(at, "analysis") && strstr(at, "assistantfinal")) {
        const char *final = strstr(at, "assistantfinal");
        add_thoughts(split, at + strlen("analysis"), (gsize)(final - at) - strlen("analysis"));
        g_string_append(split->answer, final + strlen("assistantfinal"));
        return true;
    }
    if (!has_prefix(at, channel) && !has_prefix(at, "<|start|>") &&
        !has_prefix(at, "analysis<|message|>"))
        return false;
    for (const char *body = strstr(at, message); body; body = strstr(at, message)) {
        const char *name = g_strstr_len(at, body - at, channel);
        bool final = g_str_has_prefix(name ? name + strlen(channel) : at, "final");
        at = body += strlen(message);
        while (*at && !has_prefix(at, "<|end|>") && !has_prefix(at, "<|return|>") &&
               !has_prefix(at, "<|start|>") && !has_prefix(at, "<|call|>") &&
               !has_prefix(at, channel))
            at++;
        if (final)
            g_string_append_len(split->answer, body, at - body);
        else
            add_thoughts(split, body, (gsize)(at - body));
    }
    return true;
}

char *acr_thoughts_split(const char *text, char **out_thoughts)
{
    g_autoptr(GString) answer = g_string_new(NULL);
    g_autoptr(GString) thoughts = g_string_new(NULL);
    Split split = {.text = text, .answer = answer, .thoughts = thoughts};
    if (!split_channels(&split))
        split_marked(&split);
    bool any = thoughts->len > 0 || answer->len < strlen(text);
    *out_thoughts = thoughts->len > 0 ? g_string_free(g_steal_pointer(&thoughts), FALSE) : NULL;
    return g_strdup(any ? answer->str + strspn(answer->str, "\r\n") : text);
}
