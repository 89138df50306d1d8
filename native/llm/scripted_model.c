/* Implements scripted answers: a model that answers from a file of JSON lines, which is read when
 * the model is created. Each label (a line's "agent") has a queue of its lines in file order; a
 * call uses the first line that fits. A line with a "round" is used only for the step with that
 * number. When the step numbers of the calls begin again, a new attempt of the run has begun, and
 * unused lines of the previous attempt are skipped. */
#include "llm/llm_private.h"

#include <string.h>

/* number of bytes of the expected text and of the newest messages that an EXPECT error shows */
#define SHOWN 120u
/* minimum number of bytes at the beginning of the expected text that must match before an error
 * shows the place */
#define MIN_ALIKE 8u

typedef struct {
    char *content; /* owned */
    char **expect; /* owned, NULL-terminated, or NULL */
    guint number;  /* line number in the file, from 1 */
    guint step;    /* step for which the line is; 0: any step */
    /* number of decreases of the step from one line of the label to the next, up to this line */
    guint pass;
} Line;

typedef struct {
    GArray *lines;                /* array of Line */
    guint lines_step, lines_pass; /* step and pass number of the last script line with a step */
    guint next;                   /* index of the first unused line */
    guint step;                   /* step of the last request; 0 if there was none */
    guint pass; /* how often a request's step was lower than that of the previous request */
} Queue;

typedef struct {
    AcrModel base;
    const char *path;              /* part of the model's name, for messages */
    GHashTable *queues;            /* label -> Queue */
    const AcrInterrupt *interrupt; /* borrowed */
} ScriptModel;

static void clear_line(gpointer data)
{
    Line *line = data;
    g_free(line->content);
    g_strfreev(line->expect);
}

static void free_queue(gpointer data)
{
    Queue *queue = data;
    g_array_unref(queue->lines);
    g_free(queue);
}

static void script_free(AcrModel *model)
{
    g_hash_table_unref(((ScriptModel *)model)->queues);
    ACR_FREE(model->name, model);
}

/* Returns the queue of a label; creates the queue if it is missing. */
static Queue *queue_of(ScriptModel *script, const char *label)
{
    Queue *queue = g_hash_table_lookup(script->queues, label);
    if (!queue) {
        queue = g_new0(Queue, 1);
        queue->lines = g_array_new(FALSE, FALSE, sizeof(Line));
        g_array_set_clear_func(queue->lines, clear_line);
        g_hash_table_insert(script->queues, g_strdup(label), queue);
    }
    return queue;
}

#define refuse(error, ...) acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE, __VA_ARGS__)

static bool read_expect(const AcrJson *value, Line *line, GError **error)
{
    gsize n = 0;
    if (acr_json_type(value) != ACR_JSON_ARRAY)
        return refuse(error, "'expect' must be an array of strings");
    line->expect = g_new0(char *, acr_json_size(value) + 1);
    for (const AcrJson *e = acr_json_first(value); e; e = acr_json_next(e)) {
        if (!acr_json_string(e))
            return refuse(error, "'expect' contains a value that is not a string");
        line->expect[n++] = g_strdup(acr_json_string(e));
    }
    return true;
}

static bool read_member(const char *key, const AcrJson *value, Line *line, GError **error)
{
    static const char *const texts[] = {"agent", "content", "instance_id", NULL};
    gint64 step = acr_json_int(value, 0);
    g_autofree char *shown = acr_redact_line(key, NULL, 100);
    if (strcmp(key, "expect") == 0)
        return read_expect(value, line, error);
    if (g_strv_contains(texts, key))
        return acr_json_type(value) == ACR_JSON_STRING ||
               refuse(error, "'%s' must be a string", key);
    if (strcmp(key, "round") != 0)
        return refuse(error, "unknown member '%s'", shown);
    line->step = (guint)step;
    return (acr_json_type(value) == ACR_JSON_NUMBER && step >= 1 && step <= G_MAXINT) ||
           refuse(error, "'round' must be a number, 1 or more");
}

