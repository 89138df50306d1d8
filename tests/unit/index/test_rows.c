/* Tests of decoding outline rows: every field is decoded as written, and every kind of damage is
 * rejected without side effects. */
#include "index/index_private.h"
#include "index_fixture.h"

#include <string.h>

/* Decodes rows (`|` for TAB, `^` for the list separator) into a new index; NULL with an error if
 * they are rejected. */
static AcrIndex *decode(const char *text, const char **out_unparsed, GError **error)
{
    g_autofree char *rows = g_strdelimit(g_strdelimit(g_strdup(text), "|", '\t'), "^", '\x1f');
    AcrIndex *index = acr_index_new_empty(NULL);
    if (acr_index_add_rows(index, 0, g_strdup(rows), strlen(rows), out_unparsed, error))
        return index;
    g_assert_cmpuint(index->symbols->len, ==, 0);
    g_assert_cmpuint(index->bases->len, ==, 0);
    acr_index_unref(index);
    return NULL;
}

static AcrIndex *decode_ok(const char *text)
{
    const char *unparsed = "unset";
    g_autoptr(GError) error = NULL;
    AcrIndex *index = made(decode(text, &unparsed, &error), error);
    g_assert_null(unparsed);
    acr_index_freeze(index);
    return index;
}

static void refused(const char *text)
{
    const char *unparsed;
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrIndex) index = decode(text, &unparsed, &error);
    if (index)
        g_error("not refused: %s", text);
    g_assert_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_MALFORMED);
    g_assert_nonnull(error->message);
}

TEST("/index/rows", class_row_is_read_whole)
{
    g_autoptr(AcrIndex) index = decode_ok("C|A|1|3|5|9|B^c.D[int]^E\n");
    const AcrSymbol *symbol = acr_index_symbol(index, 0);
    g_assert_cmpint(symbol->kind, ==, ACR_SYMBOL_CLASS);
    g_assert_cmpuint(symbol->first, ==, 1);
    g_assert_cmpuint(symbol->def, ==, 3);
    g_assert_cmpuint(symbol->sig_last, ==, 5);
    g_assert_cmpuint(symbol->last, ==, 9);
    g_assert_cmpint(symbol->parent, ==, -1);
    g_assert_cmpstr(symbol->bases[0], ==, "B");
    g_assert_cmpstr(symbol->bases[1], ==, "c.D[int]");
    g_assert_cmpstr(symbol->bases[2], ==, "E");
    g_assert_null(symbol->bases[3]);
}

TEST("/index/rows", class_without_bases_has_an_empty_list)
{
    g_autoptr(AcrIndex) index = decode_ok("C|A|1|1|1|1|\nC|B|2|2|2|2|X\n");
    g_assert_null(acr_index_symbol(index, 0)->bases[0]);
    g_assert_cmpstr(acr_index_symbol(index, 1)->bases[0], ==, "X");
}

TEST("/index/rows", parents_follow_qualified_names_and_lines)
{
    g_autoptr(AcrIndex) index = decode_ok("C|A|1|1|1|20|\nD|A.f|2|2|2|9\nD|A.f.g|3|3|3|4\nC|A.f.L|5|5|5|8|\n"
                                          "D|A.f.L.m|6|6|6|7\nA|A.x|10|10|y.z\nD|A.f|11|11|11|12\n"
                                          "I|os|13|os|\nC|A|21|21|21|22|\nA|A.w|22|22|\nI|np|23|numpy|\n");
    static const gint32 expected[] = {-1, 0, 1, 1, 3, 0, 0, 0, -1, 8, -1};
    g_assert_cmpuint(index->symbols->len, ==, G_N_ELEMENTS(expected));
    for (guint32 i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_cmpint(acr_index_symbol(index, i)->parent, ==, expected[i]);
    g_assert_cmpint(acr_index_symbol(index, 1)->kind, ==, ACR_SYMBOL_METHOD);
    g_assert_cmpint(acr_index_symbol(index, 2)->kind, ==, ACR_SYMBOL_FUNCTION);
    g_assert_cmpstr(acr_index_symbol(index, 4)->name, ==, "m");
    g_assert_cmpstr(acr_index_symbol(index, 4)->qualname, ==, "A.f.L.m");
    g_assert_cmpstr(acr_index_symbol(index, 5)->value, ==, "y.z");
    g_assert_null(acr_index_symbol(index, 9)->value);
}

TEST("/index/rows", imports_keep_module_and_name)
{
    g_autoptr(AcrIndex) index = decode_ok("I|c|1|a.b|\nI|x|1|.m|n\nI|*|2|..|*\nI|a.b|3|a.b|\n");
    g_assert_cmpstr(acr_index_symbol(index, 0)->name, ==, "c");
    g_assert_cmpstr(acr_index_symbol(index, 0)->module, ==, "a.b");
    g_assert_null(acr_index_symbol(index, 0)->value);
    g_assert_cmpstr(acr_index_symbol(index, 1)->value, ==, "n");
    g_assert_cmpuint(acr_index_symbol(index, 2)->last, ==, 2);
    g_assert_cmpstr(acr_index_symbol(index, 3)->name, ==, "a.b");
}

TEST("/index/rows", unparsed_file_gives_its_reason_on_one_line)
{
    const char *unparsed = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrIndex) index = made(decode("X|7|a \\t b \\n c \\\\ d\n", &unparsed, &error), error);
    g_assert_cmpstr(unparsed, ==, "line 7: a   b   c \\ d");
}

