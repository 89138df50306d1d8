/* Private to serve: input and output of lines over descriptors. */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "base/base.h"

/* Blocks the signals that end the program, in the calling thread. *out_before is the previous mask,
 * for pthread_sigmask. */
void acr_serve_block_signals(sigset_t *out_before);

/* Splits input into lines without line feeds; skips blank lines. */
typedef struct {
    GByteArray *line; /* beginning of the next line; owned */
    gsize max;        /* maximum length of a line in bytes; longer lines are dropped */
    bool is_too_long;
    /* Called with each line, borrowed for the call; with NULL if a line was too long. */
    void (*take)(void *ctx, const char *line, gsize len);
    void *ctx;
} AcrServeLines;
void acr_serve_lines_add(AcrServeLines *lines, const char *data, gsize len);
/* Ends the input. Passes on a last line without a line feed. */
void acr_serve_lines_end(AcrServeLines *lines);

/* A client that is connected by two descriptors. The code that opens the pipe sets lines.take. */
typedef struct {
    int in, out;
    const AcrInterrupt *interrupt;
    AcrServeLines lines;
    pthread_mutex_t writing;
    int closed;    /* errno of a failed write, after which nothing more is written; atomic */
    int is_ending; /* the program is ending, so stop writing soon if the client does not read;
                    * atomic */
} AcrServePipe;
void acr_serve_pipe_open(AcrServePipe *pipe, int in, int out, const AcrInterrupt *interrupt);
/* Waits for input, at most `timeout_ms` (-1: forever), and passes each complete line to lines.take.
 * Returns false at the end of the input, if `out` is closed, or with an error (FAILED). Otherwise
 * returns true, even if nothing has arrived or after an interrupt. */
bool acr_serve_pipe_read(AcrServePipe *pipe, int timeout_ms, GError **error) ACR_MUST_USE;
/* Writes a line, and waits for the client to read it. Does nothing after a failed or interrupted
 * write. Thread-safe. */
void acr_serve_pipe_write(AcrServePipe *pipe, const char *line);
/* Frees the pipe. Returns false with FAILED if a write failed for another reason than a client that
 * has gone. */
bool acr_serve_pipe_close(AcrServePipe *pipe, GError **error) ACR_MUST_USE;