static bool read_line(const AcrJson *json, Line *line, GError **error)
{
    if (acr_json_type(json) != ACR_JSON_OBJECT)
        return refuse(error, "not an object");
    if (!acr_json_get(json, "agent") || !acr_json_get(json, "content"))
        return refuse(error, "'%s' is missing", acr_json_get(json, "agent") ? "content" : "agent");
    for (const AcrJson *m = acr_json_first(json); m; m = acr_json_next(m))
        if (!read_member(acr_json_key(m), m, line, error))
            return false;
    line->content = g_strdup(acr_json_get_string(json, "content"));
    return true;
}

static void enqueue(Queue *queue, Line *line)
{
    if (line->step > 0) {
        queue->lines_pass += line->step < queue->lines_step;
        queue->lines_step = line->step;
        line->pass = queue->lines_pass;
    }
    g_array_append_val(queue->lines, *line);
    memset(line, 0, sizeof *line);
}

/* Parses one line, and queues it if it is for the task in the options. */
static bool add_script_line(ScriptModel *script, const char *text, gsize len, guint number,
                            const AcrModelOptions *options, GError **error)
{
    g_autoptr(AcrJson) json = acr_json_parse(text, len, error);
    Line line = {.number = number};
    const char *label = acr_json_get_string(json, "agent");
    const char *task = acr_json_get_string(json, "instance_id");
    bool ok = json && read_line(json, &line, error);
    if (ok && options->labels && !g_strv_contains(options->labels, label)) {
        g_autofree char *shown = acr_redact_line(label, NULL, 100);
        ok = refuse(error, "unknown agent '%s'", shown);
    }
    if (ok && (!task || g_strcmp0(task, options->instance_id) == 0))
        enqueue(queue_of(script, label), &line);
    clear_line(&line);
    return ok;
}

/* Removes the line for the step from the queue, and returns it; NULL if no line fits. *out_left
 * says whether later lines remain. */
static const Line *take_scripted_line(Queue *queue, guint step, bool *out_left)
{
    const Line *line = NULL;
    if (step > 0 && step < queue->step)
        queue->pass++;
    queue->step = step > 0 ? step : queue->step;
    for (; queue->next < queue->lines->len; queue->next++) {
        line = &g_array_index(queue->lines, Line, queue->next);
        /* Skip lines for earlier steps. */
        if (line->step == 0 || (step > 0 && line->pass >= queue->pass && line->step >= step))
            break;
    }
    *out_left = queue->next < queue->lines->len;
    if (!*out_left || (line->step > 0 && line->step != step))
        return NULL;
    queue->next++;
    return line;
}

