/* Tests of the recorded model, in front of a model that counts its calls. Journals are real files,
 * which each pass reads again from the disk. */
#include <string.h>

#include "test_task.h"

/* ---- A model with given answers -----------------------------------------------------------------
 */

typedef struct {
    AcrModel model;
    const char *const *answers; /* "!NAME" fails with the class NAME */
    guint *calls, *skips;       /* borrowed */
    guint next;
} Fake;

static AcrLlmError class_of(const char *name)
{
    for (guint code = 0; code < ACR_LLM_ERRORS; code++)
        if (strcmp(acr_llm_error_name(code), name) == 0)
            return code;
    g_assert_not_reached();
}

static bool fake_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out, GError **error)
{
    Fake *fake = (Fake *)model;
    const char *answer = fake->answers[fake->next++];
    g_assert_nonnull(answer);
    ++*fake->calls;
    if (answer[0] == '!') {
        g_set_error(error, ACR_LLM_ERROR, class_of(answer + 1), "it went wrong: %s", answer + 1);
        return false;
    }
    *out = (AcrModelAnswer){.content = g_strdup(answer),
                            .finish = g_strdup("stop"),
                            .usage = {.input = 100, .cached = -1, .output = 7, .cost_pico = 5000000}};
    return true;
}

static void fake_skip(AcrModel *model, const AcrModelRequest *request)
{
    Fake *fake = (Fake *)model;
    fake->next++;
    ++*fake->skips;
}

static void fake_free(AcrModel *model)
{
    g_free(model->name);
    g_free(model);
}

/* ---- One pass over a journal --------------------------------------------------------------------
 */

typedef struct {
    AcrJournal *journal;
    AcrCost *cost;
    AcrRecorder *recorder;
    AcrModel *model;
    guint calls, skips;
} Pass;

/* Begins a pass. If `answers` is NULL, the pass is a replay without a live model. */
static void begin(Pass *pass, const Place *place, const char *const *answers)
{
    static const AcrModelOps ops = {.complete = fake_complete, .free = fake_free, .skip = fake_skip};
    g_autofree char *path = place_path(place, "journal.jsonl");
    g_autoptr(GError) error = NULL;
    Fake *fake = answers ? g_new0(Fake, 1) : NULL;
    memset(pass, 0, sizeof *pass);
    if (fake)
        *fake = (Fake){.model = {.ops = &ops, .name = g_strdup("fake/one")},
                       .answers = answers,
                       .calls = &pass->calls,
                       .skips = &pass->skips};
    pass->journal = acr_journal_open(path, answers ? ACR_JOURNAL_APPEND : ACR_JOURNAL_READ, &error);
    g_assert_no_error(error);
    pass->cost = acr_cost_new();
    pass->recorder = acr_recorder_new(pass->journal, pass->cost, NULL, NULL);
    pass->model = acr_recorded_model_new(pass->recorder, "fake/one", fake ? &fake->model : NULL, 0);
}

static void end(Pass *pass)
{
    acr_model_free(pass->model);
    acr_recorder_free(pass->recorder);
    acr_cost_free(pass->cost);
    acr_journal_free(pass->journal);
}

/* Asks, and adds a successful answer to the conversation, as the loops do. Returns the error's
 * code, or -1. */
static int ask(Pass *pass, AcrConversation *conversation, const char *expected)
{
    AcrModelRequest request = {.label = "search", .step = 2, .conversation = conversation};
    g_auto(AcrModelAnswer) answer = {0};
    g_autoptr(GError) error = NULL;
    if (!acr_model_complete(pass->model, &request, &answer, &error)) {
        g_assert_null(expected);
        g_assert_true(error->domain == ACR_LLM_ERROR || error->domain == ACR_JOURNAL_ERROR);
        return error->code;
    }
    g_assert_cmpstr(answer.content, ==, expected);
    acr_conversation_add(conversation, ACR_ROLE_ASSISTANT, answer.content);
    return -1;
}

static AcrConversation *new_conversation(const char *name)
{
    AcrConversation *conversation = acr_conversation_new(name);
    acr_conversation_add(conversation, ACR_ROLE_SYSTEM, "be brief");
    acr_conversation_add(conversation, ACR_ROLE_USER, "first");
    return conversation;
}

/* The journal's record of that number; owned. */
static AcrJson *record(const Place *place, guint number)
{
    g_autofree char *text = place_read(place, "journal.jsonl");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), >, number);
    AcrJson *json = acr_json_parse(lines[number], strlen(lines[number]), NULL);
    g_assert_nonnull(json);
    return json;
}

