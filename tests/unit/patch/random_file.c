/* Random source files. Lines are statements, comments, block headers, and brackets over several
 * lines. Words outside ASCII depend on the encoding; numbers make most lines distinct. */
#include "random_file.h"

#include <string.h>

#include "unit/cases.h"

static const Encoding encodings[N_ENCODINGS] = {{NULL, "UTF-8", false, {"été", "日本", "привет", "ü"}},
                                                {NULL, "UTF-8", true, {"été", "日本", "привет", "ü"}},
                                                {"utf-8", "UTF-8", false, {"größe", "語", "да", "€"}},
                                                {"latin-1", "ISO-8859-1", false, {"été", "ü", "ñandú", "£"}},
                                                {"cp1252", "CP1252", false, {"été", "€", "Žižek", "ß"}},
                                                {"iso-8859-15", "ISO-8859-15", false, {"œuvre", "€", "Šár", "ß"}},
                                                {"koi8-r", "KOI8-R", false, {"привет", "мир", "да", "нет"}},
                                                {"shift_jis", "SHIFT_JIS", false, {"日本", "語", "テスト", "表"}},
                                                {"euc-jp", "EUC-JP", false, {"日本", "語", "テスト", "表"}},
                                                {"gb18030", "GB18030", false, {"汉字", "测试", "值", "好"}},
                                                {"big5", "BIG5", false, {"漢字", "測試", "值", "好"}}};
static const char *const ends[] = {"\n", "\r\n", "\r"};
static const char *const names[] = {"alpha", "beta", "gamma", "delta", "items", "total",
                                    "value", "left", "right", "count", "index", "result"};

static const char *name(GRand *rand)
{
    return names[g_rand_int_range(rand, 0, G_N_ELEMENTS(names))];
}

static const char *word(const RandomFile *file, GRand *rand)
{
    return file->encoding->words[g_rand_int_range(rand, 0, 4)];
}

static char *statement(const RandomFile *file, GRand *rand)
{
    guint n = (guint)g_rand_int_range(rand, 0, 900);
    switch (g_rand_int_range(rand, 0, 9)) {
    case 0:
        return g_strdup_printf("self.%s = %s[%u]", name(rand), name(rand), n);
    case 1:
        return g_strdup_printf("%s = call_%u(%s, '%s')", name(rand), n, name(rand), word(file, rand));
    case 2:
        return g_strdup_printf("# %s of %s, number %u", word(file, rand), name(rand), n);
    case 3:
        return g_strdup_printf("%s.append(%s + %u)", name(rand), name(rand), n);
    case 4:
        return g_strdup_printf("raise ValueError(\"%s %u\")", word(file, rand), n);
    case 5:
        return g_strdup_printf("return %s_%u and not %s < 3 > 2 & 1", name(rand), n, name(rand));
    case 6:
        return g_strdup_printf("%s_%u = {'%s': %s}  # %s", name(rand), n, name(rand), name(rand), word(file, rand));
    case 7:
        return g_strdup("pass");
    default:
        return g_strdup_printf("%s, %s = %s(%u)", name(rand), name(rand), name(rand), n);
    }
}

static char *header(GRand *rand)
{
    guint n = (guint)g_rand_int_range(rand, 0, 900);
    switch (g_rand_int_range(rand, 0, 4)) {
    case 0:
        return g_strdup_printf("def %s_%u(self, %s):", name(rand), n, name(rand));
    case 1:
        return g_strdup_printf("if %s > %u:", name(rand), n);
    case 2:
        return g_strdup_printf("for %s in range(%u):", name(rand), n);
    default:
        return g_strdup_printf("class C%u(Base):", n);
    }
}

static void add_line(RandomFile *file, GRand *rand, guint depth, char *core)
{
    g_autofree char *taken = core;
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; i < depth; i++)
        g_string_append(line, file->tabs ? "\t" : "    ");
    g_string_append(line, taken);
    if (g_rand_int_range(rand, 0, 20) == 0)
        g_string_append(line, "  ");
    guint kind = file->line_end < 3 ? file->line_end : (guint)g_rand_int_range(rand, 0, 3);
    g_ptr_array_add(file->lines, g_strdup(line->str));
    g_ptr_array_add(file->ends, (gpointer)ends[kind]);
}

/* A bare CR followed by a blank line with LF would be read as CR LF, so both are separated. */
static void mend_ends(RandomFile *file, GRand *rand)
{
    for (guint i = 1; i < file->lines->len; i++)
        if (strcmp(file->ends->pdata[i - 1], "\r") == 0 && *line_at(file, i) == '\0')
            file->ends->pdata[i] = (gpointer)ends[2];
    guint last = file->lines->len - 1;
    if (g_rand_int_range(rand, 0, 3) == 0 && !is_blank_line(line_at(file, last)))
        file->ends->pdata[last] = "";
}

void random_file_init(RandomFile *file, GRand *rand)
{
    guint n = (guint)g_rand_int_range(rand, 8, 60), depth = 0;
    *file = (RandomFile){.lines = g_ptr_array_new_with_free_func(g_free),
                         .ends = g_ptr_array_new(),
                         .encoding = &encodings[g_rand_int_range(rand, 0, N_ENCODINGS)],
                         .line_end = (guint)g_rand_int_range(rand, 0, N_LINE_ENDS),
                         .tabs = g_rand_int_range(rand, 0, 3) == 0};
    if (file->encoding->cookie)
        add_line(file, rand, 0, g_strdup_printf("# -*- coding: %s -*-", file->encoding->cookie));
    bool opened = false;
    while (file->lines->len < n) {
        gint kind = g_rand_int_range(rand, 0, 10);
        if (!opened && depth > 0 && kind < 3)
            depth -= (guint)g_rand_int_range(rand, 1, (gint)depth + 1);
        if (!opened && kind == 9) {
            add_line(file, rand, 0, g_strdup(""));
            continue;
        }
        opened = depth < 4 && kind >= 3 && kind < 5 && file->lines->len + 1 < n;
        add_line(file, rand, depth, opened ? header(rand) : statement(file, rand));
        depth += opened;
    }
    mend_ends(file, rand);
}

void random_file_clear(RandomFile *file)
{
    g_clear_pointer(&file->lines, g_ptr_array_unref);
    g_clear_pointer(&file->ends, g_ptr_array_unref);
}

GBytes *random_file_bytes(const RandomFile *file, guint from, guint to)
{
    g_autoptr(GString) text = g_string_new(file->encoding->bom && from == 0 ? "\xef\xbb\xbf" : "");
    for (guint i = from; i < to; i++)
        g_string_append_printf(text, "%s%s", line_at(file, i), (char *)file->ends->pdata[i]);
    g_autoptr(GError) error = NULL;
    gsize len = 0;
    char *bytes =
        made(g_convert(text->str, (gssize)text->len, file->encoding->iconv, "UTF-8", NULL, &len, &error), error);
    return g_bytes_new_take(bytes, len);
}

char *random_file_text(const RandomFile *file, const void *data, gsize len)
{
    g_autofree char *text = g_convert(data, (gssize)len, "UTF-8", file->encoding->iconv, NULL, NULL, NULL);
    if (!text)
        return NULL;
    const char *from = text + strspn(text, "\r\n");
    gsize n = strlen(from);
    while (n > 0 && strchr("\r\n", from[n - 1]))
        n--;
    return g_strndup(from, n);
}
