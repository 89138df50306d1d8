/* Sends messages to a client of the Agent Client Protocol: the plan with its stages, search calls
 * and scripts as tool calls, notes as thoughts, and the patch as the old and new text of each
 * file. */
#include <string.h>

#include "serve/acp_private.h"

/* maximum size in bytes of a file's text; of a larger file, only the name is sent */
#define MAX_DIFF_BYTES (512u * 1024)

void acr_acp_send(AcrAcp *acp, gint64 id, const char *method, AcrJson *params)
{
    g_autoptr(AcrJson) json = acr_json_of(ACR_STRING("jsonrpc", "2.0"), NULL);
    if (id)
        acr_json_set_int(json, "id", id);
    acr_json_set_string(json, "method", method);
    acr_json_set(json, "params", params);
    g_autofree char *text = acr_json_print(json), *line = g_strconcat(text, "\n", NULL);
    acr_serve_pipe_write(&acp->pipe, line);
}

/* Sends an update of the session; `update` is taken. */
static void send_update(AcrAcpSession *session, AcrJson *update)
{
    acr_acp_send(
        session->acp, 0, "session/update",
        acr_json_of(ACR_STRING("sessionId", session->id), ACR_JSON("update", update), NULL));
}

static AcrJson *text_block(const char *text)
{
    return acr_json_of(ACR_STRING("type", "text"), ACR_STRING("text", text), NULL);
}

void acr_acp_say(AcrAcpSession *session, const char *kind, const char *text)
{
    g_autofree char *whole = acr_utf8_repair(text, strlen(text)),
                    *line = g_strconcat(whole, "\n", NULL);
    send_update(session, acr_json_of(ACR_STRING("sessionUpdate", kind),
                                     ACR_JSON("content", text_block(line)), NULL));
}

void acr_acp_tell_call(AcrAcpSession *session, const char *update, AcrJson *call)
{
    acr_json_set_string(call, "sessionUpdate", update);
    send_update(session, call);
}

void acr_acp_tell_plan(AcrAcpSession *session, AcrAcpStage stage)
{
    static const char *const words[ACR_ACP_STAGES] = {"Reproduce the issue with a script",
                                                      "Find the code that has to change",
                                                      "Write the patch", "Check the patch"};
    AcrJson *entries = acr_json_new_array();
    bool is_skipped = stage > ACR_ACP_REPRODUCE && !session->has_reproducer;
    for (guint i = 0; i < ACR_ACP_STAGES; i++)
        acr_json_add(entries,
                     ACR_STRING("content", i == ACR_ACP_REPRODUCE && is_skipped
                                               ? "Reproduce the issue with a script (skipped)"
                                               : words[i]),
                     ACR_STRING("priority", "medium"),
                     ACR_STRING("status", i < stage    ? "completed"
                                          : i == stage ? "in_progress"
                                                       : "pending"));
    session->stage = stage;
    send_update(session, acr_json_of(ACR_STRING("sessionUpdate", "plan"),
                                     ACR_JSON("entries", entries), NULL));
}

static AcrAcpStage stage_of(const char *name)
{
    static const char *const prepare[] = {"snapshot", "index", "reproduce", NULL},
                             *const find[] = {"select",  "extract", "search", "analyse",
                                              "analyze", "locate",  NULL};
    if (g_strv_contains(prepare, name))
        return ACR_ACP_REPRODUCE;
    if (strcmp(name, "patch") == 0)
        return ACR_ACP_WRITE;
    return g_strv_contains(find, name) ? ACR_ACP_FIND : ACR_ACP_CHECK;
}

/* Returns the places as absolute paths and lines, which the client can open. */
static AcrJson *locations_of(const AcrAcpSession *session, const AcrJson *places)
{
    AcrJson *locations = acr_json_new_array();
    for (const AcrJson *at = acr_json_first(places); at; at = acr_json_next(at)) {
        const char *file = acr_json_get_string(at, "file");
        g_autofree char *path = file ? g_build_filename(session->repo, file, NULL) : NULL;
        if (path)
            acr_json_add(locations, ACR_STRING("path", path),
                         ACR_INT("line", MAX(acr_json_get_int(at, "start", 1), 1)));
    }
    return locations;
}

static AcrJson *new_call(AcrAcpSession *session, const char *kind, const char *title,
                         const char *status)
{
    g_autofree char *id = g_strdup_printf("call_%u", ++session->n_calls);
    return acr_json_of(ACR_STRING("toolCallId", id), ACR_STRING("title", title),
                       ACR_STRING("kind", kind), ACR_STRING("status", status), NULL);
}

