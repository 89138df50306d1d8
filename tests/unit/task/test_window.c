/* Tests of the context window: the estimated tokens of a conversation, what answers and refusals
 * teach, and that a call that does not fit is recorded as a refusal without being sent. */
#include <string.h>

#include "test_task.h"

/* A conversation of one message with this many bytes. */
static AcrConversation *talk_of(gsize bytes)
{
    AcrConversation *talk = acr_conversation_new("talk");
    g_autofree char *text = g_strnfill(bytes, 'a');
    acr_conversation_add(talk, ACR_ROLE_USER, text);
    return talk;
}

static gint64 estimate(const AcrWindow *window, gsize bytes)
{
    g_autoptr(AcrConversation) talk = talk_of(bytes);
    return acr_window_estimate(window, talk);
}

static bool fits(const AcrWindow *window, gsize bytes, guint max_tokens)
{
    g_autoptr(AcrConversation) talk = talk_of(bytes);
    g_autoptr(GError) error = NULL;
    AcrModelRequest request = {.label = "search", .conversation = talk, .max_tokens = max_tokens};
    bool ok = acr_window_fits(window, &request, &error);
    if (!ok)
        g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    return ok;
}

static guint room(const AcrWindow *window, gsize bytes)
{
    g_autoptr(AcrConversation) talk = talk_of(bytes);
    return acr_window_room(window, talk);
}

/* ---- Estimates ----------------------------------------------------------------------------------
 */

TEST("/task/window", three_bytes_are_a_token_at_first)
{
    AcrWindow window;
    acr_window_init(&window, 0);
    gint64 tokens = estimate(&window, 30000);
    g_assert_cmpint(tokens, >=, 10000);
    g_assert_cmpint(tokens, <=, 11000);
}

TEST("/task/window", room_is_what_the_conversation_leaves)
{
    AcrWindow window;
    acr_window_init(&window, 0);
    g_assert_cmpuint(room(&window, 3000), ==, 0);
    acr_window_init(&window, 8000);
    g_assert_cmpint(room(&window, 3000), ==, 8000 - estimate(&window, 3000));
    g_assert_cmpuint(room(&window, 300000), ==, 1);
}

TEST("/task/window", the_ratio_is_learnt_from_answers)
{
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    AcrWindow window;
    g_autoptr(AcrConversation) talk = talk_of(40000);
    acr_window_init(&window, 0);
    acr_window_learn_answer(&window, talk, &usage); /* unknown usage teaches nothing */
    gint64 before = estimate(&window, 30000);
    usage.input = 1000;
    usage.cached = 9000;
    for (guint i = 0; i < 20; i++)
        acr_window_learn_answer(&window, talk, &usage);
    g_assert_cmpint(before, >=, 10000);
    g_assert_cmpint(estimate(&window, 40000), >=, 10000);
    g_assert_cmpint(estimate(&window, 40000), <=, 11000);
}

TEST("/task/window", absurd_numbers_are_not_believed)
{
    static const gint64 absurd[] = {1, 9, 1000000000, G_MAXINT64 / 2};
    g_autoptr(AcrConversation) talk = talk_of(40000);
    for (guint i = 0; i < G_N_ELEMENTS(absurd); i++) {
        AcrUsage usage = ACR_USAGE_UNKNOWN;
        AcrWindow window;
        acr_window_init(&window, 0);
        usage.input = absurd[i];
        for (guint n = 0; n < 100; n++)
            acr_window_learn_answer(&window, talk, &usage);
        g_assert_cmpint(estimate(&window, 8000), >=, 1000);
        g_assert_cmpint(estimate(&window, 8000), <=, 8500);
    }
    AcrWindow window;
    acr_window_init(&window, 0);
    acr_window_learn_refusal(&window, talk, 10);
    g_assert_cmpint(window.tokens, ==, 0);
}

TEST("/task/window", a_refusal_of_what_seemed_to_fit_is_learnt_from)
{
    AcrWindow window;
    g_autoptr(AcrConversation) talk = talk_of(6000);
    acr_window_init(&window, 0);
    gint64 before = estimate(&window, 6000);
    g_assert_cmpint(before, <, 4096);
    acr_window_learn_refusal(&window, talk, 4096);
    g_assert_cmpint(window.tokens, ==, 4096);
    g_assert_cmpint(estimate(&window, 6000), >, before);
    AcrWindow clear = window;
    g_autoptr(AcrConversation) far_too_long = talk_of(100000);
    acr_window_learn_refusal(&window, far_too_long, 4096);
    g_assert_cmpint(estimate(&window, 6000), ==, estimate(&clear, 6000));
}

/* ---- Whether it fits ----------------------------------------------------------------------------
 */

TEST("/task/window", everything_fits_an_unknown_window)
{
    AcrWindow window;
    acr_window_init(&window, 0);
    g_assert_true(fits(&window, 10000000, 0));
    g_autoptr(AcrConversation) talk = talk_of(100);
    acr_window_learn_refusal(&window, talk, 0); /* the server does not say how many tokens fit */
    g_assert_true(fits(&window, 10000000, 0));
}

