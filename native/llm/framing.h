/* Bytes of a stream to its events: server-sent events, and AWS's binary frames. */
#ifndef ACR_LLM_FRAMING_H
#define ACR_LLM_FRAMING_H

#include "llm/llm.h"

#define ACR_MAX_EVENT_BYTES (24u * 1024 * 1024) /* of one event's data, or of one line */

typedef struct {
    const char *name; /* borrowed; of the event, "" where none is said */
    const char *data; /* borrowed; NUL-terminated behind `len` */
    gsize len;
    bool is_exception; /* AWS's frames: :message-type is exception or error */
} AcrEvent;
/* False stops: what follows is not read. */
typedef bool (*AcrOnEvent)(void *ctx, const AcrEvent *event);

/* Server-sent events, cut anywhere; LF, CRLF and CR end a line; lines of bare JSON are data, as some
 * servers write an error so (sse.c). */
typedef struct AcrSse AcrSse;
AcrSse *acr_sse_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_sse_free(AcrSse *sse);
/* False: on_event stopped it, or a line or an event is larger than ACR_MAX_EVENT_BYTES (then
 * acr_sse_is_too_big). */
bool acr_sse_feed(AcrSse *sse, const char *data, gsize len) ACR_MUST_USE;
/* The end of the bytes: an event without its empty line is given out all the same. */
bool acr_sse_end(AcrSse *sse) ACR_MUST_USE;
bool acr_sse_is_too_big(const AcrSse *sse);

/* Messages of application/vnd.amazon.eventstream, checksums verified (eventstream.c). */
typedef struct AcrEventStream AcrEventStream;
AcrEventStream *acr_eventstream_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_eventstream_free(AcrEventStream *stream);
/* False: on_event stopped it, or (acr_eventstream_problem) the bytes are not such a stream. */
bool acr_eventstream_feed(AcrEventStream *stream, const char *data, gsize len) ACR_MUST_USE;
/* What is wrong with the bytes; NULL: nothing. Borrowed, static. */
const char *acr_eventstream_problem(const AcrEventStream *stream);

#endif
