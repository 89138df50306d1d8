/* Tests of text: UTF-8, line starts, shortening, and decoding and encoding source files. */
#include "test_base.h"

#include <string.h>

TEST("/base/text", repair_replaces_each_invalid_byte_and_nul)
{
    static const struct {
        const char *data;
        gsize len;
        bool text;
        const char *repaired;
    } cases[] = {{"caf\u00e9", 5, true, "caf\u00e9"},
                 {"", 0, true, ""},
                 {"a\xff\xfe"
                  "b",
                  4, false, "a\uFFFD\uFFFDb"},
                 {"a\0b", 3, false, "a\uFFFDb"},
                 {"\xe2\x82", 2, false, "\uFFFD\uFFFD"},
                 {"\xed\xa0\x80", 3, false, "\uFFFD\uFFFD\uFFFD"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(acr_utf8_is_text(cases[i].data, cases[i].len), ==, cases[i].text);
        g_autofree char *repaired = acr_utf8_repair(cases[i].data, cases[i].len);
        g_assert_cmpstr(repaired, ==, cases[i].repaired);
    }
    assert_text(acr_utf8_repair(NULL, 0), "");
}

/* For every prefix of `text` after `before` ASCII bytes, expects the same answer as GLib's. */
static void assert_validates_as_glib(gsize before, const char *text)
{
    g_autoptr(GString) bytes = g_string_new(NULL);
    for (gsize i = 0; i < before; i++)
        g_string_append_c(bytes, (char)('a' + i % 26));
    g_string_append(bytes, text);
    g_string_append(bytes, "and so on to the end");
    for (gsize len = before; len <= bytes->len; len++)
        g_assert_cmpint(acr_utf8_is_text(bytes->str, len), ==, g_utf8_validate_len(bytes->str, len, NULL));
}

TEST("/base/text", validity_does_not_depend_on_where_a_character_lies)
{
    static const char *const texts[] = {
        "\u00e9",
        "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac",
        "\U0001f600",
        "\U0010ffff\u00a0",
        "\x80",
        "\xc3",
        "\xe2\x82",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xc0\x80",
        "\xf0\x9f\x98",
        "\x7f\x01",
        "a\xff"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        for (gsize before = 0; before < 140; before++)
            assert_validates_as_glib(before, texts[i]);
}

TEST("/base/text", what_a_terminal_obeys_is_shown_as_text)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"a\tb\n\u00e9\u20ac\U0001f600", "a\tb\n\u00e9\u20ac\U0001f600"},
        {"\x1b[31m\r\x07\x7f", "\\u001b[31m\\u000d\\u0007\\u007f"},
        {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0"},
        {"\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u2029", "\\u202a\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c\u2029"},
        {"\x9b"
         "31m",
         "\ufffd"
         "31m"}};
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
        assert_text(acr_text_visible(pairs[i][0]), pairs[i][1]);
    }
}

static void assert_lines(const char *text, const char *expected)
{
    g_autoptr(GArray) starts = acr_text_lines(text, strlen(text));
    GString *list = g_string_new(NULL);
    for (guint i = 0; i < starts->len; i++)
        g_string_append_printf(list, "%s%" G_GSIZE_FORMAT, i ? " " : "", g_array_index(starts, gsize, i));
    assert_text(g_string_free(list, FALSE), expected);
}

TEST("/base/text", lines_end_in_lf_crlf_and_cr)
{
    assert_lines("", "0");
    assert_lines("a", "0 1");
    assert_lines("a\n", "0 2");
    assert_lines("a\nb", "0 2 3");
    assert_lines("a\r\nb\rc\n\nd", "0 3 5 7 8 9");
    assert_lines("\r\r\n", "0 1 3");
    assert_lines("a\fb\x0b"
                 "c\u2028d\n",
                 "0 10");
}

TEST("/base/text", shortened_text_keeps_both_ends_and_says_what_is_left_out)
{
    assert_text(acr_text_shorten("short", 5), "short");
    GString *text = g_string_new("HEAD");
    for (int i = 0; i < 1000; i++)
        g_string_append(text, "\u20ac");
    g_string_append(text, "TAIL");
    for (gsize max = 0; max < 200; max++) {
        g_autofree char *cut = acr_text_shorten(text->str, max);
        g_assert_cmpuint(strlen(cut), <=, max);
        g_assert_true(g_utf8_validate(cut, -1, NULL));
    }
    g_autofree char *cut = acr_text_shorten(text->str, 100);
    g_assert_true(g_str_has_prefix(cut, "HEAD"));
    g_assert_true(g_str_has_suffix(cut, "TAIL"));
    const char *said = strstr(cut, "\n[... ");
    g_assert_nonnull(said);
    gsize marker = strstr(said, "...]\n") + 5 - said;
    g_assert_cmpuint(g_ascii_strtoull(said + 6, NULL, 10), ==, text->len - (strlen(cut) - marker));
    g_string_free(text, TRUE);
}

