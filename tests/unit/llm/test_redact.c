/* Tests of removing keys from texts, in every encoding. */
#include "test_llm.h"

#include <string.h>

static GPtrArray *secrets_of(const char *a, const char *b)
{
    GPtrArray *secrets = g_ptr_array_new();
    g_ptr_array_add(secrets, (gpointer)a);
    if (b)
        g_ptr_array_add(secrets, (gpointer)b);
    return secrets;
}

TEST("/llm/redact", public_text_is_one_bounded_line_without_the_key)
{
    g_autoptr(GPtrArray) secrets = secrets_of("sk-123", NULL);
    g_autofree char *big = g_strnfill(10000, 'a');
    g_autofree char *with_key = g_strconcat("bad key sk-123\r\nsk-123 is\x1b[31m wrong \xff", big, NULL);
    g_autofree char *text = acr_redact_line(with_key, secrets, 500);
    g_autofree char *plain = acr_redact_line("text", NULL, 500);
    g_assert_true(g_str_has_prefix(text, "bad key [key]  [key] is [31m wrong \xef\xbf\xbd"));
    g_assert_cmpuint(strlen(text), <=, 500);
    for (const char *c = text; *c; c++)
        g_assert_false(g_ascii_iscntrl(*c));
    g_assert_cmpstr(plain, ==, "text");
}

TEST("/llm/redact", a_key_is_found_in_each_spelling)
{
    static const char *const spelled[] = {"sk/a\"b\\c+d&e%f=01234567",
                                          "sk/a\\\"b\\\\c+d&e%f=01234567",
                                          "sk\\/a\\\"b\\\\c+d&e%f=01234567",
                                          "sk/a\\\"b\\\\c+d\\u0026e%f=01234567",
                                          "sk%2Fa%22b%5Cc%2Bd%26e%25f%3D01234567",
                                          "sk%2fa%22b%5cc%2bd%26e%25f%3d01234567",
                                          "sk/a%22b%5Cc+d&e%25f=01234567",
                                          "sk/a%22b%5Cc%2Bd%26e%25f%3D01234567",
                                          "sk%2Fa\\\"b\\\\c+d\\u0026e%25f\\u003d01234567",
                                          "sk/a\\\\\\\"b\\\\\\\\c+d&e%f=01234567"};
    const char *key = spelled[0];
    g_autoptr(GPtrArray) secrets = secrets_of("another-secret", key);
    for (gsize i = 0; i < G_N_ELEMENTS(spelled); i++) {
        g_autofree char *said = g_strdup_printf("<%s> and <another-secret>", spelled[i]);
        g_autofree char *shown = acr_redact_line(said, secrets, 500);
        g_assert_true(g_str_has_prefix(shown, "<[key]"));
        g_assert_true(g_str_has_suffix(shown, "> and <[key]>"));
        g_assert_cmpuint(strlen(shown), <=, strlen("<[key]> and <[key]>"));
    }
}

TEST("/llm/redact", parts_of_a_key_that_was_cut_are_taken_out)
{
    g_autoptr(GPtrArray) secrets = secrets_of("sk-live-0123456789abcdef", NULL);
    assert_text(acr_redact_line("wrong key sk-live-01234", secrets, 500), "wrong key [key]");
    assert_text(acr_redact_line("...6789abcdef is wrong", secrets, 500), "...[key] is wrong");
    assert_text(acr_redact_line("sk-live***cdef", secrets, 500), "sk-live***cdef");
    assert_text(acr_redact_line("sk-live-012 sk-live-012 9abcdef 89abcdef", secrets, 500), "[key] [key] 9abcdef [key]");
    assert_text(acr_redact_line("of -0123456789a and 0123456789a", secrets, 500), "of [key] and 0123456789a");
}

TEST("/llm/redact", a_placeholder_spoils_no_text)
{
    g_autoptr(GPtrArray) secrets = secrets_of("x", "");
    assert_text(acr_redact_line("an example", secrets, 500), "an example");
}

TEST("/llm/redact", an_answer_is_copied_only_where_it_holds_a_key)
{
    g_autoptr(GPtrArray) secrets = secrets_of("sk-live-0123456789abcdef", "EMPTY");
    g_autofree char *none = acr_redact_answer("The list is EMPTY.", secrets);
    g_assert_null(none);
    assert_text(acr_redact_answer("EMPTY\nkey = 'sk-live-0123456789abcdef'\n", secrets), "EMPTY\nkey = '[key]'\n");
}
