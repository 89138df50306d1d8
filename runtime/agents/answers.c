/* Reads the answers of the reproducer, reviewer and select roles. Models put fences and words
 * around JSON objects, and write decisions in words or as booleans. Both forms are accepted. */
#include "agents/agents_private.h"

#include <stddef.h>
#include <string.h>

#define FENCE "```"

AcrJson *acr_agents_parse_object(const char *answer, char **out_problem)
{
    const char *first = strchr(answer, '{'), *last = strrchr(answer, '}');
    if (!first || !last || last < first) {
        *out_problem = g_strdup("the answer contains no JSON object");
        return NULL;
    }
    g_autoptr(GError) reason = NULL;
    AcrJson *json = acr_json_parse(first, (gsize)(last - first) + 1, &reason);
    if (!json)
        *out_problem = g_strdup_printf("the answer is not valid JSON: %s", reason->message);
    return json;
}

/* True if a text is the word, or begins with it: "No.", "yes, but …". */
static bool says(const char *text, const char *word)
{
    gsize len = strlen(word);
    return g_ascii_strncasecmp(text, word, len) == 0 &&
           (text[len] == '\0' || strchr(".,;:!", text[len]));
}

/* Reads a member that says yes or no, either as a boolean or as a string that begins with the word
 * ("No. It …"). Returns false if the member says neither. */
static bool read_decision(const AcrJson *member, bool *out_yes)
{
    g_autofree char *text = g_strdup(acr_json_string(member));
    bool is_bool = acr_json_type(member) == ACR_JSON_BOOL;
    if (text)
        g_strstrip(text);
    bool yes = is_bool ? acr_json_bool(member) : text && (says(text, "yes") || says(text, "true"));
    bool no = is_bool ? !yes : text && (says(text, "no") || says(text, "false"));
    if (yes || no)
        *out_yes = yes;
    return yes || no;
}

bool acr_agent_reproducible_read(const char *answer, bool *out_yes, char **out_problem)
{
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, out_problem);
    guint decisions = 0;
    bool yes = false;
    if (!json)
        return false;
    if (read_decision(acr_json_get(json, "reproducible"), out_yes))
        return true;
    /* The member may have any name, but only one member may be a decision. */
    for (const AcrJson *at = acr_json_first(json); at; at = acr_json_next(at))
        decisions += read_decision(at, &yes);
    if (decisions != 1) {
        *out_problem = g_strdup_printf(
            "the object must contain exactly one yes-or-no decision, but contains %u", decisions);
        return false;
    }
    *out_yes = yes;
    return true;
}

/* Kinds of fenced blocks; the later kinds fit Python better. */
typedef enum { BLOCK_OTHER, BLOCK_UNNAMED, BLOCK_PYTHON } BlockKind;

static BlockKind kind_of(const char *info)
{
    static const char *const names[] = {"python", "python3", "py", "py3"};
    g_autofree char *text = g_ascii_strdown(info, -1);
    g_strstrip(text);
    gsize len = strcspn(text, " \t{");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (strlen(names[i]) == len && strncmp(text, names[i], len) == 0)
            return BLOCK_PYTHON;
    return *text ? BLOCK_OTHER : BLOCK_UNNAMED;
}

/* Returns the last fenced block of Python, otherwise the last block without a language; NULL if
 * there is none. Empty blocks are ignored; an unclosed block ends with the text. Owned. */
static char *last_block(const char *answer)
{
    g_auto(GStrv) lines = g_strsplit(answer, "\n", -1);
    g_autoptr(GString) block = g_string_new(NULL);
    char *found = NULL;
    BlockKind kind = BLOCK_OTHER, found_kind = BLOCK_UNNAMED;
    bool is_open = false;
    for (guint i = 0;; i++) {
        const char *text = lines[i] ? lines[i] + strspn(lines[i], " \t") : FENCE;
        if (!g_str_has_prefix(text, FENCE)) {
            g_string_append_printf(block, "%s\n", lines[i]);
            continue;
        }
        if (is_open && block->len && kind >= found_kind) {
            g_free(found);
            found = g_strdup(block->str);
            found_kind = kind;
        }
        if (!lines[i])
            return found;
        is_open = !is_open;
        kind = kind_of(text + strlen(FENCE));
        g_string_truncate(block, 0);
    }
}

/* True if a text without fences looks like a script, according to its beginning. */
static bool looks_like_code(const char *text)
{
    static const char *const starts[] = {"import ", "from ",  "#",   "\"\"\"",
                                         "def ",    "class ", "try:"};
    const char *at = text + strspn(text, " \t\r\n");
    for (guint i = 0; i < G_N_ELEMENTS(starts); i++)
        if (g_str_has_prefix(at, starts[i]))
            return true;
    return false;
}