static guint records(const Place *place)
{
    g_autofree char *text = place_read(place, "journal.jsonl");
    guint n = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

/* The record must contain `n` messages, beginning with number `from`, and the last one must have
 * this text. */
static void check_request(const Place *place, guint number, gint64 from, gsize n, const char *last)
{
    g_autoptr(AcrJson) json = record(place, number);
    const AcrJson *request = acr_json_get(json, "request"), *messages = acr_json_get(request, "messages"),
                  *newest = NULL;
    g_assert_cmpint(acr_json_get_int(request, "from", -1), ==, from);
    g_assert_cmpuint(acr_json_size(messages), ==, n);
    for (const AcrJson *at = acr_json_first(messages); at; at = acr_json_next(at))
        newest = at;
    g_assert_cmpstr(acr_json_get_string(newest, "content"), ==, last);
}

/* ---- The contents of a record -------------------------------------------------------------------
 */

PLACE_TEST("/task/recorded_model", a_record_holds_what_is_new)
{
    static const char *const answers[] = {"one", "two", "three", NULL};
    g_autoptr(AcrConversation) talk = new_conversation("talk");
    Pass pass;
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    acr_conversation_add(talk, ACR_ROLE_USER, "second");
    g_assert_cmpint(ask(&pass, talk, "two"), ==, -1);
    acr_conversation_add(talk, ACR_ROLE_USER, "third");
    acr_conversation_add(talk, ACR_ROLE_USER, "and more");
    g_assert_cmpint(ask(&pass, talk, "three"), ==, -1);
    g_assert_cmpuint(pass.calls, ==, 3);
    end(&pass);
    check_request(place, 0, 0, 2, "first");
    check_request(place, 1, 3, 1, "second"); /* the answer "one" is in its own record */
    check_request(place, 2, 5, 2, "and more");
}

PLACE_TEST("/task/recorded_model", conversations_are_told_apart)
{
    static const char *const answers[] = {"one", "two", "three", NULL};
    g_autoptr(AcrConversation) talk = new_conversation("talk"), other = new_conversation("other");
    Pass pass;
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    g_assert_cmpint(ask(&pass, other, "two"), ==, -1);
    acr_conversation_add(talk, ACR_ROLE_USER, "second");
    g_assert_cmpint(ask(&pass, talk, "three"), ==, -1);
    end(&pass);
    check_request(place, 1, 0, 2, "first");
    check_request(place, 2, 3, 1, "second");
}

PLACE_TEST("/task/recorded_model", a_replaced_message_is_told_again_from_there)
{
    static const char *const answers[] = {"one", "two", "three", NULL};
    g_autoptr(AcrConversation) talk = new_conversation("talk");
    Pass pass;
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    acr_conversation_add(talk, ACR_ROLE_USER, "second");
    acr_conversation_replace(talk, 1, "shortened");
    g_assert_cmpint(ask(&pass, talk, "two"), ==, -1);
    acr_conversation_add(talk, ACR_ROLE_USER, "third");
    g_assert_cmpint(ask(&pass, talk, "three"), ==, -1);
    end(&pass);
    check_request(place, 1, 1, 3, "second"); /* the messages "shortened", "one" and "second" */
    check_request(place, 2, 5, 1, "third");
}

PLACE_TEST("/task/recorded_model", an_answer_that_is_not_kept_is_told)
{
    static const char *const answers[] = {"one", "two", NULL};
    g_autoptr(AcrConversation) talk = new_conversation("talk"), again = new_conversation("talk");
    Pass pass;
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    acr_conversation_add(again, ACR_ROLE_ASSISTANT, "something else");
    acr_conversation_add(again, ACR_ROLE_USER, "second");
    g_assert_cmpint(ask(&pass, again, "two"), ==, -1);
    end(&pass);
    check_request(place, 1, 2, 2, "second");
}

/* ---- Answering from the journal -----------------------------------------------------------------
 */

PLACE_TEST("/task/recorded_model", what_is_recorded_is_not_asked_again)
{
    static const char *const first[] = {"one", NULL}, *const second[] = {"not asked", "two", NULL};
    Pass pass;
    for (guint round = 0; round < 2; round++) {
        g_autoptr(AcrConversation) talk = new_conversation("talk");
        begin(&pass, place, round == 0 ? first : second);
        g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
        acr_conversation_add(talk, ACR_ROLE_USER, "second");
        if (round == 1)
            g_assert_cmpint(ask(&pass, talk, "two"), ==, -1);
        g_assert_cmpuint(pass.calls, ==, 1);
        g_assert_cmpuint(pass.skips, ==, round); /* the script behind the model has advanced */
        g_assert_cmpint(acr_cost_total(pass.cost)->usage.input, ==, round == 0 ? 100 : 200);
        end(&pass);
    }
    check_request(place, 1, 3, 1, "second");
}

PLACE_TEST("/task/recorded_model", a_replay_ends_where_the_journal_does)
{
    static const char *const answers[] = {"one", NULL};
    g_autoptr(AcrConversation) talk = new_conversation("talk"), again = new_conversation("talk");
    Pass pass;
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    end(&pass);
    begin(&pass, place, NULL);
    g_assert_cmpint(ask(&pass, again, "one"), ==, -1);
    acr_conversation_add(again, ACR_ROLE_USER, "second");
    g_assert_cmpint(ask(&pass, again, NULL), ==, ACR_JOURNAL_ERROR_ENDED);
    end(&pass);
}

PLACE_TEST("/task/recorded_model", a_different_request_is_a_divergence)
{
    static const char *const answers[] = {"one", NULL};
    g_autoptr(AcrConversation) talk = new_conversation("talk"), again = new_conversation("talk");
    Pass pass;
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    end(&pass);
    acr_conversation_replace(again, 1, "another question");
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, again, NULL), ==, ACR_JOURNAL_ERROR_DIVERGED);
    g_assert_cmpuint(pass.calls, ==, 0);
    end(&pass);
}

