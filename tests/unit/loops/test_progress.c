/* Tests of progress events: their JSON, the totals that they add up to, and the note that is read
 * back. */
#include "loops/progress.h"
#include "unit/cases.h"

#include <string.h>

#define TOLD(...) ((AcrProgressEvent){.time_ms = 5, __VA_ARGS__})

TEST("/loops/progress", an_event_has_the_members_of_its_kind)
{
    g_autoptr(AcrJson) result = acr_json_new_object();
    const struct {
        AcrProgressEvent event;
        const char *json;
    } rows[] = {
        {TOLD(.kind = ACR_PROGRESS_STAGE, .stage = "patch", .attempt = 1, .number = 2),
         "{\"event\":\"stage\",\"time_ms\":5,\"stage\":\"patch\",\"attempt\":1,\"number\":2}"},
        {TOLD(.kind = ACR_PROGRESS_NOTE, .text = "a"), "{\"event\":\"note\",\"time_ms\":5,\"text\":\"a\"}"},
        {TOLD(.kind = ACR_PROGRESS_WARNING, .text = "a"), "{\"event\":\"warning\",\"time_ms\":5,\"text\":\"a\"}"},
        {TOLD(.kind = ACR_PROGRESS_SPENT, .spent = {1, 2, -1, 4}),
         "{\"event\":\"spent\",\"time_ms\":5,\"calls\":1,\"tokens\":2,\"cost_microusd\":-1,"
         "\"charged_microusd\":4}"},
        {TOLD(.kind = ACR_PROGRESS_RESULT, .result = result),
         "{\"event\":\"result\",\"time_ms\":5,\"error\":null,\"result\":{}}"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(AcrJson) json = acr_progress_to_json(&rows[i].event);
        g_autofree char *text = acr_json_print(json);
        g_assert_cmpstr(text, ==, rows[i].json);
    }
}

TEST("/loops/progress", what_the_events_come_to_is_read_back)
{
    static const char note[] = "{\"stage\":\"search\",\"attempt\":0,\"number\":2,\"stage_ms\":5,"
                               "\"spent\":{\"calls\":3,\"tokens\":9,\"cost_microusd\":7,"
                               "\"charged_microusd\":8}}";
    g_auto(AcrDoing) doing = {0}, read = {0};
    g_autoptr(AcrJson) json = acr_json_new_object(), again = acr_json_new_object();
    g_assert_false(acr_doing_has_begun(&doing));
    g_assert_true(acr_doing_take(&doing, &TOLD(.kind = ACR_PROGRESS_STAGE, .stage = "index")));
    g_assert_true(acr_doing_take(&doing, &TOLD(.kind = ACR_PROGRESS_STAGE, .stage = "search", .number = 2)));
    g_assert_true(acr_doing_take(&doing, &TOLD(.kind = ACR_PROGRESS_SPENT, .spent = {3, 9, 7, 8})));
    g_assert_false(acr_doing_take(&doing, &TOLD(.kind = ACR_PROGRESS_NOTE, .text = "a")));
    acr_doing_to_json(&doing, json);
    acr_doing_from_json(json, &read);
    acr_doing_to_json(&read, again);
    assert_text(acr_json_print(json), note);
    assert_text(acr_json_print(again), note);
    g_autofree char *text = acr_doing_text(&read, acr_now_ms());
    g_assert_cmpstr(text, ==, "round 2: search · 0 s");
}

static void check_text(const AcrDoing *doing, const char *text)
{
    assert_text(acr_doing_text(doing, 0), text);
}

TEST("/loops/progress", an_answer_is_awaited_until_something_else_holds)
{
    const gint64 now = acr_now_ms();
    g_auto(AcrDoing) doing = {0};
    AcrProgressEvent stage = {.kind = ACR_PROGRESS_STAGE, .time_ms = now, .stage = "analyse", .number = 2};
    AcrProgressEvent waiting = {.kind = ACR_PROGRESS_WAITING, .time_ms = now, .since_ms = now};
    acr_doing_take(&doing, &stage);
    acr_doing_take(&doing, &waiting);
    check_text(&doing, "round 2: analyse · 0 s");
    waiting.since_ms = now - 14500;
    acr_doing_take(&doing, &waiting);
    check_text(&doing, "round 2: analyse · waiting for an answer · 14 s");
    waiting.tokens = 671;
    acr_doing_take(&doing, &waiting);
    check_text(&doing, "round 2: analyse · waiting for an answer · 671 tokens · 14 s");
    acr_doing_take(&doing, &TOLD(.kind = ACR_PROGRESS_NOTE, .text = "a"));
    check_text(&doing, "round 2: analyse · waiting for an answer · 671 tokens · 14 s");
    acr_doing_take(&doing, &TOLD(.kind = ACR_PROGRESS_SPENT, .spent = {1, 1, 1, 1}));
    check_text(&doing, "round 2: analyse · 0 s");
}

TEST("/loops/progress", a_hostile_note_is_bounded)
{
    static const char *const notes[] = {
        "{}", "3", "{\"stage\":7,\"spent\":4}",
        "{\"stage\":\"\",\"stage_ms\":-9223372036854775808,\"number\":-1,\"attempt\":1e99,"
        "\"spent\":{\"calls\":9223372036854775807,\"tokens\":-9}}"};
    for (guint i = 0; i < G_N_ELEMENTS(notes); i++) {
        g_auto(AcrDoing) doing = {0};
        g_autoptr(AcrJson) json = acr_json_parse(notes[i], strlen(notes[i]), NULL);
        acr_doing_from_json(json, &doing);
        assert_text(acr_doing_text(&doing, 0), "");
        g_assert_cmpint(acr_doing_spent(&doing)->calls, <=, 1ll << 45);
        g_assert_cmpint(acr_doing_spent(&doing)->tokens, >=, -1);
    }
}

TEST("/loops/progress", words_of_a_line)
{
    const struct {
        AcrProgressEvent event;
        AcrShown shown;
        const char *words;
    } rows[] = {{TOLD(.kind = ACR_PROGRESS_STAGE, .stage = "patch", .attempt = 1, .number = 2), ACR_SHOWN_AS_STEP,
                 "attempt 2, try 2: patch"},
                {TOLD(.kind = ACR_PROGRESS_TASK, .task = "a", .text = "patch", .ended = 1, .total = 3, .left_ms = 65000,
                      .left_microusd = 20000),
                 ACR_SHOWN_LOGGED, "1/3 a: patch, about 1 min 5 s and 0.02 USD to go"},
                {TOLD(.kind = ACR_PROGRESS_TASK, .task = "a", .text = "patch", .ended = 2, .total = 3, .left_ms = 999),
                 ACR_SHOWN_LOGGED, "2/3 a: patch"},
                {TOLD(.kind = ACR_PROGRESS_GRADED, .task = "a", .text = "error: why", .is_bad = true, .ended = 3,
                      .total = 3, .left_ms = -1),
                 ACR_SHOWN_ANYWHERE, "graded 3/3 a: error: why"},
                {TOLD(.kind = ACR_PROGRESS_SPENT, .spent = {5, 9, -1, 7}), ACR_SHOWN_NOWHERE,
                 "5 calls, 9 tokens, 0.0000 USD charged"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *words = acr_progress_words(&rows[i].event);
        g_assert_cmpstr(words, ==, rows[i].words);
        g_assert_cmpint(acr_progress_shown(&rows[i].event), ==, rows[i].shown);
    }
}

TEST("/loops/progress", a_forecast_grows_while_no_task_ends)
{
    gint64 now = acr_now_ms();
    g_assert_cmpint(acr_forecast_moved(86000, 60000, now - 1000), ==, 86000);
    g_assert_cmpint(acr_forecast_moved(86000, 60000, now - 300000), >=, 86000 + 240000);
}
