/* Private to acp: its sessions, the runs of their prompts, and what they tell the client. */
#ifndef ACR_ACP_PRIVATE_H
#define ACR_ACP_PRIVATE_H

#include "serve/acp.h"
#include "serve/serve_private.h"

/* Stages of a run in the order of the plan that the client sees. */
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
    pthread_mutex_t lock; /* protects what follows, and the answers and states of sessions */
    pthread_cond_t told;  /* a session got its answer, or is cancelled */
    gint64 last_request;  /* the id of the last request to the client */
    guint runs;           /* prompts that are worked on */
} AcrAcp;

typedef struct {
    AcrAcp *acp;
    char *id, *repo, *folder; /* owned; `repo` and `folder` are absolute */
    char *issue;              /* owned; NULL: there was no prompt yet */
    bool is_going_on;         /* the next prompt resumes the run in `folder` */
    pthread_t thread;         /* of the prompt; `has_thread`: to be joined */
    bool has_thread;
    AcrServeMessage prompt; /* the request that is worked on; owned */
    guint n_calls;          /* tool calls that the client was told of */
    AcrAcpStage stage;
    /* Under the lock: */
    bool is_busy, is_cancelled;
    gint64 asked;    /* the id of a request that waits for the client's answer; 0: none */
    AcrJson *answer; /* … its answer; owned */
} AcrAcpSession;

/* ---- What the client is told (acp_update.c) ---- */

/* One line of text, as the agent's message or as what it thinks. */
void acr_acp_say(AcrAcpSession *session, const char *kind, const char *text);
#define ACR_ACP_MESSAGE "agent_message_chunk"
#define ACR_ACP_THOUGHT "agent_thought_chunk"
#define ACR_ACP_USER "user_message_chunk"
/* An event of the run, as in runtime/schemas/events.json. */
void acr_acp_tell_event(AcrAcpSession *session, const AcrJson *event);
/* The plan; every stage is done if `stage` is ACR_ACP_STAGES. */
void acr_acp_tell_plan(AcrAcpSession *session, AcrAcpStage stage);
/* The tool call that writes a patch, with the old and new text of each file; owned. NULL with an
 * error of vcs: the patch does not fit the working tree. */
AcrJson *acr_acp_edit(AcrAcpSession *session, const char *diff, GError **error) ACR_MUST_USE;
/* Tells the client of it (`sessionUpdate`: tool_call), or of its new state. */
void acr_acp_tell_call(AcrAcpSession *session, const char *update, AcrJson *call);
/* Sends a request or, with id 0, a notification; `params` is taken. */
void acr_acp_send(AcrAcp *acp, gint64 id, const char *method, AcrJson *params);

/* ---- A prompt (acp_prompt.c) ---- */

/* Works on the session's prompt in a thread of its own, which answers it. False: no thread. */
bool acr_acp_prompt_start(AcrAcpSession *session) ACR_MUST_USE;
/* Ends the work, whose prompt is then answered. Thread-safe. */
void acr_acp_prompt_cancel(AcrAcpSession *session);
/* Waits until the thread of an earlier prompt has ended. */
void acr_acp_prompt_join(AcrAcpSession *session);

#endif
