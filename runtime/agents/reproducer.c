/*
 * The reproducer agent: says whether an issue can be reproduced by a script, and writes the script,
 * which fails with an AssertionError while the issue is there.
 */
#include "agents/agents_private.h"

#include <string.h>

#define FENCE "```"

bool acr_agent_reproducible_read(const char *answer, bool *out_yes, char **out_problem)
{
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, out_problem);
    guint decisions = 0;
    bool yes = false;
    if (!json)
        return false;
    if (acr_agents_decision(acr_json_get(json, "reproducible"), out_yes))
        return true;
    /* Whatever the member is called: there must be one decision. */
    for (const AcrJson *at = acr_json_first(json); at; at = acr_json_next(at))
        decisions += acr_agents_decision(at, &yes);
    if (decisions != 1) {
        *out_problem = g_strdup_printf("the object says yes or no %u times, not once", decisions);
        return false;
    }
    *out_yes = yes;
    return true;
}

/* ---- The script ------------------------------------------------------------------------------ */

/* What a fence's info string says of its block: better is greater. */
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

/* The last fenced block of Python, else the last whose language is not named; NULL: none. Empty
 * blocks are ignored; one that is not closed ends with the text. Owned. */
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

/* Whether a text without fences can be a script: it begins as one. */
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
        *out_problem = g_strdup("the answer holds no block of Python code (```python … ```)");
    else if (strlen(script) > ACR_TEST_MAX_BYTES) {
        *out_problem = g_strdup_printf("the script is longer than %u bytes", ACR_TEST_MAX_BYTES);
        return NULL;
    }
    return g_steal_pointer(&script);
}
