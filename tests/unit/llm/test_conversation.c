/* Tests of conversations, and of the names of models and errors. */
#include "test_llm.h"

#include <string.h>

TEST("/llm/conversation", messages_stand_in_order_and_are_copied)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("attempt_0/search");
    char text[] = "first";
    acr_conversation_add(c, ACR_ROLE_SYSTEM, text);
    acr_conversation_add(c, ACR_ROLE_USER, "second");
    acr_conversation_add(c, ACR_ROLE_ASSISTANT, "");
    text[0] = 'X';
    g_assert_cmpstr(acr_conversation_name(c), ==, "attempt_0/search");
    g_assert_cmpuint(acr_conversation_size(c), ==, 3);
    g_assert_cmpstr(acr_conversation_message(c, 0)->content, ==, "first");
    g_assert_cmpint(acr_conversation_message(c, 1)->role, ==, ACR_ROLE_USER);
}

TEST("/llm/conversation", text_that_is_no_utf8_is_repaired)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    acr_conversation_add(c, ACR_ROLE_USER,
                         "a\xff"
                         "b");
    g_assert_cmpstr(acr_conversation_message(c, 0)->content, ==,
                    "a\xef\xbf\xbd"
                    "b");
    acr_conversation_replace(c, 0, "\xc3");
    g_assert_cmpstr(acr_conversation_message(c, 0)->content, ==, "\xef\xbf\xbd");
}

TEST("/llm/conversation", a_message_can_be_replaced_by_a_part_of_itself)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    acr_conversation_add(c, ACR_ROLE_USER, "heading: body");
    acr_conversation_replace(c, 0, acr_conversation_message(c, 0)->content + 9);
    g_assert_cmpstr(acr_conversation_message(c, 0)->content, ==, "body");
    g_assert_cmpint(acr_conversation_message(c, 0)->role, ==, ACR_ROLE_USER);
}

TEST("/llm/conversation", json_holds_the_messages_from_a_given_one_on)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    g_autoptr(AcrJson) json = NULL;
    g_autoptr(AcrJson) none = NULL;
    g_autofree char *text = NULL;
    g_autofree char *none_text = NULL;
    acr_conversation_add(c, ACR_ROLE_SYSTEM, "s");
    acr_conversation_add(c, ACR_ROLE_USER, "u\n");
    acr_conversation_add(c, ACR_ROLE_ASSISTANT, "a");
    json = acr_conversation_to_json(c, 1);
    text = acr_json_print(json);
    g_assert_cmpstr(text, ==, "[{\"role\":\"user\",\"content\":\"u\\n\"},{\"role\":\"assistant\",\"content\":\"a\"}]");
    none = acr_conversation_to_json(c, 3);
    none_text = acr_json_print(none);
    g_assert_cmpstr(none_text, ==, "[]");
}

