/* Starts the conversation of the patch writer. The patch writer sees the issue and the code of the
 * bug locations, and answers with edits in <file>/<original>/<patched> groups. The code has no line
 * numbers, so that the model can quote it exactly. */
#include "agents/agents.h"

#include <string.h>

/* If fewer than MIN_PIECE_BYTES bytes are left for a piece of code, only its name is shown. */
#define MIN_PIECE_BYTES 400u

static const char *const role_titles[] = {
    [ACR_LOCATED_BUG] = "Location of the bug",
    [ACR_LOCATED_CLASS] = "The class around it, for context",
    [ACR_LOCATED_OVERRIDDEN] = "The method that it overrides, for context",
};

/* Appends a place, with as much code as the number of bytes given to it allows; with 0, only its
 * name. */
static void append_located(GString *out, const AcrLocated *located, guint number, gsize given)
{
    const AcrPlace *place = located->place;
    if (number)
        g_string_append_printf(out, "## %s %u\n", role_titles[located->role], number);
    else
        g_string_append_printf(out, "## %s\n", role_titles[located->role]);
    g_string_append_printf(out, "<file>%s</file>", place->file);
    if (place->klass)
        g_string_append_printf(out, " <class>%s</class>", place->klass);
    if (place->func)
        g_string_append_printf(out, " <func>%s</func>", place->func);
    g_string_append_printf(out, " lines %u-%u\n", place->start, place->end);
    if (located->intended_behavior)
        g_string_append_printf(out, "Intended behavior: %s\n", located->intended_behavior);
    if (given == 0) {
        g_string_append(out, "(its code is left out here, since there is too much of it)\n\n");
        return;
    }
    g_autofree char *code = acr_text_shorten(located->code, given);
    g_string_append_printf(out, "<code>\n%s%s</code>\n\n", code,
                           g_str_has_suffix(code, "\n") ? "" : "\n");
}

/* Distributes `left` bytes among the bug locations, or among their context. Each place gets
 * enough for its whole code, or all remaining bytes if there are at least MIN_PIECE_BYTES. */
static void deal(const GPtrArray *located, bool to_bugs, gsize *left, gsize *given)
{
    for (guint i = 0; i < located->len; i++) {
        const AcrLocated *item = located->pdata[i];
        gsize wanted = MAX(strlen(item->code), 1); /* empty code is shown too */
        if ((item->role == ACR_LOCATED_BUG) != to_bugs)
            continue;
        if (wanted <= *left)
            given[i] = wanted;
        else if (to_bugs && *left >= MIN_PIECE_BYTES)
            given[i] = *left;
        *left -= given[i];
    }
}

void acr_agent_patch_start(AcrConversation *conversation, const AcrPrompts *prompts,
                           const char *issue, const GPtrArray *located, gsize code_bytes)
{
    GString *text = g_string_new(NULL);
    g_autofree gsize *given = g_new0(gsize, located->len + 1);
    gsize left = code_bytes;
    guint bugs = 0;
    deal(located, true, &left, given);
    deal(located, false, &left, given);
    for (guint i = 0; i < located->len; i++) {
        const AcrLocated *item = located->pdata[i];
        append_located(text, item, item->role == ACR_LOCATED_BUG ? ++bugs : 0, given[i]);
    }
    g_autofree char *locations = g_strchomp(g_string_free(text, FALSE));
    acr_agent_start(conversation, prompts, ACR_AGENT_PATCH, "issue", issue, "locations", locations,
                    NULL);
}

void acr_agent_patch_start_from(AcrConversation *conversation, const AcrPrompts *prompts,
                                const AcrConversation *retrieval)
{
    g_autofree char *system = acr_prompts_render(prompts, ACR_PROMPT_PATCH_SYSTEM, NULL);
    acr_conversation_add(conversation, ACR_ROLE_SYSTEM, system);
    for (gsize i = 0; i < acr_conversation_size(retrieval); i++) {
        const AcrMessage *message = acr_conversation_message(retrieval, i);
        if (message->role != ACR_ROLE_SYSTEM)
            acr_conversation_add(conversation, message->role, message->content);
    }
    acr_agent_tell(conversation, prompts, ACR_PROMPT_PATCH_CONVERSATION, NULL);
}

char *acr_agent_patch_notes(const AcrPrompts *prompts, const char *file, const char *text)
{
    g_autofree char *clean = acr_issue_clean(text);
    g_strstrip(clean);
    if (!*clean)
        return NULL;
    if (strlen(clean) > ACR_PATCH_NOTES_BYTES) { /* cut at the end of a line, if there is one */
        clean[ACR_PATCH_NOTES_BYTES] = '\0';
        char *end = strrchr(clean, '\n');
        if (end)
            *end = '\0';
    }
    /* Split the tag that would end the quotation. */
    g_auto(GStrv) parts = g_strsplit(clean, "</repository_text", -1);
    g_autofree char *joined = g_strjoinv("< /repository_text", parts),
                    *notes = acr_utf8_repair(joined, strlen(joined));
    return acr_prompts_render(prompts, ACR_PROMPT_PATCH_NOTES, "file", file, "notes", notes, NULL);
}
