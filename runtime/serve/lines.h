/* Private to serve: lines over descriptors, as they come and go. */
#ifndef ACR_SERVE_LINES_H
#define ACR_SERVE_LINES_H

#include <pthread.h>
#include <signal.h>

#include "base/base.h"

/* Blocks the signals that end the program, in this thread; *out_before is for pthread_sigmask. */
void acr_serve_block_signals(sigset_t *out_before);

/* Splits what comes into lines, without their line feeds and without blank ones. */
typedef struct {
    GByteArray *line; /* the beginning of the next line; owned */
    gsize max;        /* bytes of a line; a longer one is dropped */
    bool is_too_long;
    /* Takes a line, borrowed for the call; NULL: it was too long. */
    void (*take)(void *ctx, const char *line, gsize len);
    void *ctx;
} AcrServeLines;
void acr_serve_lines_add(AcrServeLines *lines, const char *data, gsize len);
void acr_serve_lines_end(AcrServeLines *lines); /* the last line may lack its line feed */

/* A client that is spoken to by two descriptors; the opener sets what takes its lines. */
typedef struct {
    int in, out;
    const AcrInterrupt *interrupt;
    AcrServeLines lines;
    pthread_mutex_t writing;
    int closed;    /* the errno after which `out` cannot be written to; atomic */
    int is_ending; /* a client that does not read is given up soon; atomic */
} AcrServePipe;
void acr_serve_pipe_open(AcrServePipe *pipe, int in, int out, const AcrInterrupt *interrupt);
/*
 * Waits for input, at most `timeout_ms` (-1: forever), and takes each complete line. False at the
 * end of the input, if `out` is closed, or with an error (FAILED); true also if nothing came, or
 * after an interrupt.
 */
bool acr_serve_pipe_read(AcrServePipe *pipe, int timeout_ms, GError **error) ACR_MUST_USE;
/* Writes a line, waiting for the reader; does nothing after an interrupt. Thread-safe. */
void acr_serve_pipe_write(AcrServePipe *pipe, const char *line);
/* Frees it. False with FAILED if something could not be written to a reader that is there. */
bool acr_serve_pipe_close(AcrServePipe *pipe, GError **error) ACR_MUST_USE;

#endif