TEST("/llm/model", a_model_name_without_a_known_provider_is_refused_with_the_known_ones)
{
    static const char *const names[] = {
        "nobodys-model", "openai/", "/x", "", "script:", "nobody/gpt", "OPENAI/gpt", "open/x", "a\nb"};
    AcrModelOptions options = {.temperature = -1};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(AcrModel) model = acr_model_new(names[i], &options, &error);
        g_assert_null(model);
        g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE);
        g_assert_nonnull(strstr(error->message, "openai"));
        g_assert_nonnull(strstr(error->message, "script:FILE"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

TEST("/llm/model", providers_are_found_by_all_their_names)
{
    g_assert_true(acr_provider_find("gemini", 6) == acr_provider_find("google", 6));
    g_assert_nonnull(acr_provider_find("google", 6));
    g_assert_true(acr_provider_find("responses", 9) == acr_provider_find("openai-responses", 16));
    g_assert_null(acr_provider_find("googl", 5));
}

TEST("/llm/model", models_share_a_key_where_their_providers_do)
{
    g_assert_true(acr_llm_same_key("openai/gpt-4.1", "gpt-4o"));
    g_assert_true(acr_llm_same_key("openai/gpt-4.1", "responses/gpt-4.1"));
    g_assert_true(acr_llm_same_key("google/x", "gemini/y"));
    g_assert_false(acr_llm_same_key("openai/x", "groq/x"));
    g_assert_false(acr_llm_same_key("script:a/b", "script:a/b"));
    g_assert_false(acr_llm_same_key("openai/x", "nobodys-model"));
}

TEST("/llm/model", every_error_has_a_name_of_its_own)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (int code = 0; code < ACR_LLM_ERRORS; code++) {
        const char *name = acr_llm_error_name((AcrLlmError)code);
        g_assert_nonnull(name);
        if (code == ACR_LLM_ERROR_UNREACHABLE) /* users see this as a failure of the network, too */
            g_assert_cmpstr(name, ==, "network");
        else
            g_assert_true(g_hash_table_add(seen, (gpointer)name));
    }
    g_assert_cmpstr(acr_llm_error_name(ACR_LLM_ERROR_CONTEXT_OVERFLOW), ==, "context_overflow");
}

TEST("/llm/conversation", messages_in_the_middle_can_be_taken_out)
{
    g_autoptr(AcrConversation) conversation = acr_conversation_new("talk");
    static const char *const texts[] = {"a", "b", "c", "d"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        acr_conversation_add(conversation, ACR_ROLE_USER, texts[i]);
    acr_conversation_remove(conversation, 4, 0);
    acr_conversation_remove(conversation, 1, 2);
    g_assert_cmpuint(acr_conversation_size(conversation), ==, 2);
    g_assert_cmpstr(acr_conversation_message(conversation, 0)->content, ==, "a");
    g_assert_cmpstr(acr_conversation_message(conversation, 1)->content, ==, "d");
}

/* The message "a", an answer with two calls, and their results. */
static AcrConversation *conversation_with_calls(void)
{
    static const char tools[] =
        "{\"by\":\"m\",\"text\":\"Hm.\",\"kept\":[],\"calls\":["
        "{\"id\":\"1\",\"name\":\"find\",\"arguments\":\"{\\\"what\\\":\\\"x\\\",\\\"n\\\":2}\"},"
        "{\"id\":\"2\",\"name\":\"look\",\"arguments\":\"no JSON\"}]}";
    AcrConversation *conversation = acr_conversation_new("n");
    g_auto(AcrModelAnswer) answer = {.content = g_strdup("Hm.")};
    answer.tools = acr_json_parse(tools, strlen(tools), NULL);
    acr_conversation_add(conversation, ACR_ROLE_USER, "a");
    acr_conversation_add_answer(conversation, &answer);
    g_assert_cmpuint(acr_json_size(acr_conversation_calls(conversation)), ==, 2);
    acr_conversation_add(conversation, ACR_ROLE_USER, "both");
    g_assert_null(acr_conversation_calls(conversation));
    return conversation;
}

static char *shown_results(const AcrConversation *conversation)
{
    return acr_json_print(acr_json_get(acr_conversation_message(conversation, 2)->tools, "results"));
}

TEST("/llm/conversation", results_answer_the_calls_before_them_each_by_its_id)
{
    g_autoptr(AcrConversation) conversation = conversation_with_calls();
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    g_assert_cmpstr(acr_conversation_message(conversation, 1)->content, ==, "Hm.\n\nfind(what=\"x\", n=2)\nlook()");
    assert_text(shown_results(conversation), "[{\"id\":\"1\",\"name\":\"find\",\"text\":\"both\"},"
                                             "{\"id\":\"2\",\"name\":\"look\",\"text\":\"(see the first result)\"}]");
    g_ptr_array_add(texts, (gpointer) "one");
    g_ptr_array_add(texts, (gpointer) "two");
    acr_conversation_set_results(conversation, texts);
    assert_text(shown_results(conversation), "[{\"id\":\"1\",\"name\":\"find\",\"text\":\"one\"},"
                                             "{\"id\":\"2\",\"name\":\"look\",\"text\":\"two\"}]");
}

TEST("/llm/conversation", what_is_replaced_or_left_without_its_calls_is_text)
{
    for (gsize changed = 1; changed <= 2; changed++) {
        g_autoptr(AcrConversation) conversation = conversation_with_calls();
        acr_conversation_replace(conversation, changed, "shorter");
        for (gsize i = 0; i < 3; i++)
            g_assert_null(acr_conversation_message(conversation, i)->tools);
    }
    g_autoptr(AcrConversation) conversation = conversation_with_calls();
    acr_conversation_remove(conversation, 0, 2);
    g_assert_null(acr_conversation_message(conversation, 0)->tools);
}

TEST("/llm/conversation", what_was_never_made_can_be_freed)
{
    acr_conversation_free(NULL);
    acr_model_free(NULL);
    acr_model_answer_clear(&(AcrModelAnswer){0});
}
