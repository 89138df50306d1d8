/* Tests of scripted answers: which line answers which call, which calls are refused, and the
 * messages if no line is left. */
#include "test_llm.h"

#include <string.h>

static const char *const labels[] = {"search", "extract", "patch", "review", NULL};

static AcrModel *parse(const char *text, const char *instance_id)
{
    g_autoptr(GError) error = NULL;
    const AcrModelOptions options = {.instance_id = instance_id, .labels = labels};
    AcrModel *script = made(acr_script_parse(text, strlen(text), "s.jsonl", &options, &error), error);
    return script;
}

/* The next answer, owned; NULL: the script is used up. */
static char *next(AcrModel *script, const char *agent, guint round)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    g_autoptr(GError) error = NULL;
    AcrModelRequest request = {.label = agent, .step = round, .conversation = c};
    g_auto(AcrModelAnswer) answer = {0};
    acr_conversation_add(c, ACR_ROLE_USER, "hello");
    if (!acr_model_complete(script, &request, &answer, &error)) {
        g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP);
        g_assert_nonnull(strstr(error->message, agent));
        return NULL;
    }
    g_assert_cmpstr(answer.finish, ==, "stop");
    g_assert_cmpint(answer.usage.cost_pico, ==, 0);
    return g_steal_pointer(&answer.content);
}

static void assert_next(AcrModel *script, const char *agent, guint round, const char *expected)
{
    assert_text(next(script, agent, round), expected);
}

static void assert_refused(const char *text, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrModel) script =
        acr_script_parse(text, strlen(text), "s.jsonl", &(AcrModelOptions){.labels = labels}, &error);
    g_assert_null(script);
    g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE);
    if (!strstr(error->message, words))
        g_error("'%s' is not in: %s", words, error->message);
}

TEST("/llm/script", each_agent_takes_its_lines_in_order)
{
    g_autoptr(AcrModel) script = parse("{\"agent\":\"search\",\"content\":\"s1\"}\n"
                                       "\n  \r\n"
                                       "{\"agent\":\"extract\",\"content\":\"e1\"}\r\n"
                                       "{\"agent\":\"search\",\"content\":\"s2\"}",
                                       NULL);
    assert_next(script, "extract", 1, "e1");
    assert_next(script, "search", 1, "s1");
    assert_next(script, "search", 9, "s2");
    assert_next(script, "search", 9, NULL);
    assert_next(script, "search", 9, NULL);
    assert_next(script, "extract", 2, NULL);
    assert_next(script, "patch", 0, NULL);
    assert_next(script, "nobody", 0, NULL);
}

TEST("/llm/script", lines_of_rounds_gone_by_are_skipped_and_missing_ones_are_empty)
{
    g_autoptr(AcrModel) script = parse("{\"agent\":\"search\",\"round\":1,\"content\":\"1a\"}\n"
                                       "{\"agent\":\"search\",\"round\":1,\"content\":\"1b\"}\n"
                                       "{\"agent\":\"search\",\"round\":1,\"content\":\"1c\"}\n"
                                       "{\"agent\":\"search\",\"round\":3,\"content\":\"3a\"}\n",
                                       NULL);
    assert_next(script, "search", 1, "1a");
    assert_next(script, "search", 1, "1b");
    assert_next(script, "search", 2, "");
    assert_next(script, "search", 2, "");
    assert_next(script, "search", 3, "3a");
    assert_next(script, "search", 3, NULL);
    assert_next(script, "search", 4, NULL);
}

/* The extract agent may be asked again within a round, but the file has one line for each round. */
TEST("/llm/script", a_second_try_within_a_round_gets_an_empty_answer)
{
    g_autoptr(AcrModel) script = parse("{\"agent\":\"extract\",\"round\":1,\"content\":\"e1\"}\n"
                                       "{\"agent\":\"extract\",\"round\":2,\"content\":\"e2\"}\n",
                                       NULL);
    assert_next(script, "extract", 1, "e1");
    for (int i = 0; i < 4; i++)
        assert_next(script, "extract", 1, "");
    assert_next(script, "extract", 2, "e2");
    assert_next(script, "extract", 2, NULL);
}

TEST("/llm/script", lines_without_a_round_serve_any_but_keep_their_place)
{
    g_autoptr(AcrModel) script = parse("{\"agent\":\"search\",\"content\":\"any\"}\n"
                                       "{\"agent\":\"search\",\"round\":2,\"content\":\"two\"}\n"
                                       "{\"agent\":\"search\",\"content\":\"last\"}\n",
                                       NULL);
    assert_next(script, "search", 1, "any");
    assert_next(script, "search", 1, "");
    assert_next(script, "search", 3, "last"); /* the second round has passed */
}