static void tell_action(AcrAcpSession *session, const AcrJson *event, const char *text)
{
    const char *action = acr_json_get_string(event, "action");
    bool is_known = g_strcmp0(action, "search") == 0 || g_strcmp0(action, "execute") == 0;
    AcrJson *call = new_call(session, is_known ? action : "other", text, "completed"),
            *content = acr_json_new_array();
    acr_json_add(content, ACR_STRING("type", "content"), ACR_JSON("content", text_block(text)));
    acr_json_set(call, "content", content);
    acr_json_set(call, "locations", locations_of(session, acr_json_get(event, "places")));
    acr_acp_tell_call(session, "tool_call", call);
}

void acr_acp_tell_event(AcrAcpSession *session, const AcrJson *event)
{
    const char *kind = acr_json_get_string(event, "event");
    g_autoptr(GBytes) bytes = acr_json_get_bytes(event, "text");
    g_autofree char *text = bytes ? acr_utf8_repair_bytes(bytes) : NULL;
    const char *stage = acr_json_get_string(event, "stage");
    session->has_reproducer = session->has_reproducer || g_strcmp0(stage, "reproduce") == 0;
    if (g_strcmp0(kind, "stage") == 0 && stage && stage_of(stage) != session->stage)
        acr_acp_tell_plan(session, stage_of(stage));
    else if (g_strcmp0(kind, "action") == 0 && text)
        tell_action(session, event, text);
    else if (text && (g_strcmp0(kind, "note") == 0 || g_strcmp0(kind, "warning") == 0))
        acr_acp_say(session, ACR_ACP_THOUGHT, text);
}

/* Returns a file's content as JSON; null if the file does not exist, or if its content cannot be
 * shown. Sets *out_fits to false if the content is too large or not UTF-8. */
static AcrJson *file_text(const AcrOverlay *overlay, const char *path, bool *out_fits)
{
    g_autoptr(GBytes) bytes =
        acr_overlay_has(overlay, path) ? acr_overlay_read(overlay, path, NULL) : NULL;
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    *out_fits = len <= MAX_DIFF_BYTES && (!len || g_utf8_validate(data, (gssize)len, NULL));
    return bytes && *out_fits ? acr_json_new_gbytes(bytes) : acr_json_new_null();
}

static void add_file(AcrAcpSession *session, const AcrOverlay *before, const AcrOverlay *after,
                     const char *path, AcrJson *content, AcrJson *locations)
{
    bool fits[2] = {false, false};
    g_autofree char *joined = g_build_filename(session->repo, path, NULL),
                    *whole = acr_utf8_repair(joined, strlen(joined));
    AcrJson *old = file_text(before, path, &fits[0]), *new = file_text(after, path, &fits[1]);
    bool is_removed = acr_json_type(new) == ACR_JSON_NULL;
    if (is_removed) { /* the protocol cannot express a deletion, so show an empty text */
        acr_json_free(new);
        new = acr_json_new_string("");
    }
    AcrJson *diff = acr_json_of(ACR_STRING("type", "diff"), ACR_STRING("path", whole),
                                ACR_JSON("oldText", old), ACR_JSON("newText", new), NULL);
    if (fits[0] && fits[1])
        acr_json_append(content, diff);
    else
        acr_json_free(diff);
    acr_json_add(locations, ACR_STRING("path", whole));
}

AcrJson *acr_acp_edit(AcrAcpSession *session, const char *diff, GError **error)
{
    g_autoptr(AcrRepo) repo = acr_repo_open(session->repo, error);
    g_autoptr(AcrSnapshot) snapshot = repo ? acr_snapshot_of_worktree(repo, error) : NULL;
    if (!snapshot)
        return NULL;
    g_autoptr(AcrOverlay) before = acr_overlay_new(snapshot), after = acr_overlay_new(snapshot);
    if (!acr_overlay_apply_diff(after, diff, strlen(diff), error))
        return NULL;
    g_auto(GStrv) paths = acr_overlay_changed(after);
    g_autofree char *names = g_strjoinv(", ", paths),
                    *shown = acr_utf8_repair(names, strlen(names)),
                    *title = g_strconcat("Write the patch: ", shown, NULL);
    AcrJson *call = new_call(session, "edit", title, "pending"), *content = acr_json_new_array(),
            *locations = acr_json_new_array();
    for (guint i = 0; paths[i]; i++)
        add_file(session, before, after, paths[i], content, locations);
    acr_json_set(call, "content", content);
    acr_json_set(call, "locations", locations);
    return call;
}
