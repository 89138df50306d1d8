/* The model that all agents call. It takes answers from the journal first, and then from the real
 * model. The request in a record contains only the new messages of its conversation, so that the
 * journal grows linearly with the run. Earlier messages are identified by digests; the model's own
 * answers are in earlier records. */
#include "task/recorded.h"

#include <string.h>

struct AcrRecorder {
    AcrJournal *journal;
    AcrCost *cost;
    const AcrBudget *budget;
    const AcrProgress *progress;
    AcrExtensions *extensions; /* the extensions that get each answer; NULL if there are none */
    AcrSearch *search;
    GHashTable *known; /* conversation -> GPtrArray with the digests of its messages */
};

typedef struct {
    AcrModel model;
    AcrRecorder *recorder;
    AcrModel *inner;
    AcrWindow window;
} RecordedModel;

AcrRecorder *acr_recorder_new(AcrJournal *journal, AcrCost *cost, const AcrBudget *budget,
                              const AcrProgress *progress)
{
    AcrRecorder *recorder = g_new0(AcrRecorder, 1);
    recorder->journal = journal;
    recorder->cost = cost;
    recorder->budget = budget;
    recorder->progress = progress;
    recorder->known =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    return recorder;
}

void acr_recorder_observe(AcrRecorder *recorder, AcrExtensions *extensions, AcrSearch *search)
{
    recorder->extensions = extensions;
    recorder->search = search;
}

void acr_recorder_free(AcrRecorder *recorder)
{
    if (!recorder)
        return;
    g_hash_table_unref(recorder->known);
    g_free(recorder);
}

/* ---- Requests ---- */

static char *digest(AcrRole role, const char *content)
{
    g_autofree char *hash = acr_sha256_hex(content, strlen(content));
    return g_strdup_printf("%s:%s", acr_role_name(role), hash);
}

static GPtrArray *known_messages(AcrRecorder *recorder, const char *conversation)
{
    GPtrArray *known = g_hash_table_lookup(recorder->known, conversation);
    if (!known) {
        known = g_ptr_array_new_with_free_func(g_free);
        g_hash_table_insert(recorder->known, g_strdup(conversation), known);
    }
    return known;
}

/* Sets `known` to the digests of the conversation's messages. Returns the number of leading
 * messages that were already in `known`. */
static gsize learn(GPtrArray *known, const AcrConversation *conversation)
{
    gsize size = acr_conversation_size(conversation), same = 0;
    bool differs = false;
    for (gsize i = 0; i < size; i++) {
        const AcrMessage *message = acr_conversation_message(conversation, i);
        g_autofree char *hash = digest(message->role, message->content);
        differs = differs || i >= known->len || strcmp(known->pdata[i], hash) != 0;
        same += !differs;
        if (differs) {
            if (i < known->len)
                g_ptr_array_set_size(known, (gint)i);
            g_ptr_array_add(known, g_steal_pointer(&hash));
        }
    }
    g_ptr_array_set_size(known, (gint)size);
    return same;
}

/* One call of a model. `is_live` means that the real model answered. */
typedef struct {
    RecordedModel *self;
    const AcrModelRequest *request;
    bool is_live;
} ModelCall;

static AcrJson *encode_request(void *call, GError **error)
{
    RecordedModel *self = ((ModelCall *)call)->self;
    const AcrModelRequest *request = ((ModelCall *)call)->request;
    const char *name = acr_conversation_name(request->conversation);
    gsize from = learn(known_messages(self->recorder, name), request->conversation);
    AcrJson *json =
        acr_json_of(ACR_STRING("model", self->model.name), ACR_STRING("agent", request->label),
                    ACR_INT("round", request->step), NULL);
    acr_json_set_bool(json, "json", request->json);
    if (request->tools)
        acr_json_set_bool(json, "tools", true);
    acr_json_set_string(json, "conversation", name);
    acr_json_set_int(json, "from", (gint64)from);
    acr_json_set(json, "messages", acr_conversation_to_json(request->conversation, from));
    return json;
}

/* ---- Answers ---- */

/* Converts a failure to JSON. `window` is the context size in tokens that the error states,
 * otherwise 0; `sent` says whether a request was sent. */
static AcrJson *failure_to_json(const GError *failure, gint64 window, bool sent)
{
    AcrJson *json = acr_json_new_object();
    AcrJson *inside = acr_json_of(ACR_STRING("class", acr_llm_error_name(failure->code)),
                                  ACR_STRING("message", failure->message), NULL);
    if (window > 0)
        acr_json_set_int(inside, "window", window);
    if (!sent)
        acr_json_set_bool(inside, "sent", false);
    acr_json_set(json, "error", inside);
    return json;
}

/* Returns whether to record a failure: only if the next steps of the run depend on it. Other
 * failures end the run, and a resumed run repeats the call. */
static bool is_recorded(const GError *failure)
{
    return g_error_matches(failure, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW) ||
           g_error_matches(failure, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP);
}

static bool is_overflow(const AcrJson *failure)
{
    return g_strcmp0(acr_json_get_string(failure, "class"),
                     acr_llm_error_name(ACR_LLM_ERROR_CONTEXT_OVERFLOW)) == 0;
}

/* Sets the error that a recorded failure describes; always returns false. */
static bool fail_as_recorded(const AcrJson *failure, GError **error)
{
    const char *name = acr_json_get_string(failure, "class"),
               *message = acr_json_get_string(failure, "message");
    gint code = ACR_LLM_ERROR_FAILED;
    for (gint i = 0; i < ACR_LLM_ERRORS; i++)
        if (g_strcmp0(name, acr_llm_error_name(i)) == 0)
            code = i;
    return acr_set_error(error, ACR_LLM_ERROR, code, "%s",
                         message ? message : "a recorded failure");
}