/* The bytes of a file, and the text that they should decode to. */
typedef struct {
    const char *data;
    const char *encoding, *text;
    bool bom;
} Source;

static void assert_decodes(const Source *source)
{
    gsize len = strlen(source->data);
    g_auto(AcrText) text = {0};
    acr_text_decode(source->data, len, &text);
    g_assert_cmpstr(text.text, ==, source->text);
    g_assert_cmpuint(text.len, ==, strlen(source->text));
    g_assert_cmpstr(text.encoding, ==, source->encoding);
    g_assert_cmpint(text.bom, ==, source->bom);
    g_assert_true(text.exact);
    g_assert_false(text.binary);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) back = made(acr_text_encode(&text, text.text, text.len, &error), error);
    g_assert_cmpmem(g_bytes_get_data(back, NULL), g_bytes_get_size(back), source->data, len);
}

TEST("/base/encoding", sources_are_decoded_by_bom_cookie_and_fallback)
{
    static const Source sources[] = {
        {"", "utf-8", "", false},
        {"x = 1\r\n", "utf-8", "x = 1\r\n", false},
        {"\xEF\xBB\xBFx\n", "utf-8", "x\n", true},
        {"\xEF\xBB\xBF", "utf-8", "", true},
        {"# -*- coding: latin-1 -*-\n\xe9", "latin-1", "# -*- coding: latin-1 -*-\n\u00e9", false},
        {"# coding=ISO_8859-1\n\xe9\x80", "latin-1", "# coding=ISO_8859-1\n\u00e9\xc2\x80", false},
        {"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n\x80", "cp1252",
         "#!/bin/sh\n# vim: set fileencoding=cp1252 :\n\u20ac", false},
        {"\n\t# coding: windows-1252\n\x80", "cp1252", "\n\t# coding: windows-1252\n\u20ac", false},
        {"\r\n# coding: koi8-r\r\n\xc1", "koi8-r", "\r\n# coding: koi8-r\r\n\u0430", false},
        {"# coding: utf-8-unix\n\u00e9", "utf-8", "# coding: utf-8-unix\n\u00e9", false},
        {"# coding: euc_jp\n\xa4\xa2", "euc-jp", "# coding: euc_jp\n\u3042", false},
        {"# coding: shift_jis\n\x82\xa0", "shift-jis", "# coding: shift_jis\n\u3042", false},
        {"# coding: shift_jis\n'\\n~'", "shift-jis", "# coding: shift_jis\n'\\n~'", false},
        /* not a cookie here: on the third line, after code, or not in a comment */
        {"\n\n# coding: latin-1\n\u00e9", "utf-8", "\n\n# coding: latin-1\n\u00e9", false},
        {"x\n# coding: latin-1\n\u00e9", "utf-8", "x\n# coding: latin-1\n\u00e9", false},
        {"x = 'coding: latin-1'\n\u00e9", "utf-8", "x = 'coding: latin-1'\n\u00e9", false},
        /* the declared encoding is wrong or unknown */
        {"# coding: ascii\n\u00e9", "utf-8", "# coding: ascii\n\u00e9", false},
        {"# coding: utf-8\n\xe9", "latin-1", "# coding: utf-8\n\u00e9", false},
        {"# coding: no-such-thing\n\u00e9", "utf-8", "# coding: no-such-thing\n\u00e9", false},
        {"# coding: utf-16\n\u00e9!", "utf-8", "# coding: utf-16\n\u00e9!", false},
        {"# coding: cp037\n\u00e9", "utf-8", "# coding: cp037\n\u00e9", false},
        {"# coding: utf-7\n+AAA-", "utf-8", "# coding: utf-7\n+AAA-", false},
        {"caf\xe9\n", "latin-1", "caf\u00e9\n", false},
        {"\xEF\xBB\xBF"
         "caf\xe9\n",
         "latin-1", "caf\u00e9\n", true}};
    for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
        assert_decodes(&sources[i]);
}

TEST("/base/encoding", what_python_reads_through_iconv_but_not_back_is_not_exact)
{
    /* The escape sequence of ASCII occurs twice; an encoder would write it once. */
    static const char data[] = "# coding: iso-2022-jp\n\x1b(B\x1b(Bx\n";
    g_auto(AcrText) text = {0};
    acr_text_decode(data, strlen(data), &text);
    g_assert_cmpstr(text.encoding, ==, "iso-2022-jp");
    g_assert_cmpstr(text.text, ==, "# coding: iso-2022-jp\nx\n");
    g_assert_false(text.exact);
}

