/* The groups of tests of http, each file adding its own, and what they share. */
#pragma once

#include "http/http.h"
#include "server.h"
#include "unit/cases.h"

gint64 now_ms(void);
/* One exchange with a server that gives `reply`, at a URL whose path and query hold "secret". */
bool exchange(const TestReply *reply, const AcrHttpRequest *given, AcrHttpResponse *out,
              GError **error);
/* The response to a GET that is answered by `raw`, and must succeed. */
void get_raw(const char *raw, AcrHttpResponse *out);
/* The exchange must fail by `code` after it was sent, and not show "secret". */
void assert_fails(const TestReply *reply, const AcrHttpRequest *request, int code);
void assert_body(const AcrHttpResponse *response, const char *text);
const char *header(const AcrHttpResponse *response, const char *name);

/* What takes a streamed body, by take() as on_body. */
typedef struct {
    GString *text;
    gsize stop_after;
    AcrHttpNext then; /* what is said after that many bytes */
    int status;
    gsize calls;
} Sink;
AcrHttpNext take(void *ctx, const AcrHttpHead *head, const char *data, gsize len);