TEST("/index/rows", escapes_are_undone)
{
    g_autoptr(AcrIndex) index = decode_ok("C|A|1|1|1|1|a\\tb^c\\u\\\\d\\r\n");
    g_assert_cmpstr(acr_index_symbol(index, 0)->bases[0], ==, "a\tb");
    g_assert_cmpstr(acr_index_symbol(index, 0)->bases[1], ==, "c\x1f\\d\r");
}

TEST("/index/rows", damage_is_refused)
{
    static const char *const damaged[] = {
        "C|A|1|1|1|1|",                  /* no line end */
        "\n",                            /* empty row */
        "Q|A|1|1|1|1|\n",                /* unknown kind */
        "CC|A|1|1|1|1|\n",               /* longer kind */
        "C|A|1|1|1|1\n",                 /* too few fields */
        "C|A|1|1|1|1||\n",               /* too many fields */
        "C|A|1|1|1|1|||\n",              /* more fields than any kind of row has */
        "D|f|1|1|1|1|\n",                /* one field more than this kind has */
        "C||1|1|1|1|\n",                 /* no name */
        "C|A.|1|1|1|1|\n",               /* empty last part */
        "C|.A|1|1|1|1|\n",               /* empty first part */
        "C|A B|1|1|1|1|\n",              /* no identifier */
        "C|A|0|1|1|1|\n",                /* lines count from 1 */
        "C|A|-1|1|1|1|\n",               /* no number */
        "C|A|1|1|1|9999999999|\n",       /* too large */
        "C|A|1|1|1||\n",                 /* no number */
        "C|A|2|1|2|2|\n",                /* def before the first line */
        "C|A|1|2|1|2|\n",                /* header ends before def */
        "C|A|1|1|3|2|\n",                /* last line before the header's end */
        "C|A.B|1|1|1|1|\n",              /* parent unknown */
        "C|A|1|1|1|5|\nD|B.f|2|2|2|2\n", /* another parent */
        "C|A|1|1|1|5|\nD|A.f|2|2|2|6\n", /* longer than its parent */
        "C|A|2|2|2|5|\nD|f|1|1|1|1\n",   /* out of order */
        "D|f|1|1|1|3\nA|f.x|2|2|\n",     /* local assignment */
        "A|x|1|1|a b\n",                 /* value is not a name */
        "A|x|2|1|\n",                    /* ends before it begins */
        "I|x|1||\n",                     /* no module */
        "I||1|m|\n",                     /* no local name */
        "X|1|a\nX|2|b\n",                /* not the only X row */
        "A|x|1|1|\nX|1|a\n",             /* rows before the X row */
        "X|0|a\n",                       /* no line */
        "C|A|1|1|1|1|a\\\n",             /* half an escape */
        "C|A|1|1|1|1|a\\x\n",            /* unknown escape */
        "C|A\xff|1|1|1|1|\n",            /* not UTF-8 */
        "C|A|1|1|1|1|\xc3\n",            /* cut UTF-8 */
    };
    for (gsize i = 0; i < G_N_ELEMENTS(damaged); i++)
        refused(damaged[i]);
}