TEST("/base/encoding", a_plain_text_is_its_bytes)
{
    static const struct {
        const char *data;
        gsize len;
        bool plain;
    } cases[] = {{"", 0, true},
                 {"x = 1\r\n", 7, true},
                 {"name = '\u00e9'\n", 12, true},
                 {"# coding: UTF8\n\u00e9", 17, true},
                 {"# coding: latin-1\nx", 19, false},
                 {"\xef\xbb\xbfx", 4, false},
                 {"a\0b", 3, false},
                 {"\xe9", 1, false}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(AcrText) text = {0};
        g_assert_cmpint(acr_text_is_plain(cases[i].data, cases[i].len), ==, cases[i].plain);
        acr_text_decode(cases[i].data, cases[i].len, &text);
        if (cases[i].plain)
            g_assert_cmpmem(text.text, text.len, cases[i].data, cases[i].len);
    }
    g_assert_true(acr_text_is_plain(NULL, 0));
}

TEST("/base/encoding", a_nul_makes_a_file_binary)
{
    g_auto(AcrText) text = {0};
    acr_text_decode("a\0b\xff", 4, &text);
    g_assert_true(text.binary);
    g_assert_false(text.exact);
    g_assert_cmpstr(text.text, ==, "a\uFFFDb\uFFFD");
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_text_encode(&text, "x", 1, &error), error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
}

TEST("/base/encoding", every_byte_has_a_text_that_encodes_back)
{
    char data[255];
    for (int i = 0; i < 255; i++)
        data[i] = (char)(i + 1);
    g_auto(AcrText) text = {0};
    acr_text_decode(data, sizeof data, &text);
    g_assert_true(text.exact);
    g_autoptr(GBytes) back = acr_text_encode(&text, text.text, text.len, NULL);
    g_assert_cmpmem(g_bytes_get_data(back, NULL), g_bytes_get_size(back), data, sizeof data);
}

TEST("/base/encoding", a_character_the_encoding_lacks_is_an_error)
{
    static const char *const sources[] = {"# coding: latin-1\n", "# coding: cp1252\n", "# coding: ascii\n"};
    for (gsize i = 0; i < G_N_ELEMENTS(sources); i++) {
        g_auto(AcrText) text = {0};
        acr_text_decode(sources[i], strlen(sources[i]), &text);
        g_autoptr(GError) error = NULL;
        assert_fails_with(acr_text_encode(&text, "\u3042", 3, &error), error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    }
    g_auto(AcrText) utf8 = {0};
    acr_text_decode("", 0, &utf8);
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_text_encode(&utf8, "\xff", 1, &error), error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
}

TEST("/base/thoughts", are_split_off_an_answer)
{
    static const struct {
        const char *text, *answer, *thoughts;
    } cases[] = {
        {"<think>\nfirst idea\n</think>\n\nthe answer\n", "the answer\n", "first idea"},
        {"<Thinking time=\"3s\">a</Thinking>b", "b", "a"},
        {"a draft\n```\nx\n```\nno.\n</think>\nb\n", "b\n", "a draft\n```\nx\n```\nno."},
        {"close with </think> then.\nmore</think>\n\nb", "b", "close with </think> then.\nmore"},
        {"<think>I write <think> or </think> here\nmore\n</think>\nb", "b", "I write <think> or\n\nhere\nmore"},
        {"<reasoning>a</reasoning>\nb\n<scratchpad>\nc\n</scratchpad>\nd\n", "b\n\nd\n", "a\n\nc"},
        {"[THINK]a[/THINK]b", "b", "a"},
        {"\u25c1think\u25b7a\u25c1/think\u25b7b", "b", "a"},
        {"<|channel>thought\na<channel|>b", "b", "a"},
        {"<|START_THINKING|>a<|END_THINKING|>b", "b", "a"},
        {"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b"
         "<|return|>",
         "b", "a"},
        {"analysisThey ask.assistantfinalb", "b", "They ask."},
        {"<think>\nnever closed", "", "never closed"},
        /* None of these are thoughts: plain text, code, and an edit of a parser of thoughts. */
        {"b\n\nThe tag <think> opens thoughts.\n", NULL, NULL},
        {"```\n<think>\n```\nb", NULL, NULL},
        {"<original>\nx = 1\n</think>\n</original>\n<patched>\n<think>\n</patched>\n", NULL, NULL},
        {"<<<<<<< SEARCH\n</think>\n=======\n<think>\n>>>>>>> REPLACE\nb\n", NULL, NULL},
        {"", NULL, NULL},
        {"b\n<think>", NULL, NULL},
        {"b\n</think>\n", "b\n\n", NULL}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *thoughts = NULL;
        g_autofree char *answer = acr_thoughts_split(cases[i].text, &thoughts);
        g_assert_cmpstr(answer, ==, cases[i].answer ? cases[i].answer : cases[i].text);
        g_assert_cmpstr(thoughts, ==, cases[i].thoughts);
    }
}
