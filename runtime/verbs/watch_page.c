/* Serves the page and its events. The server's thread only records requests; the main thread makes
 * the page with Python, as `report` does, and sends changes. */
#include "verbs/watch_page.h"

#include <pthread.h>
#include <string.h>

#include "http/server.h"
#include "report/report.h"

#define KEPT_MS 1000 /* maximum age of a page that is sent again */

struct AcrWatchPage {
    AcrHttpServer *server;
    AcrPython *python;
    char *out, *url;
    GBytes *made; /* the last page; NULL if none was made yet */
    gint64 made_ms;
    guint ended;          /* number of ended tasks in the last state that was sent */
    pthread_mutex_t lock; /* protects all following members */
    GPtrArray *asked, *streams;
    char *state; /* the last state that was sent */
};

static void refuse_request(AcrHttpIncoming *incoming, int status, const char *why)
{
    acr_http_incoming_answer(incoming, status, "text/plain", why, strlen(why));
}

/* Records a request. The server's thread calls this function. */
static void take_request(void *ctx, AcrHttpIncoming *incoming)
{
    AcrWatchPage *page = ctx;
    const char *path = acr_http_incoming_path(incoming);
    bool is_stream = strcmp(path, "/events") == 0;
    if (strcmp(acr_http_incoming_method(incoming), "GET") != 0)
        return refuse_request(incoming, 405, "only GET\n");
    if (!is_stream && strcmp(path, "/") != 0)
        return refuse_request(incoming, 404, "this server has only the pages '/' and '/events'\n");
    pthread_mutex_lock(&page->lock);
    if (is_stream) {
        acr_http_incoming_begin_events(incoming);
        if (page->state)
            (void)acr_http_incoming_send_event(incoming, page->state);
    }
    g_ptr_array_add(is_stream ? page->streams : page->asked, acr_http_incoming_ref(incoming));
    pthread_mutex_unlock(&page->lock);
}

AcrWatchPage *acr_watch_page_new(const AcrHost *host, const char *out, guint port, GError **error)
{
    AcrWatchPage *page = g_new0(AcrWatchPage, 1);
    AcrHttpServerOptions options = {
        .port = port, .takes_token_of_query = true, .answer = take_request, .ctx = page};
    pthread_mutex_init(&page->lock, NULL);
    page->out = g_strdup(out);
    page->asked = g_ptr_array_new_with_free_func((GDestroyNotify)acr_http_incoming_unref);
    page->streams = g_ptr_array_new_with_free_func((GDestroyNotify)acr_http_incoming_unref);
    page->python = acr_python_new(host->python_dir, error);
    page->server = page->python ? acr_http_server_start(&options, error) : NULL;
    if (!page->server) {
        acr_watch_page_free(page);
        return NULL;
    }
    page->url = g_strdup_printf("http://127.0.0.1:%u/?token=%s", acr_http_server_port(page->server),
                                acr_http_server_token(page->server));
    return page;
}

void acr_watch_page_free(AcrWatchPage *page)
{
    if (!page)
        return;
    if (page->server)
        acr_http_server_stop(page->server);
    g_ptr_array_unref(page->asked);
    g_ptr_array_unref(page->streams);
    acr_python_free(page->python);
    pthread_mutex_destroy(&page->lock);
    g_clear_pointer(&page->made, g_bytes_unref);
    ACR_FREE(page->state, page->out, page->url, page);
}

const char *acr_watch_page_url(const AcrWatchPage *page)
{
    return page->url;
}

/* Sends `data` (may be NULL) to all browsers, and drops those that have disconnected. The caller
 * holds the lock. */
static void send_all(AcrWatchPage *page, const char *data)
{
    for (guint i = page->streams->len; i-- > 0;)
        if (!acr_http_incoming_send_event(page->streams->pdata[i], data))
            g_ptr_array_remove_index_fast(page->streams, i);
}

void acr_watch_page_send(AcrWatchPage *page, const AcrBatchState *state)
{
    g_autoptr(AcrJson) json = acr_watched_to_json(state);
    char *text = acr_json_print(json);
    if (state->n_ended != page->ended)
        page->made_ms = 0;
    page->ended = state->n_ended;
    pthread_mutex_lock(&page->lock);
    if (g_strcmp0(text, page->state) != 0)
        send_all(page, text);
    g_free(page->state);
    page->state = text;
    pthread_mutex_unlock(&page->lock);
}

bool acr_watch_page_is_seen(AcrWatchPage *page)
{
    pthread_mutex_lock(&page->lock);
    send_all(page, NULL);
    bool is_seen = page->streams->len || page->asked->len;
    pthread_mutex_unlock(&page->lock);
    return is_seen;
}

void acr_watch_page_answer(AcrWatchPage *page)
{
    g_autoptr(GPtrArray) asked = NULL;
    pthread_mutex_lock(&page->lock);
    if (page->asked->len) {
        asked = page->asked;
        page->asked = g_ptr_array_new_with_free_func((GDestroyNotify)acr_http_incoming_unref);
    }
    pthread_mutex_unlock(&page->lock);
    if (asked && (!page->made || acr_now_ms() - page->made_ms > KEPT_MS)) {
        g_clear_pointer(&page->made, g_bytes_unref);
        page->made = acr_report_make(
            page->python, &(AcrReportOptions){.dir = page->out, .form = "live"}, NULL, NULL);
        page->made_ms = acr_now_ms();
    }
    for (guint i = 0; asked && i < asked->len; i++) {
        gsize len = 0;
        const void *data = page->made ? g_bytes_get_data(page->made, &len) : NULL;
        acr_http_incoming_set_header(asked->pdata[i], "X-Frame-Options", "DENY");
        if (data)
            acr_http_incoming_answer(asked->pdata[i], 200, "text/html; charset=utf-8", data, len);
        else
            refuse_request(asked->pdata[i], 500, "cannot create the page; try again\n");
    }
}
