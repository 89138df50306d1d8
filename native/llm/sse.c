/* Parses server-sent events from bytes that may be cut anywhere. It collects bytes until a line
 * ends (LF, CRLF or CR), and the fields of a block until an empty line. Data are passed on as
 * bytes when their event is complete. */
#include "llm/llm_private.h"

#include <string.h>

struct AcrSse {
    AcrOnEvent on_event;
    void *ctx;
    GString *line; /* the bytes of a line that is not complete yet */
    GString *name, *data;
    bool has_data;
    bool after_cr; /* the last byte was a CR, so a following LF belongs to the same line end */
    bool begun;    /* the first line, which may begin with a byte order mark, has ended */
    bool is_too_big, is_stopped;
};

AcrSse *acr_sse_new(AcrOnEvent on_event, void *ctx)
{
    AcrSse *sse = g_new0(AcrSse, 1);
    sse->on_event = on_event;
    sse->ctx = ctx;
    sse->line = g_string_new(NULL);
    sse->name = g_string_new(NULL);
    sse->data = g_string_new(NULL);
    return sse;
}

void acr_sse_free(AcrSse *sse)
{
    if (!sse)
        return;
    g_string_free(sse->line, TRUE);
    g_string_free(sse->name, TRUE);
    g_string_free(sse->data, TRUE);
    g_free(sse);
}

bool acr_sse_is_too_big(const AcrSse *sse)
{
    return sse->is_too_big;
}

static void dispatch(AcrSse *sse)
{
    AcrEvent event = {.name = sse->name->str, .data = sse->data->str, .len = sse->data->len};
    if (sse->has_data && !sse->on_event(sse->ctx, &event))
        sse->is_stopped = true;
    g_string_truncate(sse->name, 0);
    g_string_truncate(sse->data, 0);
    sse->has_data = false;
}

static bool is_field(const char *name, const char *field, gsize len)
{
    return strlen(name) == len && memcmp(field, name, len) == 0;
}

/* Adds the value of the field "data" or "event" to the current event. Ignores other fields, because
 * only clients that reconnect need ids and retry times. */
static void take_field(AcrSse *sse, const char *field, gsize field_len, const char *value,
                       gsize value_len)
{
    if (is_field("data", field, field_len)) {
        sse->is_too_big = value_len + 1 > ACR_MAX_EVENT_BYTES - sse->data->len;
        if (sse->is_too_big)
            return;
        if (sse->has_data)
            g_string_append_c(sse->data, '\n');
        g_string_append_len(sse->data, value, (gssize)value_len);
        sse->has_data = true;
    } else if (is_field("event", field, field_len)) {
        g_string_truncate(sse->name, 0);
        g_string_append_len(sse->name, value, (gssize)value_len);
    }
}

static void take_sse_line(AcrSse *sse, const char *line, gsize len)
{
    if (!sse->begun && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        len -= 3;
    }
    sse->begun = true;
    if (len == 0) {
        dispatch(sse);
        return;
    }
    const char *colon = memchr(line, ':', len);
    if (colon == line) /* the line is a comment, which only shows that the server still works */
        return;
    /* a line of bare JSON is an error that the server did not write as an event */
    const char *sign = line + strspn(line, " \t");
    if (*sign && strchr("{}[]\"", *sign)) {
        take_field(sse, "data", strlen("data"), line, len);
        return;
    }
    gsize value = colon ? (gsize)(colon - line) + 1 : len;
    if (value < len && line[value] == ' ')
        value++;
    take_field(sse, line, colon ? (gsize)(colon - line) : len, line + value, len - value);
}

static void end_line(AcrSse *sse)
{
    take_sse_line(sse, sse->line->str, sse->line->len);
    g_string_truncate(sse->line, 0);
}

static bool goes_on(const AcrSse *sse)
{
    return !sse->is_stopped && !sse->is_too_big;
}

bool acr_sse_feed(AcrSse *sse, const char *data, gsize len)
{
    for (gsize i = 0; i < len && goes_on(sse); i++) {
        bool belongs_to_cr = sse->after_cr && data[i] == '\n';
        sse->after_cr = data[i] == '\r';
        if (belongs_to_cr)
            continue;
        if (data[i] == '\n' || data[i] == '\r')
            end_line(sse);
        else if (sse->line->len < ACR_MAX_EVENT_BYTES)
            g_string_append_c(sse->line, data[i]);
        else
            sse->is_too_big = true;
    }
    return goes_on(sse);
}

bool acr_sse_end(AcrSse *sse)
{
    if (goes_on(sse) && sse->line->len > 0)
        end_line(sse);
    if (goes_on(sse))
        dispatch(sse);
    return goes_on(sse);
}