TEST("/index/rows", earlier_files_stay_when_one_is_refused)
{
    const char *unparsed;
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrIndex) index = acr_index_new_empty(NULL);
    static const char good[] = "C\tA\t1\t1\t1\t1\tB\n", bad[] = "C\tC\t1\t1\t1\t1\tD\nC\tE\t1\t1\t1\n";
    g_assert_true(acr_index_add_rows(index, 0, g_strdup(good), strlen(good), &unparsed, &error));
    g_assert_false(acr_index_add_rows(index, 1, g_strdup(bad), strlen(bad), &unparsed, &error));
    g_assert_nonnull(strstr(error->message, "(row 2)"));
    g_assert_true(acr_index_add_rows(index, 2, g_strdup(good), strlen(good), &unparsed, NULL));
    acr_index_freeze(index);
    g_assert_cmpuint(index->symbols->len, ==, 2);
    g_assert_cmpstr(acr_index_symbol(index, 1)->bases[0], ==, "B");
    g_assert_null(acr_index_symbol(index, 1)->bases[1]);
    g_assert_cmpuint(acr_index_symbol(index, 1)->file, ==, 2);
}

TEST("/index/rows", nul_byte_is_refused)
{
    const char *unparsed;
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrIndex) index = acr_index_new_empty(NULL);
    assert_fails_with(acr_index_add_rows(index, 0, g_memdup2("I\tx\t1\ta\0b\t\n", 11), 11, &unparsed, &error), error,
                      ACR_INDEX_ERROR, ACR_INDEX_ERROR_MALFORMED);
}

/* `n` nested definitions. */
static char *nested(guint n)
{
    GString *rows = g_string_new(NULL), *name = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
        g_string_append_printf(name, "%sA", i ? "." : "");
        g_string_append_printf(rows, "C|%s|%u|%u|%u|1000000|\n", name->str, i + 1, i + 1, i + 1);
    }
    g_string_free(name, TRUE);
    return g_string_free(rows, FALSE);
}

TEST("/index/rows", depth_has_a_limit)
{
    g_autofree char *most = nested(ACR_INDEX_MAX_DEPTH);
    g_autofree char *more = nested(ACR_INDEX_MAX_DEPTH + 1);
    g_autoptr(AcrIndex) index = decode_ok(most);
    g_assert_cmpuint(index->symbols->len, ==, ACR_INDEX_MAX_DEPTH);
    refused(more);
}

static char *with_bases(guint n)
{
    GString *row = g_string_new("C|A|1|1|1|1|B");
    for (guint i = 1; i < n; i++)
        g_string_append(row, "^B");
    return g_string_free(g_string_append_c(row, '\n'), FALSE);
}

TEST("/index/rows", number_of_bases_has_a_limit)
{
    g_autofree char *most = with_bases(ACR_INDEX_MAX_BASES);
    g_autofree char *more = with_bases(ACR_INDEX_MAX_BASES + 1);
    g_autoptr(AcrIndex) index = decode_ok(most);
    g_assert_nonnull(index);
    refused(more);
}

TEST("/index/rows", length_of_a_field_has_a_limit)
{
    g_autofree char *most = g_strnfill(ACR_INDEX_MAX_FIELD, 'b');
    g_autofree char *fits = g_strdup_printf("C|A|1|1|1|1|%s\n", most);
    g_autofree char *more = g_strdup_printf("C|A|1|1|1|1|%sb\n", most);
    g_autoptr(AcrIndex) index = decode_ok(fits);
    g_assert_cmpuint(strlen(acr_index_symbol(index, 0)->bases[0]), ==, ACR_INDEX_MAX_FIELD);
    refused(more);
}

TEST("/index/rows", number_of_symbols_has_a_limit)
{
    static const char row[] = "A|x|1|1|\n";
    GString *text = g_string_sized_new(sizeof row * (ACR_INDEX_MAX_SYMBOLS_PER_FILE + 1));
    for (guint i = 0; i < ACR_INDEX_MAX_SYMBOLS_PER_FILE; i++)
        g_string_append_len(text, row, sizeof row - 1);
    g_autoptr(AcrIndex) index = decode_ok(text->str);
    g_assert_cmpuint(index->symbols->len, ==, ACR_INDEX_MAX_SYMBOLS_PER_FILE);
    g_string_append(text, row);
    refused(text->str);
    g_string_free(text, TRUE);
}