/* ---- Failures -----------------------------------------------------------------------------------
 */

/* A failure must be recorded, and must come again from the journal without the model. */
static void check_recorded(const Place *place, const char *name, int code)
{
    const char *answers[] = {NULL, "after it", NULL};
    g_autofree char *failure = g_strconcat("!", name, NULL);
    Pass pass;
    answers[0] = failure;
    for (guint round = 0; round < 2; round++) {
        g_autoptr(AcrConversation) talk = new_conversation("talk");
        begin(&pass, place, answers + round);
        g_assert_cmpint(ask(&pass, talk, NULL), ==, code);
        g_assert_cmpuint(pass.calls, ==, 1 - round);
        g_assert_cmpuint(pass.skips, ==, 0); /* a failure must not use up a line of the script */
        g_assert_cmpint(acr_cost_total(pass.cost)->usage.input, ==, 0);
        acr_conversation_replace(talk, 1, "shorter");
        if (round == 1)
            g_assert_cmpint(ask(&pass, talk, "after it"), ==, -1);
        end(&pass);
    }
    check_request(place, 1, 1, 1, "shorter");
}

PLACE_TEST("/task/recorded_model", an_overflow_is_recorded)
{
    check_recorded(place, "context_overflow", ACR_LLM_ERROR_CONTEXT_OVERFLOW);
}

PLACE_TEST("/task/recorded_model", a_used_up_script_is_recorded)
{
    check_recorded(place, "used_up", ACR_LLM_ERROR_USED_UP);
}

PLACE_TEST("/task/recorded_model", other_failures_are_asked_again)
{
    static const AcrLlmError codes[] = {ACR_LLM_ERROR_NETWORK,     ACR_LLM_ERROR_AUTH,   ACR_LLM_ERROR_RATE_LIMIT,
                                        ACR_LLM_ERROR_INTERRUPTED, ACR_LLM_ERROR_EXPECT, ACR_LLM_ERROR_CEILING};
    const char *answers[] = {NULL, "one", NULL};
    Pass pass;
    for (guint i = 0; i < G_N_ELEMENTS(codes); i++) {
        g_autoptr(AcrConversation) talk = new_conversation("talk");
        g_autofree char *failure = g_strconcat("!", acr_llm_error_name(codes[i]), NULL);
        answers[0] = failure;
        begin(&pass, place, answers);
        g_assert_cmpint(ask(&pass, talk, NULL), ==, codes[i]);
        end(&pass);
        g_assert_cmpuint(records(place), ==, 0);
    }
    g_autoptr(AcrConversation) talk = new_conversation("talk");
    begin(&pass, place, answers + 1);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    end(&pass);
    check_request(place, 0, 0, 2, "first");
}

PLACE_TEST("/task/recorded_model", a_failed_call_leaves_what_is_known_right)
{
    static const char *const answers[] = {"one", "!context_overflow", "two", NULL};
    g_autoptr(AcrConversation) talk = new_conversation("talk");
    Pass pass;
    begin(&pass, place, answers);
    g_assert_cmpint(ask(&pass, talk, "one"), ==, -1);
    acr_conversation_add(talk, ACR_ROLE_USER, "second");
    g_assert_cmpint(ask(&pass, talk, NULL), ==, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    acr_conversation_replace(talk, 3, "short");
    g_assert_cmpint(ask(&pass, talk, "two"), ==, -1);
    end(&pass);
    check_request(place, 2, 3, 1, "short");
}

PLACE_TEST("/task/recorded_model", an_answer_of_any_text_comes_back_as_it_was)
{
    static const char *const answers[] = {"", "\xc3\xa9 \xe2\x80\xa8 \"\\\n\t\x01", NULL};
    Pass pass;
    for (guint round = 0; round < 2; round++) {
        g_autoptr(AcrConversation) talk = new_conversation("talk");
        begin(&pass, place, round == 0 ? answers : NULL);
        g_assert_cmpint(ask(&pass, talk, answers[0]), ==, -1);
        acr_conversation_add(talk, ACR_ROLE_USER, "second");
        g_assert_cmpint(ask(&pass, talk, answers[1]), ==, -1);
        end(&pass);
    }
}