/* ---- The model ---- */

/* Adds the answer to the known messages, because the next request will contain it. */
static void expect_answer(RecordedModel *self, const AcrModelRequest *request,
                          const AcrModelAnswer *answer)
{
    GPtrArray *known = known_messages(self->recorder, acr_conversation_name(request->conversation));
    g_autofree char *text = acr_model_answer_text(answer);
    g_ptr_array_add(known, digest(ACR_ROLE_ASSISTANT, text));
    acr_window_learn_answer(&self->window, request->conversation, &answer->usage);
}

static void count_call(const ModelCall *call, const AcrJson *record, bool is_overflow)
{
    AcrRecorder *recorder = call->self->recorder;
    AcrCostSum sum;
    acr_record_cost(record, !call->is_live, &sum);
    sum.overflows = is_overflow;
    sum.context = is_overflow ? call->self->window.tokens : 0;
    acr_cost_add(recorder->cost, call->request->label,
                 acr_conversation_name(call->request->conversation), &sum);
    acr_progress_tell(recorder->progress,
                      (AcrProgressEvent){.kind = ACR_PROGRESS_SPENT,
                                         .spent = acr_cost_spent(acr_cost_total(recorder->cost))});
}

/* Calls the model. Failures that change the next steps of the run are returned as answers, so that
 * the journal records them. */
static AcrJson *ask_live(void *call, AcrJson *time, GError **error)
{
    ModelCall *asked = call;
    RecordedModel *self = asked->self;
    const AcrConversation *conversation = asked->request->conversation;
    AcrModelRequest request = *asked->request;
    g_auto(AcrModelAnswer) answer = {0};
    g_autoptr(GError) failure = NULL;
    if (!self->inner)
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_UNFINISHED,
                                      "the journal ends before the run does"));
    if (!acr_loops_in_time(self->recorder->budget, error))
        return NULL;
    request.room = acr_window_room(&self->window, conversation);
    bool fits = acr_window_fits(&self->window, &request, &failure);
    bool ok = fits && acr_model_complete(self->inner, &request, &answer, &failure);
    if (!ok && !is_recorded(failure)) {
        g_autofree char *line =
            fits ? acr_report_charge_text(acr_model_report(self->inner), failure) : NULL;
        acr_progress_warn(self->recorder->progress, line);
        return ACR_NULL(acr_pass_error(error, &failure));
    }
    acr_json_set_int(time, "ended_s", g_get_real_time() / G_USEC_PER_SEC);
    asked->is_live = true;
    const AcrModelReport *report = fits ? acr_model_report(self->inner) : NULL;
    AcrJson *record = ok ? acr_record_answer(&answer)
                         : failure_to_json(failure, report ? report->window : 0, fits);
    if (report)
        acr_record_add_tries(record, report);
    return record;
}

static bool read_model_answer(void *call, const AcrJson *record, void *out, GError **error)
{
    const ModelCall *asked = call;
    RecordedModel *self = asked->self;
    const AcrJson *failure = acr_json_get(record, "error");
    bool is_over = failure && is_overflow(failure);
    if (is_over && acr_json_get_bool(failure, "sent", true))
        acr_window_learn_refusal(&self->window, asked->request->conversation,
                                 acr_json_get_int(failure, "window", 0));
    count_call(asked, record, is_over);
    if (!failure) {
        if (self->inner && !asked->is_live)
            acr_model_skip(self->inner, asked->request);
        acr_record_read_answer(record, out);
        return true;
    }
    return fail_as_recorded(failure, error);
}

static const AcrJournalPort model_port = {
    .event = "model", .encode = encode_request, .live = ask_live, .decode = read_model_answer};

/* Warns the user if a live answer was cut off at the model's token limit. */
static void warn_of_cut(const ModelCall *call, const AcrModelAnswer *answer)
{
    g_autofree char *line = g_strdup_printf("model '%s' was cut off after %" G_GINT64_FORMAT
                                            " tokens: limit answers with "
                                            "--max-answer-tokens, or use another model",
                                            call->self->model.name, answer->usage.output);
    if (call->is_live && g_strcmp0(answer->finish, "length") == 0)
        acr_progress_warn(call->self->recorder->progress, line);
}

static bool tell_answer(AcrRecorder *recorder, const AcrModelRequest *request,
                        const AcrModelAnswer *answer, GError **error)
{
    g_autoptr(AcrJson) data = acr_json_new_object();
    acr_json_set_string(data, "role", request->label);
    g_autofree char *text = acr_model_answer_text(answer);
    acr_json_set_string(data, "text", text);
    return acr_extensions_tell(recorder->extensions, recorder->search, "answer", data, NULL, NULL,
                               error);
}

static bool complete_recorded(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                              GError **error)
{
    RecordedModel *self = (RecordedModel *)model;
    ModelCall call = {self, request, false};
    if (!acr_recorded_call(self->recorder->journal, &model_port, &call, out, error))
        return false;
    warn_of_cut(&call, out);
    expect_answer(self, request, out);
    return tell_answer(self->recorder, request, out, error);
}

static void free_recorded(AcrModel *model)
{
    RecordedModel *self = (RecordedModel *)model;
    acr_model_free(self->inner);
    ACR_FREE(self->model.name, self);
}

AcrModel *acr_recorded_model_new(AcrRecorder *recorder, const char *name, AcrModel *inner,
                                 gint64 window)
{
    static const AcrModelOps ops = {.complete = complete_recorded, .free = free_recorded};
    RecordedModel *self = g_new0(RecordedModel, 1);
    self->model.ops = &ops;
    self->model.name = g_strdup(name);
    self->recorder = recorder;
    self->inner = inner;
    acr_window_init(&self->window, window);
    return &self->model;
}