/* A lower round number begins another attempt, which must not get lines of the first attempt. */
TEST("/llm/script", a_further_attempt_begins_at_its_own_lines)
{
    static const char text[] = "{\"agent\":\"search\",\"round\":1,\"content\":\"a1\"}\n"
                               "{\"agent\":\"search\",\"round\":2,\"content\":\"a2\"}\n"
                               "{\"agent\":\"search\",\"round\":3,\"content\":\"a3\"}\n"
                               "{\"agent\":\"search\",\"round\":1,\"content\":\"b1\"}\n"
                               "{\"agent\":\"search\",\"round\":2,\"content\":\"b2\"}\n";
    g_autoptr(AcrModel) script = parse(text, NULL);
    g_autoptr(AcrModel) whole = parse(text, NULL);
    assert_next(script, "search", 1, "a1");
    assert_next(script, "search", 2, "a2");
    assert_next(script, "search", 1, "b1");
    assert_next(script, "search", 2, "b2");
    assert_next(script, "search", 1, NULL);
    assert_next(whole, "search", 1, "a1");
    assert_next(whole, "search", 2, "a2");
    assert_next(whole, "search", 3, "a3");
    assert_next(whole, "search", 1, "b1");
}

TEST("/llm/script", a_line_with_a_round_serves_no_call_outside_retrieval)
{
    g_autoptr(AcrModel) script = parse("{\"agent\":\"patch\",\"round\":1,\"content\":\"r\"}\n"
                                       "{\"agent\":\"patch\",\"content\":\"p\"}\n",
                                       NULL);
    assert_next(script, "patch", 0, "p");
    assert_next(script, "patch", 0, NULL);
}

TEST("/llm/script", lines_of_other_tasks_are_left_out)
{
    static const char text[] = "{\"agent\":\"patch\",\"instance_id\":\"a__b-1\",\"content\":\"one\"}\n"
                               "{\"agent\":\"patch\",\"content\":\"both\"}\n"
                               "{\"agent\":\"patch\",\"instance_id\":\"a__b-2\",\"content\":\"two\"}\n";
    g_autoptr(AcrModel) one = parse(text, "a__b-1");
    g_autoptr(AcrModel) none = parse(text, NULL);
    assert_next(one, "patch", 0, "one");
    assert_next(one, "patch", 0, "both");
    assert_next(one, "patch", 0, NULL);
    assert_next(none, "patch", 0, "both");
    assert_next(none, "patch", 0, NULL);
}

TEST("/llm/script", without_a_list_of_labels_a_line_may_name_any)
{
    static const char text[] = "{\"agent\":\"a label of the caller's\",\"content\":\"x\"}\n";
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrModel) script = acr_script_parse(text, strlen(text), "s.jsonl", &(AcrModelOptions){0}, &error);
    g_assert_no_error(error);
    assert_next(script, "a label of the caller's", 0, "x");
    assert_next(script, "another", 0, NULL);
}

TEST("/llm/script", malformed_scripts_are_refused_with_the_line)
{
    assert_refused("{\"agent\":\"patch\",\"content\":\"x\"}\n\n{\"agent\":", "s.jsonl' is malformed at line 3");
    assert_refused("[]\n", "line 1: not an object");
    assert_refused("{\"agent\":\"patch\"}\n", "'content' is missing");
    assert_refused("{\"content\":\"x\"}\n", "'agent' is missing");
    assert_refused("{\"agent\":\"patcher\",\"content\":\"x\"}\n", "unknown agent 'patcher'");
    assert_refused("{\"agent\":\"patch\",\"content\":\"x\",\"rond\":1}\n", "unknown member 'rond'");
    assert_refused("{\"agent\":\"patch\",\"content\":7}\n", "'content' must be a string");
    assert_refused("{\"agent\":\"patch\",\"content\":\"x\",\"instance_id\":7}\n", "'instance_id' must be a string");
    assert_refused("{\"agent\":\"search\",\"content\":\"x\",\"round\":0}\n", "'round' must be a number");
    assert_refused("{\"agent\":\"search\",\"content\":\"x\",\"round\":\"1\"}\n", "'round' must be a number");
    assert_refused("{\"agent\":\"search\",\"content\":\"x\",\"round\":1.5}\n", "'round' must be a number");
    assert_refused("{\"agent\":\"search\",\"content\":\"x\",\"round\":1e300}\n", "'round' must be a number");
    assert_refused("{\"agent\":\"search\",\"content\":\"x\",\"expect\":\"y\"}\n", "'expect' must be an array");
    assert_refused("{\"agent\":\"search\",\"content\":\"x\",\"expect\":[\"y\",1]}\n", "not a string");
    assert_refused("{\"agent\":\"patch\",\"content\":\"\xff\"}\n", "malformed at line 1");
    assert_refused("{\"agent\":\"patch\",\"content\":\"x\",\"instance_id\":\"other\",\"bad\":1}\n",
                   "unknown member 'bad'");
}

/* A conversation with "old" before the last answer and "new" after it. */
static AcrConversation *conversation(void)
{
    AcrConversation *c = acr_conversation_new("c");
    acr_conversation_add(c, ACR_ROLE_SYSTEM, "system");
    acr_conversation_add(c, ACR_ROLE_USER, "old");
    acr_conversation_add(c, ACR_ROLE_ASSISTANT, "answer");
    acr_conversation_add(c, ACR_ROLE_USER, "new one\nline \xc3\xa9");
    acr_conversation_add(c, ACR_ROLE_USER, "new two");
    return c;
}

