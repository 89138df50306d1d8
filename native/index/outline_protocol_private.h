/*
 * The protocol of outlining peers; see outline_worker.c.
 */
#ifndef ACR_INDEX_OUTLINE_PROTOCOL_PRIVATE_H
#define ACR_INDEX_OUTLINE_PROTOCOL_PRIVATE_H

#include "index/index.h"

#define ACR_WORKER_MAX_PATH (1u << 20)

typedef struct {
    guint32 path_len, source_len; /* that many bytes follow */
} AcrWorkerRequestHead;

typedef enum {
    ACR_WORKER_READY = 1,
    ACR_WORKER_REFUSED,
    ACR_WORKER_ROWS,
    ACR_WORKER_FAILED,
} AcrWorkerAnswer;

typedef struct {
    guint32 kind, len; /* `len` bytes follow */
} AcrWorkerAnswerHead;

#endif
