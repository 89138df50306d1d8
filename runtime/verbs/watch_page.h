/* The live page of `report`, which `watch --serve` serves to browsers on this machine
 * (watch_page.c). */
#pragma once

#include "verbs/watch.h"

typedef struct AcrWatchPage AcrWatchPage;
/* Starts serving on `port` (0: any free port); owned. Errors: those of acr_http_server_start and
 * acr_python_new. */
AcrWatchPage *acr_watch_page_new(const AcrHost *host, const char *out, guint port,
                                 GError **error) ACR_MUST_USE;
void acr_watch_page_free(AcrWatchPage *page);
/* Returns the address of the page, including the token; borrowed. */
const char *acr_watch_page_url(const AcrWatchPage *page);
/* Sends the state to all browsers that have the page open. */
void acr_watch_page_send(AcrWatchPage *page, const AcrBatchState *state);
/* Sends the page to the browsers that have requested it since the last call. */
void acr_watch_page_answer(AcrWatchPage *page);
/* Returns whether any browser still has the page open. */
bool acr_watch_page_is_seen(AcrWatchPage *page);