char *acr_agent_test_read(const char *answer, char **out_problem)
{
    g_autofree char *script = last_block(answer);
    if (!script && !strstr(answer, FENCE) && looks_like_code(answer))
        script = g_strconcat(answer, g_str_has_suffix(answer, "\n") ? "" : "\n", NULL);
    if (!script)
        *out_problem = g_strdup("the answer contains no block of Python code (```python … ```)");
    else if (strlen(script) > ACR_TEST_MAX_BYTES) {
        *out_problem = g_strdup_printf("the script is longer than %u bytes", ACR_TEST_MAX_BYTES);
        return NULL;
    }
    return g_steal_pointer(&script);
}

/* The string members of a review, with their names in models' answers and in
 * review_pPATCH_tTEST.json. */
static const struct {
    const char *name;
    gsize offset; /* offset in AcrReviewAnswer */
} review_texts[] = {
    {"patch-analysis", offsetof(AcrReviewAnswer, patch_analysis)},
    {"patch-advice", offsetof(AcrReviewAnswer, patch_advice)},
    {"test-analysis", offsetof(AcrReviewAnswer, test_analysis)},
    {"test-advice", offsetof(AcrReviewAnswer, test_advice)},
};

static char **review_text(const AcrReviewAnswer *answer, guint i)
{
    return (char **)(void *)((char *)answer + review_texts[i].offset);
}

void acr_review_answer_clear(AcrReviewAnswer *answer)
{
    for (guint i = 0; i < G_N_ELEMENTS(review_texts); i++)
        g_clear_pointer(review_text(answer, i), g_free);
}

void acr_agent_review_to_json(const AcrReviewAnswer *answer, AcrJson *json)
{
    acr_json_set_string(json, "patch-correct", answer->patch_correct ? "yes" : "no");
    acr_json_set_string(json, "test-correct", answer->test_correct ? "yes" : "no");
    for (guint i = 0; i < G_N_ELEMENTS(review_texts); i++)
        acr_json_set_string(json, review_texts[i].name, *review_text(answer, i));
}

static bool take_decision(const AcrJson *json, const char *key, bool *out, char **out_problem)
{
    const AcrJson *member = acr_json_get(json, key);
    if (read_decision(member, out))
        return true;
    *out_problem = member ? g_strdup_printf("\"%s\" is neither yes nor no", key)
                          : g_strdup_printf("\"%s\" is missing", key);
    return false;
}

/* Returns a string member, an array or object as JSON text, or ""; owned. */
static char *take_text(const AcrJson *json, const char *key)
{
    const AcrJson *member = acr_json_get(json, key);
    const char *text = acr_json_string(member);
    AcrJsonType type = acr_json_type(member);
    if (!text && (type == ACR_JSON_ARRAY || type == ACR_JSON_OBJECT))
        return acr_json_print(member);
    return g_strdup(text ? text : "");
}

bool acr_agent_review_read(const char *answer, AcrReviewAnswer *out, char **out_problem)
{
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, out_problem);
    AcrReviewAnswer read = {0};
    if (!json || !take_decision(json, "patch-correct", &read.patch_correct, out_problem) ||
        !take_decision(json, "test-correct", &read.test_correct, out_problem))
        return false;
    for (guint i = 0; i < G_N_ELEMENTS(review_texts); i++)
        *review_text(&read, i) = take_text(json, review_texts[i].name);
    *out = read;
    return true;
}

char *acr_agent_probe_read(const char *answer)
{
    g_autofree char *problem = NULL;
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, &problem);
    const char *code = acr_json_get_string(json, "probe");
    return code && *code && !acr_json_get(json, "patch-correct") ? g_strdup(code) : NULL;
}

/* Sets a reason as one line. Returns false if the reason is missing. */
static bool take_reason(const AcrJson *json, char **out_reason, char **out_problem)
{
    g_autofree char *reason = g_strstrip(take_text(json, "reason"));
    if (!*reason)
        *out_problem = g_strdup("\"reason\" is missing");
    else
        *out_reason = g_strdelimit(g_strdup(reason), "\r\n\t", ' ');
    return *reason != '\0';
}

bool acr_agent_regression_read(const char *answer, bool *out_expected, char **out_reason,
                               char **out_problem)
{
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, out_problem);
    return json && take_decision(json, "expected", out_expected, out_problem) &&
           take_reason(json, out_reason, out_problem);
}

bool acr_agent_choice_read(const char *answer, guint n, guint *out_choice, char **out_reason,
                           char **out_problem)
{
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, out_problem);
    const char *text = acr_json_get_string(json, "choice");
    gint64 choice = acr_json_get_int(json, "choice", 0);
    if (!json)
        return false;
    if (text)
        choice = g_ascii_strtoll(text, NULL, 10);
    if (choice < 1 || choice > n) {
        *out_problem = g_strdup_printf("\"choice\" is not a number from 1 to %u", n);
        return false;
    }
    *out_choice = (guint)choice;
    return take_reason(json, out_reason, out_problem);
}
