/* Splits the bytes of a stream into events: server-sent events, and AWS's binary frames. */
#ifndef ACR_LLM_FRAMING_H
#define ACR_LLM_FRAMING_H

#include "llm/llm.h"

#define ACR_MAX_EVENT_BYTES (24u * 1024 * 1024) /* bytes of an event's data, or of a line */

typedef struct {
    const char *name; /* borrowed; "" if the event has no name */
    const char *data; /* borrowed; followed by a NUL */
    gsize len;
    bool is_exception; /* AWS's frames: :message-type is exception or error */
} AcrEvent;
/* Returns false to stop the stream. */
typedef bool (*AcrOnEvent)(void *ctx, const AcrEvent *event);

/* Server-sent events from bytes that may be cut anywhere. LF, CRLF and CR end a line. Lines of bare
 * JSON are treated as data, because some servers write errors that way (sse.c). */
typedef struct AcrSse AcrSse;
AcrSse *acr_sse_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_sse_free(AcrSse *sse);
/* False: on_event stopped the stream, or a line or an event exceeds ACR_MAX_EVENT_BYTES (then
 * acr_sse_is_too_big). */
bool acr_sse_feed(AcrSse *sse, const char *data, gsize len) ACR_MUST_USE;
/* Ends the stream: an event without its final empty line is still passed on. */
bool acr_sse_end(AcrSse *sse) ACR_MUST_USE;
bool acr_sse_is_too_big(const AcrSse *sse);

/* Messages of application/vnd.amazon.eventstream, checksums verified (eventstream.c). */
typedef struct AcrEventStream AcrEventStream;
AcrEventStream *acr_eventstream_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_eventstream_free(AcrEventStream *stream);
/* False: on_event stopped the stream, or the bytes are invalid (then acr_eventstream_problem). */
bool acr_eventstream_feed(AcrEventStream *stream, const char *data, gsize len) ACR_MUST_USE;
/* Why the bytes are invalid; NULL: they are valid. Static. */
const char *acr_eventstream_problem(const AcrEventStream *stream);

#endif
