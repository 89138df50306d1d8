/*
 * Peers: other processes of this program that answer questions over one socket, which is their
 * standard input. What a question makes a peer do (crash, take all memory, hang) ends that process
 * only.
 *
 * The protocol: numbers are 32 bits in the machine's order, since both sides are the same binary. A
 * peer begins with one answer: READY, or REFUSED with why it can answer nothing. Then for each
 * question, in their order, one answer: ANSWERED, or FAILED with why. Before that answer it may ask back:
 * ASKS, whose reply is sent as a question is, and then waits for it alone.
 */
#ifndef ACR_BASE_PEER_H
#define ACR_BASE_PEER_H

#include "base/base.h"

#define ACR_PEER_MAX_NAME (1u << 20)
#define ACR_PEER_MAX_QUESTION (64u * 1024 * 1024)
#define ACR_PEER_MAX_ANSWER (256u * 1024 * 1024)

typedef struct {
    guint32 name_len, len; /* that many bytes follow */
} AcrPeerQuestionHead;

typedef enum {
    ACR_PEER_READY = 1,
    ACR_PEER_REFUSED,
    ACR_PEER_ANSWERED,
    ACR_PEER_FAILED,
    ACR_PEER_ASKS,
    /* Not sent: what became of a question that got no answer. */
    ACR_PEER_GONE, /* it ended, or its answer is malformed */
    ACR_PEER_LATE,
    ACR_PEER_INTERRUPTED,
} AcrPeerReply;

typedef struct {
    guint32 reply, len; /* `len` bytes follow */
} AcrPeerAnswerHead;

/* ---- The side that asks ---- */

/* A process that is talked to: one socket, not blocking on our side, is its standard input and
 * output; its standard error is dropped. */
typedef struct {
    pid_t pid; /* also its process group; 0: none */
    int fd;
} AcrPeer;
/* `env` (NAME=VALUE, NULL-terminated) and `cwd` are as in AcrSpawn. Errors: NOT_FOUND (no such
 * program), FAILED. */
bool acr_peer_start(const char *const *argv, const char *const *env, const char *cwd, AcrPeer *out,
                    GError **error) ACR_MUST_USE;
/*
 * Closes the socket, gives the peer `grace_ms` to end, kills what is left of its process group and
 * waits for it. Says how it ended if it did so by itself: "crashed (signal 11)"; owned (g_free).
 */
char *acr_peer_end(AcrPeer *peer, gint64 grace_ms) ACR_MUST_USE;
/* Adds a question to what is to be sent. */
void acr_peer_put(GByteArray *out, const char *name, GBytes *question);
/*
 * Sends `out` and waits for one answer, of at most ACR_PEER_MAX_ANSWER bytes: *out_answer, owned, is
 * set with a reply that is sent; after ASKS another await is due. After another reply the peer must be ended.
 */
AcrPeerReply acr_peer_await(AcrPeer *peer, const GByteArray *out, gint64 timeout_ms,
                            const AcrInterrupt *interrupt, GBytes **out_answer);

/* ---- The side that answers ---- */

/* Answers one question; *out_answer: owned. */
typedef bool (*AcrPeerAnswer)(void *ctx, const char *name, GBytes *question, GBytes **out_answer,
                              GError **error);
/* Answers what comes in on `fd` until it is closed. `started`: NULL, or why nothing can be answered
 * here. Errors: FAILED (the socket). */
bool acr_peer_serve(int fd, AcrPeerAnswer answer, void *ctx, const GError *started,
                    GError **error) ACR_MUST_USE;

#endif