TEST("/task/window", room_is_left_for_the_answer)
{
    AcrWindow window;
    acr_window_init(&window, 4096);
    g_assert_true(fits(&window, 8000, 0));   /* about 2,800 and 1,024 tokens */
    g_assert_false(fits(&window, 9500, 0));  /* about 3,330 and 1,024 tokens */
    g_assert_true(fits(&window, 9500, 100)); /* the answer is shorter */
    acr_window_init(&window, 100000);
    /* 94,500 and 4,096 tokens: the room for the answer has a maximum */
    g_assert_true(fits(&window, 270000, 0));
    g_assert_false(fits(&window, 285000, 0));
}

TEST("/task/window", a_given_window_is_not_changed_by_refusals)
{
    AcrWindow window;
    g_autoptr(AcrConversation) talk = talk_of(20000);
    acr_window_init(&window, 8000);
    acr_window_learn_refusal(&window, talk, 128000);
    g_assert_cmpint(window.tokens, ==, 8000);
    acr_window_init(&window, 0);
    acr_window_learn_refusal(&window, talk, 128000);
    g_assert_cmpint(window.tokens, ==, 128000);
}

/* ---- Wrapped around a model ---------------------------------------------------------------------
 */

/* A model that refuses requests of more than 5,000 bytes, and says that 4,096 tokens fit. */
typedef struct {
    AcrModel model;
    guint *calls; /* borrowed */
    AcrModelReport report;
} Narrow;

static bool narrow_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out, GError **error)
{
    Narrow *self = (Narrow *)model;
    bool fit = strlen(acr_conversation_message(request->conversation, 0)->content) <= 5000;
    ++*self->calls;
    self->report.window = fit ? 0 : 4096;
    if (!fit) {
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW, "too long");
        return false;
    }
    *out = (AcrModelAnswer){.content = g_strdup("yes"), .finish = g_strdup("stop"), .usage = ACR_USAGE_UNKNOWN};
    return true;
}

static const AcrModelReport *narrow_report(AcrModel *model)
{
    return &((Narrow *)model)->report;
}

static void narrow_free(AcrModel *model)
{
    g_free(model->name);
    g_free(model);
}

/* Asks with this many bytes; returns the error's code, or -1. */
static int ask(AcrModel *model, gsize bytes)
{
    g_autoptr(AcrConversation) talk = talk_of(bytes);
    g_autoptr(GError) error = NULL;
    g_auto(AcrModelAnswer) answer = {0};
    AcrModelRequest request = {.label = "search", .conversation = talk};
    return acr_model_complete(model, &request, &answer, &error) ? -1 : error->code;
}

/* Asks four times through the journal; returns the number of live calls. */
static guint pass(const Place *place, gint64 given, bool live)
{
    static const AcrModelOps ops = {.complete = narrow_complete, .free = narrow_free, .report = narrow_report};
    g_autofree char *path = place_path(place, "journal.jsonl");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJournal) journal =
        made(acr_journal_open(path, live ? ACR_JOURNAL_APPEND : ACR_JOURNAL_READ, &error), error);
    g_autoptr(AcrCost) cost = acr_cost_new();
    g_autoptr(AcrRecorder) recorder = acr_recorder_new(journal, cost, NULL, NULL);
    guint calls = 0;
    Narrow *narrow = live ? g_new0(Narrow, 1) : NULL;
    if (narrow)
        *narrow = (Narrow){.model = {&ops, g_strdup("narrow")}, .calls = &calls};
    g_autoptr(AcrModel) model = acr_recorded_model_new(recorder, "narrow", narrow ? &narrow->model : NULL, given);
    g_assert_cmpint(ask(model, 20000), ==, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    g_assert_cmpint(ask(model, 15000), ==, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    g_assert_cmpint(ask(model, 6000), ==, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    g_assert_cmpint(ask(model, 4000), ==, -1);
    return calls;
}

PLACE_TEST("/task/window", what_does_not_fit_is_not_sent)
{
    /* 20,000 bytes teach the window; 15,000 then are known not to fit; 6,000 seem to fit. */
    g_assert_cmpuint(pass(place, 0, true), ==, 3);
    g_autofree char *text = place_read(place, "journal.jsonl");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_nonnull(strstr(lines[0], "\"window\":4096"));
    g_assert_null(strstr(lines[0], "\"sent\":false"));
    g_assert_nonnull(strstr(lines[1], "\"sent\":false"));
    g_assert_null(strstr(lines[2], "\"sent\":false"));
    g_assert_cmpuint(pass(place, 0, false), ==, 0); /* the journal gives the same answers */
}

PLACE_TEST("/task/window", a_given_window_spares_the_first_refusal)
{
    g_assert_cmpuint(pass(place, 4096, true), ==, 2);
    g_assert_cmpuint(pass(place, 4096, false), ==, 0);
}

/* Truncates the journal after `n` records, as if the run had been killed there. */
static void cut_journal(const Place *place, guint n)
{
    g_autofree char *text = place_read(place, "journal.jsonl");
    char *end = text;
    for (guint i = 0; i < n; i++)
        end = strchr(end, '\n') + 1;
    *end = '\0';
    place_write(place, "journal.jsonl", text);
}

PLACE_TEST("/task/window", a_run_that_is_gone_on_with_knows_the_window)
{
    g_assert_cmpuint(pass(place, 0, true), ==, 3);
    cut_journal(place, 1);
    /* the second call is not sent this time either */
    g_assert_cmpuint(pass(place, 0, true), ==, 2);
    cut_journal(place, 3);
    g_assert_cmpuint(pass(place, 0, true), ==, 1);
}
