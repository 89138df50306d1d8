/* The groups of tests of http (each file adds its own), and what the files share. */
#pragma once

#include "http/http.h"
#include "server.h"
#include "unit/cases.h"

gint64 now_ms(void);
/* Makes an exchange with a server that replies with `reply`, at a URL whose path and query contain
 * "secret". */
bool exchange(const TestReply *reply, const AcrHttpRequest *given, AcrHttpResponse *out, GError **error);
/* The response to a GET that the server answers with `raw`; must succeed. */
void get_raw(const char *raw, AcrHttpResponse *out);
/* The exchange must fail with `code` after the request was sent, and the message must not contain
 * "secret". */
void assert_fails(const TestReply *reply, const AcrHttpRequest *request, int code);
void assert_body(const AcrHttpResponse *response, const char *text);
const char *header(const AcrHttpResponse *response, const char *name);

/* Collects a streamed body: `take` is the `on_body` of the request. */
typedef struct {
    GString *text;
    gsize stop_after;
    AcrHttpNext then; /* the result of `take` after that many bytes */
    int status;
    gsize calls;
} Sink;
AcrHttpNext take(void *ctx, const AcrHttpHead *head, const char *data, gsize len);