static char *expect_error(const char *expect)
{
    g_autoptr(AcrConversation) c = conversation();
    g_autofree char *text =
        g_strdup_printf("\n{\"agent\":\"search\",\"round\":2,\"content\":\"ok\",\"expect\":%s}\n", expect);
    g_autoptr(AcrModel) script = parse(text, NULL);
    g_autoptr(GError) error = NULL;
    AcrModelRequest request = {.label = "search", .step = 2, .conversation = c};
    g_auto(AcrModelAnswer) answer = {0};
    if (acr_model_complete(script, &request, &answer, &error)) {
        g_assert_cmpstr(answer.content, ==, "ok");
        return NULL;
    }
    g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_EXPECT);
    g_assert_null(strchr(error->message, '\n'));
    return g_strdup(error->message);
}

TEST("/llm/script", expected_strings_are_looked_for_in_the_newest_messages)
{
    g_autofree char *old = expect_error("[\"new one\",\"old\"]");
    g_autofree char *system = expect_error("[\"system\"]");
    g_autofree char *answer = expect_error("[\"answer\"]");
    g_assert_null(expect_error("[]"));
    g_assert_null(expect_error("[\"new one\\nline \xc3\xa9\",\"new two\",\"\"]"));
    g_assert_nonnull(strstr(old, "line 2"));
    g_assert_nonnull(strstr(old, "round 2"));
    g_assert_nonnull(strstr(old, "lacks \"old\"; the request contains"));
    g_autofree char *other = expect_error("[\"new one\\nline \xc3\xa8 and more\"]");
    g_assert_nonnull(strstr(other, "after 13 equal bytes the request has \"\xc3\xa9\\nnew two\\n\" "
                                   "instead of \"\xc3\xa8 and more\""));
    g_assert_nonnull(strstr(old, "\"new one\\nline \xc3\xa9\\nnew two"));
    g_assert_nonnull(system);
    g_assert_nonnull(answer);
}

TEST("/llm/script", an_unmet_expectation_shows_a_bounded_part_of_the_request)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    g_autofree char *big = g_strnfill(1000000, 'b');
    g_autofree char *text = g_strdup_printf("{\"agent\":\"patch\",\"content\":\"\",\"expect\":[\"%s\"]}", big);
    g_autoptr(AcrModel) script = parse(text, NULL);
    g_autoptr(GError) error = NULL;
    AcrModelRequest request = {.label = "patch", .conversation = c};
    AcrModelAnswer answer = {0};
    gint64 start = g_get_monotonic_time();
    big[500000] = 'c';
    acr_conversation_add(c, ACR_ROLE_USER, big);
    g_assert_false(acr_model_complete(script, &request, &answer, &error));
    g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_EXPECT);
    g_assert_cmpuint(strlen(error->message), <, 800);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 20 * G_USEC_PER_SEC); /* the search takes linear time */
}

TEST("/llm/script", a_model_reads_its_file_once_and_whole)
{
    static const char line[] = "{\"agent\":\"patch\",\"content\":\"from a file\"}\n";
    g_autofree char *folder = g_dir_make_tmp("acr-script-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "a.jsonl", NULL);
    g_autofree char *name = g_strconcat("script:", path, NULL);
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrModel) model = NULL;
    AcrInterrupt interrupt = {0};
    AcrModelOptions options = {.interrupt = &interrupt};
    AcrModelRequest request = {.label = "patch", .conversation = c};
    g_auto(AcrModelAnswer) answer = {0};
    AcrModelAnswer none = {0};
    g_assert_null(acr_model_new(name, &options, &error));
    g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE);
    g_assert_nonnull(strstr(error->message, path));
    g_clear_error(&error);
    g_assert_true(g_file_set_contents(path, line, -1, NULL));
    model = made(acr_model_new(name, &options, &error), error);
    g_assert_true(acr_dir_remove(folder, NULL));
    g_assert_cmpstr(model->name, ==, name);
    interrupt.signal = SIGINT;
    assert_fails_with(acr_model_complete(model, &request, &none, &error), error, ACR_LLM_ERROR,
                      ACR_LLM_ERROR_INTERRUPTED);
    interrupt.signal = 0;
    g_assert_true(acr_model_complete(model, &request, &answer, &error));
    g_assert_cmpstr(answer.content, ==, "from a file");
    assert_fails_with(acr_model_complete(model, &request, &none, &error), error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP);
}

/* In a resumed run, the journal answers, and the script must advance as if it had been asked. */
TEST("/llm/script", a_skipped_call_uses_its_line)
{
    g_autoptr(AcrModel) script =
        parse("{\"agent\":\"search\",\"round\":1,\"content\":\"1\",\"expect\":[\"never there\"]}\n"
              "{\"agent\":\"search\",\"round\":3,\"content\":\"3\"}\n",
              NULL);
    AcrModelRequest first = {.label = "search", .step = 1};
    AcrModelRequest missing = {.label = "search", .step = 2};
    acr_model_skip(script, &first);
    acr_model_skip(script, &missing);
    assert_next(script, "search", 2, "");
    assert_next(script, "search", 3, "3");
    acr_model_skip(script, &first);
    assert_next(script, "search", 3, NULL);
}
