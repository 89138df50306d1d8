/* The page of `report`, live: what `watch --serve` gives a browser of this machine (watch_page.c). */
#ifndef ACR_WATCH_PAGE_H
#define ACR_WATCH_PAGE_H

#include "verbs/watch.h"

typedef struct AcrWatchPage AcrWatchPage;
/* Begins to serve; `port` 0: a free one. Owned. Errors: of the http server, of acr_python_new. */
AcrWatchPage *acr_watch_page_new(const AcrHost *host, const char *out, guint port,
                                 GError **error) ACR_MUST_USE;
void acr_watch_page_free(AcrWatchPage *page);
/* The address, with its token; borrowed. */
const char *acr_watch_page_url(const AcrWatchPage *page);
/* Sends the state to all who look on. */
void acr_watch_page_send(AcrWatchPage *page, const AcrBatchState *state);
/* Gives the page to those who have asked for it since. */
void acr_watch_page_answer(AcrWatchPage *page);
/* Whether anybody still looks on. */
bool acr_watch_page_is_seen(AcrWatchPage *page);

#endif
