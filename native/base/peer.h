/* Peers: other processes of this program that answer questions over one socket, which is their
 * standard input. A question that makes a peer crash, hang or run out of memory ends only the peer.
 *
 * The protocol: numbers are 32 bits in the machine's byte order, because both sides are the same
 * binary. A peer first sends one answer: READY, or REFUSED with the reason why it cannot answer
 * questions. Then it sends one answer for each question, in order: ANSWERED, or FAILED with the
 * reason. Before it answers, a peer may ask us a question: it sends ASKS and waits for our reply,
 * which has the form of a question. */
#pragma once

#include "base/base.h"

#define ACR_PEER_MAX_NAME (1u << 20)
#define ACR_PEER_MAX_QUESTION (64u * 1024 * 1024)
#define ACR_PEER_MAX_ANSWER (256u * 1024 * 1024)

typedef struct {
    guint32 name_len, len; /* the name (name_len bytes) and the question (len bytes) follow */
} AcrPeerQuestionHead;

typedef enum {
    ACR_PEER_READY = 1,
    ACR_PEER_REFUSED,
    ACR_PEER_ANSWERED,
    ACR_PEER_FAILED,
    ACR_PEER_ASKS,
    /* The following values are never sent; they mean that a question got no answer. */
    ACR_PEER_GONE, /* the process ended, or its answer is malformed */
    ACR_PEER_LATE,
    ACR_PEER_INTERRUPTED,
} AcrPeerReply;

typedef struct {
    guint32 reply, len; /* the answer (`len` bytes) follows */
} AcrPeerAnswerHead;

/* ---- The side that asks ---- */

/* A peer process. One socket, non-blocking on our side, is its standard input and output; its
 * standard error is dropped. */
typedef struct {
    pid_t pid; /* process id, and id of the process group; 0 if the peer is not running */
    int fd;
} AcrPeer;
/* Starts a peer. `env` (NAME=VALUE, NULL-terminated) and `cwd` are as in AcrSpawn. Errors:
 * NOT_FOUND (no such program), FAILED. */
bool acr_peer_start(const char *const *argv, const char *const *env, const char *cwd, AcrPeer *out,
                    GError **error) ACR_MUST_USE;
/* Closes the socket, gives the peer `grace_ms` to end, kills the remaining processes of its group,
 * and waits for the peer to end. If the peer ended by itself, returns a description of how it
 * ended, such as "crashed (signal 11)", otherwise "was ended"; owned (g_free). */
char *acr_peer_end(AcrPeer *peer, gint64 grace_ms) ACR_MUST_USE;
/* Appends a question to the bytes that will be sent. */
void acr_peer_put(GByteArray *out, const char *name, GBytes *question);
/* Sends `out` and waits for one answer of at most ACR_PEER_MAX_ANSWER bytes. *out_answer, owned, is
 * set for replies that carry an answer. After ASKS the caller must send a reply and call
 * acr_peer_await again; after GONE or a timeout the caller must end the peer. */
AcrPeerReply acr_peer_await(AcrPeer *peer, const GByteArray *out, gint64 timeout_ms,
                            const AcrInterrupt *interrupt, GBytes **out_answer);

/* ---- The side that answers ---- */

/* A function that answers one question; *out_answer is owned. */
typedef bool (*AcrPeerAnswer)(void *ctx, const char *name, GBytes *question, GBytes **out_answer,
                              GError **error);
/* Answers questions on `fd` until the other end is closed. `started` is NULL, or the error that
 * keeps this process from answering; the function then sends only REFUSED. Errors: FAILED (the
 * socket). */
bool acr_peer_serve(int fd, AcrPeerAnswer answer, void *ctx, const GError *started,
                    GError **error) ACR_MUST_USE;
