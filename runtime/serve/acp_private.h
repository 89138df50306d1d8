/* Private to acp: sessions, the runs for their prompts, and messages to the client. */
#pragma once

#include "serve/acp.h"
#include "serve/serve_private.h"

/* Stages of a run, in the order of the plan that the client shows. */
typedef enum {
    ACR_ACP_REPRODUCE,
    ACR_ACP_FIND,
    ACR_ACP_WRITE,
    ACR_ACP_CHECK,
    ACR_ACP_STAGES
} AcrAcpStage;

typedef struct {
    const AcrAcpOptions *options;
    AcrServePipe pipe;
    GHashTable *sessions; /* id -> AcrAcpSession */
    bool is_initialized;
    /* protects the following members, and the members of sessions that are marked below */
    pthread_mutex_t lock;
    pthread_cond_t told; /* signals that a session got its answer or was cancelled */
    gint64 last_request; /* id of the last request to the client */
    guint runs;          /* number of prompts in progress */
} AcrAcp;

typedef struct {
    AcrAcp *acp;
    char *id, *repo, *folder; /* owned; `repo` and `folder` are absolute */
    char *issue;              /* owned; NULL if no prompt has arrived yet */
    bool is_going_on;         /* the next prompt resumes the run in `folder` */
    /* thread that handles the prompt; must be joined if `has_thread` */
    pthread_t thread;
    bool has_thread;
    AcrServeMessage prompt; /* the prompt in progress; owned */
    guint n_calls;          /* number of tool calls that were reported to the client */
    AcrAcpStage stage;
    bool has_reproducer; /* the run has begun to write a script */
    /* The following members are protected by the lock. */
    bool is_busy, is_cancelled;
    /* id of a request that waits for the client's answer; 0 if there is none */
    gint64 asked;
    AcrJson *answer; /* the client's answer to the request `asked`; owned */
} AcrAcpSession;

/* ---- Messages to the client (acp_update.c) ----- */

/* Sends `text` as a line of the agent's message, of its thought or of the user's message. */
void acr_acp_say(AcrAcpSession *session, const char *kind, const char *text);
#define ACR_ACP_MESSAGE "agent_message_chunk"
#define ACR_ACP_THOUGHT "agent_thought_chunk"
#define ACR_ACP_USER "user_message_chunk"
/* Sends an event of the run as updates of the session. The event is as in
 * runtime/schemas/events.json. */
void acr_acp_tell_event(AcrAcpSession *session, const AcrJson *event);
/* Sends the plan: earlier stages are completed (or skipped, as their texts say), `stage` is in progress. All stages are completed if
 * `stage` is ACR_ACP_STAGES. */
void acr_acp_tell_plan(AcrAcpSession *session, AcrAcpStage stage);
/* Returns the tool call that writes a patch, with the old and new text of each file; owned. NULL
 * with an error of vcs if the patch does not fit the working tree. */
AcrJson *acr_acp_edit(AcrAcpSession *session, const char *diff, GError **error) ACR_MUST_USE;
/* Sends a tool call (`update`: "tool_call") or its new state ("tool_call_update"); `call` is
 * taken. */
void acr_acp_tell_call(AcrAcpSession *session, const char *update, AcrJson *call);
/* Sends a request or, if `id` is 0, a notification; `params` is taken. */
void acr_acp_send(AcrAcp *acp, gint64 id, const char *method, AcrJson *params);

/* ---- A prompt (acp_prompt.c) ---- */

/* Starts a thread that handles the session's prompt and answers it. Returns false if the thread
 * cannot be started. */
bool acr_acp_prompt_start(AcrAcpSession *session) ACR_MUST_USE;
/* Cancels the session's prompt, which is then answered with "cancelled". Thread-safe. */
void acr_acp_prompt_cancel(AcrAcpSession *session);
void acr_acp_prompt_join(AcrAcpSession *session);
