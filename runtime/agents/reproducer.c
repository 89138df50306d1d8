/*
 * The reproducer agent: says whether an issue can be reproduced by a script, and writes the script,
 * which fails with an AssertionError while the issue is there.
 */
#include "agents/agents_private.h"

#include <string.h>

#define FENCE "```"

void acr_agent_reproducible_start(AcrConversation *conversation, const AcrPrompts *prompts,
                                  const char *issue)
{
    g_autofree char *system = acr_prompts_render(prompts, ACR_PROMPT_REPRODUCIBLE_SYSTEM, NULL),
                    *user =
                        acr_prompts_render(prompts, ACR_PROMPT_REPRODUCIBLE, "issue", issue, NULL);
    acr_conversation_add(conversation, ACR_ROLE_SYSTEM, system);
    acr_conversation_add(conversation, ACR_ROLE_USER, user);
}

bool acr_agent_reproducible_read(const char *answer, bool *out_yes, char **out_problem)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, &reason);
    guint decisions = 0;
    bool yes = false;
    if (!json) {
        *out_problem = g_strdup(reason->message);
        return false;
    }
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

/* ---- The script ---------------------------------------------------------------------------------
 */

void acr_agent_test_start(AcrConversation *conversation, const AcrPrompts *prompts,
                          const char *issue, const char *python)
{
    g_autofree char *system =
                        acr_prompts_render(prompts, ACR_PROMPT_TEST_SYSTEM, "python", python, NULL),
                    *user = acr_prompts_render(prompts, ACR_PROMPT_TEST, "issue", issue, NULL);
    acr_conversation_add(conversation, ACR_ROLE_SYSTEM, system);
    acr_conversation_add(conversation, ACR_ROLE_USER, user);
}

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

typedef struct {
    BlockKind kind;
    GString *text; /* owned; NULL: none */
} Block;

/* Replaces what was found by a newer block, unless that is empty or less surely the script: after
 * it may stand what it prints. */
static void take_block(Block *found, Block *block)
{
    bool is_better = block->text && block->text->len && block->kind >= found->kind;
    GString *worse = is_better ? found->text : block->text;
    if (worse)
        g_string_free(worse, TRUE);
    if (is_better)
        *found = *block;
    *block = (Block){0};
}

/* The lines of the last fenced block of Python, else of the last whose language is not named; NULL:
 * there is none. One that is not closed ends with the text. */
static GString *last_block(const char *answer)
{
    g_auto(GStrv) lines = g_strsplit(answer, "\n", -1);
    Block found = {0}, block = {0}; /* block: the open one, where it can be the script */
    bool is_open = false;
    for (guint i = 0; lines[i]; i++) {
        const char *text = lines[i] + strspn(lines[i], " \t");
        if (!g_str_has_prefix(text, FENCE)) {
            if (block.text)
                g_string_append_printf(block.text, "%s\n", lines[i]);
            continue;
        }
        take_block(&found, &block);
        is_open = !is_open;
        BlockKind kind = kind_of(text + strlen(FENCE));
        if (is_open && kind != BLOCK_OTHER)
            block = (Block){kind, g_string_new(NULL)};
    }
    take_block(&found, &block);
    return found.text;
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
    GString *block = last_block(answer);
    if (!block && !strstr(answer, FENCE) && looks_like_code(answer)) {
        block = g_string_new(answer);
        if (!g_str_has_suffix(answer, "\n"))
            g_string_append_c(block, '\n');
    }
    if (block && block->len > ACR_TEST_MAX_BYTES) {
        *out_problem = g_strdup_printf("the script is longer than %u bytes", ACR_TEST_MAX_BYTES);
        g_string_free(block, TRUE);
        return NULL;
    }
    if (!block)
        *out_problem = g_strdup("the answer holds no block of Python code (```python … ```)");
    return block ? g_string_free(block, FALSE) : NULL;
}