/* Returns the text of the messages after the model's last answer; owned. */
static char *newest_text(const AcrConversation *conversation)
{
    gsize size = acr_conversation_size(conversation);
    gsize from = size;
    GString *text = g_string_new(NULL);
    while (from > 0 && acr_conversation_message(conversation, from - 1)->role != ACR_ROLE_ASSISTANT)
        from--;
    for (gsize i = from; i < size; i++) {
        g_string_append(text, acr_conversation_message(conversation, i)->content);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

/* Returns the length of the longest beginning of `expected` that occurs in the text `got`, in bytes
 * of whole characters. *out_end is the position in `got` after the beginning. */
static gsize find_beginning(const char *got, gsize got_len, const char *expected,
                            const char **out_end)
{
    gsize low = 0, high = strlen(expected);
    while (low < high) {
        gsize middle = low + (high - low + 1) / 2;
        if (memmem(got, got_len, expected, middle))
            low = middle;
        else
            high = middle - 1;
    }
    while (low > 0 && (expected[low] & 0xC0) == 0x80)
        low--;
    *out_end = (const char *)memmem(got, got_len, expected, low) + low;
    return low;
}

/* Describes the text of the newest messages that differs from the expected text; owned. */
static char *describe_difference(const char *got, gsize got_len, const char *expected)
{
    const char *end = NULL;
    gsize alike = find_beginning(got, got_len, expected, &end);
    g_autofree char *begun = acr_text_quote(got, SHOWN);
    if (alike < MIN_ALIKE)
        return g_strdup_printf("the request contains %s", begun);
    g_autofree char *after = g_strndup(end, strnlen(end, SHOWN / 2)),
                    *rest = g_strndup(expected + alike, strnlen(expected + alike, SHOWN / 2)),
                    *has = acr_text_quote(after, SHOWN), *wanted = acr_text_quote(rest, SHOWN);
    return g_strdup_printf("after %" G_GSIZE_FORMAT " equal bytes the request has %s instead of %s",
                           alike, has, wanted);
}

static bool check_expect(const ScriptModel *script, const Line *line,
                         const AcrModelRequest *request, GError **error)
{
    g_autofree char *got = line->expect ? newest_text(request->conversation) : NULL;
    gsize got_len = got ? strlen(got) : 0;
    for (char **e = line->expect; e && *e; e++) {
        /* use memmem, because strstr is quadratic on periodic text */
        if (!memmem(got, got_len, *e, strlen(*e))) {
            g_autofree char *missing = acr_text_quote(*e, SHOWN),
                            *shown = describe_difference(got, got_len, *e);
            return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_EXPECT,
                                 "script '%s', line %u: the request to agent '%s' (round %u) lacks "
                                 "%s; %s",
                                 script->path, line->number, request->label, request->step, missing,
                                 shown);
        }
    }
    return true;
}

static bool script_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                            GError **error)
{
    ScriptModel *script = (ScriptModel *)model;
    bool left = false;
    if (acr_interrupted(script->interrupt))
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_INTERRUPTED, "interrupted");
    const Line *line = take_scripted_line(queue_of(script, request->label), request->step, &left);
    if (!line && !left)
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP,
                             "script '%s' has no more lines for agent '%s'", script->path,
                             request->label);
    if (line && !check_expect(script, line, request, error))
        return false;
    *out = (AcrModelAnswer){
        .content = g_strdup(line ? line->content : ""),
        .finish = g_strdup("stop"),
        .usage = ACR_USAGE_UNKNOWN,
    };
    out->usage.cost_pico = 0;
    acr_model_answer_split(out);
    return true;
}

static void script_skip(AcrModel *model, const AcrModelRequest *request)
{
    bool left = false;
    take_scripted_line(queue_of((ScriptModel *)model, request->label), request->step, &left);
}

AcrModel *acr_script_parse(const char *text, gsize len, const char *path,
                           const AcrModelOptions *options, GError **error)
{
    static const AcrModelOps ops = {
        .complete = script_complete, .free = script_free, .skip = script_skip};
    ScriptModel *script = g_new0(ScriptModel, 1);
    g_autoptr(AcrModel) model = &script->base;
    guint number = 0;
    model->ops = &ops;
    model->name = g_strconcat("script:", path, NULL);
    script->path = model->name + strlen("script:");
    script->interrupt = options->interrupt;
    script->queues = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_queue);
    for (const char *at = text, *end = text + len; at < end;) {
        const char *feed = memchr(at, '\n', (gsize)(end - at));
        gsize line_len = (gsize)((feed ? feed : end) - at);
        g_autoptr(GError) local = NULL;
        gsize blank = 0;
        number++;
        while (blank < line_len && g_ascii_isspace(at[blank]))
            blank++;
        if (blank < line_len && !add_script_line(script, at, line_len, number, options, &local))
            return ACR_NULL(refuse(error, "script '%s' is malformed at line %u: %s", path, number,
                                   local->message));
        at += line_len + (feed ? 1 : 0);
    }
    return g_steal_pointer(&model);
}

AcrModel *acr_script_model_new(const char *path, const AcrModelOptions *options, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_SCRIPT_MAX_BYTES, &local);
    if (bytes)
        return acr_script_parse(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), path,
                                options, error);
    return ACR_NULL(refuse(error, "cannot read script '%s': %s", path, local->message));
}
