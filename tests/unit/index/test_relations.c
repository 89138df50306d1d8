/* Tests of bases, ancestors and names of classes, through aliases and imports. */
#include "index_fixture.h"

#include <string.h>

static void expect_bases(const AcrIndex *index, const char *path, const char *qualname, const char *expected)
{
    guint32 id = symbol_of(index, ACR_SYMBOL_CLASS, path, qualname);
    assert_names(index, acr_index_bases(index, id), expected);
}

static void expect_class(const AcrIndex *index, const char *name, const char *expected)
{
    assert_names(index, acr_index_resolve_class(index, name), expected);
}

TEST("/index/relations", same_file_comes_first)
{
    static const TestFile files[] = {{"a.py", "C|B|1|1|1|2|\n"},
                                     {"b.py", "C|B|1|1|1|2|\nC|D|3|3|3|4|B\nC|E|5|5|5|6|Generic[T]^B[int]^object\n"},
                                     {"c.py", "C|D|3|3|3|4|B\n"},
                                     {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "b.py", "D", "b.py:B");
    expect_bases(index, "b.py", "E", "b.py:B");
    expect_bases(index, "c.py", "D", "a.py:B b.py:B");
    expect_bases(index, "b.py", "B", "");
}

TEST("/index/relations", imports_are_followed)
{
    static const TestFile files[] = {
        {"pkg/__init__.py", "I|Base|1|.core.base|Base\n"},
        {"pkg/core/__init__.py", ""},
        {"pkg/core/base.py", "C|Base|1|1|1|2|\n"},
        {"pkg/core/user.py", "I|Base|1|.base|Base\nI|B|2|pkg|Base\nI|core|3|pkg|core\nI|pkg.core.base|4|pkg.core.base|"
                             "\n"
                             "I|b|5|pkg.core.base|\nI|up|6|..|core\n"
                             "C|U1|11|11|11|12|Base\nC|U2|13|13|13|14|B\nC|U3|15|15|15|16|core.base.Base\n"
                             "C|U4|17|17|17|18|pkg.core.base.Base\nC|U5|19|19|19|20|b.Base\nC|U6|21|21|21|22|up.base."
                             "Base\n"},
        {"other/base.py", "C|Base|1|1|1|2|\n"},
        {NULL, NULL}};
    static const char *const users[] = {"U1", "U2", "U3", "U4", "U5", "U6"};
    g_autoptr(AcrIndex) index = index_of(files);
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++)
        expect_bases(index, "pkg/core/user.py", users[i], "pkg/core/base.py:Base");
}

TEST("/index/relations", bases_outside_the_repository_give_none)
{
    static const TestFile files[] = {
        {"a.py", "C|Enum|1|1|1|2|\nC|Model|3|3|3|4|\nC|Exception|5|5|5|6|\n"},
        {"b.py", "I|Enum|1|enum|Enum\nI|models|2|elsewhere|models\nI|abc|3|abc|\nC|X|4|4|4|5|"
                 "Enum\nC|Y|6|6|6|7|models.Model\n"
                 "C|Z|8|8|8|9|Exception\nC|W|10|10|10|11|abc.Enum\nC|V|12|12|12|13|namedtuple('V', "
                 "'a b')\n"},
        {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "b.py", "X", "");
    expect_bases(index, "b.py", "Y", "");
    expect_bases(index, "b.py", "Z", "");
    expect_bases(index, "b.py", "W", "");
    expect_bases(index, "b.py", "V", "");
}

TEST("/index/relations", aliases_are_followed)
{
    static const TestFile files[] = {
        {"m/__init__.py", "I|Matrix|1|.dense|MutableMatrix\n"},
        {"m/dense.py", "C|MutableDense|1|1|1|2|\nA|MutableMatrix|3|3|MutableDense\nA|Matrix|4|4|"
                       "MutableMatrix\n"
                       "A|Odd|5|5|Odd\nA|Loop1|6|6|Loop2\nA|Loop2|7|7|Loop1\n"},
        {"u.py", "I|Matrix|1|m|Matrix\nI|dense|2|m|dense\nC|U|3|3|3|4|Matrix\nC|V|5|5|5|6|dense.Matrix\n"},
        {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "u.py", "U", "m/dense.py:MutableDense");
    expect_bases(index, "u.py", "V", "m/dense.py:MutableDense");
    expect_class(index, "Matrix", "m/dense.py:MutableDense");
    expect_class(index, "m.Matrix", "m/dense.py:MutableDense");
    expect_class(index, "Odd", "");
    expect_class(index, "Loop1", "");
}

TEST("/index/relations", circular_star_imports_end)
{
    static const TestFile files[] = {{"p/__init__.py", "I|*|1|.a|*\nI|*|2|.b|*\n"},
                                     {"p/a.py", "I|*|1|.b|*\n"},
                                     {"p/b.py", "I|*|1|.a|*\nC|B|2|2|2|3|\n"},
                                     {"q.py", "C|B|1|1|1|2|\n"},
                                     {"u.py", "I|*|1|p|*\nC|U|2|2|2|3|B\nC|V|4|4|4|5|NoSuch\n"},
                                     {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "u.py", "U", "p/b.py:B");
    expect_bases(index, "u.py", "V", "");
}

TEST("/index/relations", attribute_bases_are_resolved)
{
    static const TestFile files[] = {{"django/db/models/__init__.py", "I|Model|1|django.db.models.base|Model\n"},
                                     {"django/db/models/base.py", "C|Model|1|1|1|2|\n"},
                                     {"django/db/__init__.py", ""},
                                     {"django/__init__.py", ""},
                                     {"app/m.py",
                                      "I|models|1|django.db|models\nC|A|2|2|2|4|models.Model\nC|A.Meta|3|3|3|4|\n"
                                      "C|B|5|5|5|7|A\nC|B.Meta|6|6|6|7|A.Meta\nC|C|8|8|8|9|unknown.Model\n"},
                                     {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "app/m.py", "A", "django/db/models/base.py:Model");
    expect_bases(index, "app/m.py", "B.Meta", "app/m.py:A.Meta");
    expect_bases(index, "app/m.py", "C", "django/db/models/base.py:Model");
}

TEST("/index/relations", packages_are_imported_from_the_nearest_root)
{
    static const TestFile files[] = {{"build/lib/pkg/__init__.py", ""},
                                     {"build/lib/pkg/a.py", "C|A|1|1|1|2|\n"},
                                     {"src/pkg/__init__.py", ""},
                                     {"src/pkg/a.py", "C|A|1|1|1|2|\n"},
                                     {"src/pkg/b.py", "I|A|1|pkg.a|A\nC|B|2|2|2|3|A\n"},
                                     {"src/pkg/enum.py", "C|Enum|1|1|1|2|\n"},
                                     {"src/pkg/sub/__init__.py", ""},
                                     {"src/pkg/sub/c.py", "I|Enum|1|enum|Enum\nC|C|2|2|2|3|Enum\n"},
                                     {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "src/pkg/b.py", "B", "src/pkg/a.py:A");
    /* the base is the standard library's enum, not pkg.enum */
    expect_bases(index, "src/pkg/sub/c.py", "C", "");
}

TEST("/index/relations", class_of_the_same_name_is_not_its_own_base)
{
    static const TestFile files[] = {{"a.py", "C|A|1|1|1|2|\nC|A|3|3|3|4|A\nC|B|5|5|5|6|B\n"},
                                     {"b.py", "I|A|1|a|A\nC|A|2|2|2|3|A\n"},
                                     {"c.py", "C|A|1|1|1|2|\nC|A|3|3|3|4|\nC|D|5|5|5|6|A\n"},
                                     {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    guint32 second = symbol_of(index, ACR_SYMBOL_CLASS, "a.py", "B") - 1;
    assert_names(index, acr_index_bases(index, second), "a.py:A");
    expect_bases(index, "a.py", "B", "");
    expect_bases(index, "b.py", "A", "a.py:A a.py:A");
    /* the definitions in both branches of an `if` */
    expect_bases(index, "c.py", "D", "c.py:A c.py:A");
}

TEST("/index/relations", inner_scopes_come_before_outer_ones)
{
    static const TestFile files[] = {
        {"a.py", "C|Out|1|1|1|9|\nC|Out.A|2|2|2|3|\nC|Out.B|4|4|4|8|A\nC|Out.B.C|5|5|5|6|A\nC|A|10|"
                 "10|10|11|\n"},
        {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "a.py", "Out.B", "a.py:Out.A");
    expect_bases(index, "a.py", "Out.B.C", "a.py:Out.A");
}

TEST("/index/relations", with_metaclass_stands_for_its_bases)
{
    static const TestFile files[] = {{"a.py",
                                      "C|M|1|1|1|2|\nC|B|3|3|3|4|\nC|C|5|5|5|6|six.with_metaclass(M, B, D[int, "
                                      "str])\nC|D|7|7|7|8|\n"
                                      "C|E|9|9|9|10|with_metaclass(M)\nC|F|11|11|11|12|with_metaclass(f(a, b), B)\n"
                                      "C|G|13|13|13|14|with_metaclass(M, (\nC|H|15|15|15|16|other(M, B)\n"},
                                     {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "a.py", "C", "a.py:B a.py:D");
    expect_bases(index, "a.py", "E", "");
    expect_bases(index, "a.py", "F", "a.py:B");
    expect_bases(index, "a.py", "G", "");
    expect_bases(index, "a.py", "H", "");
}

TEST("/index/relations", ancestors_are_breadth_first_and_cycles_end)
{
    static const TestFile files[] = {
        {"a.py", "C|A|1|1|1|2|\nC|B|3|3|3|4|A\nC|C|5|5|5|6|A\nC|D|7|7|7|8|B^C\nC|X|9|9|9|10|Y\nC|Y|"
                 "11|11|11|12|X^D\n"},
        {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    guint32 d = symbol_of(index, ACR_SYMBOL_CLASS, "a.py", "D"), x = symbol_of(index, ACR_SYMBOL_CLASS, "a.py", "X");
    assert_names(index, acr_index_ancestors(index, d), "a.py:B a.py:C a.py:A");
    assert_names(index, acr_index_ancestors(index, x), "a.py:Y a.py:D a.py:B a.py:C a.py:A");
}

TEST("/index/relations", number_of_ancestors_has_a_limit)
{
    g_autoptr(GString) rows = g_string_new("C|K0|1|1|1|1|\n");
    for (guint i = 1; i <= 600; i++)
        g_string_append_printf(rows, "C|K%u|%u|%u|%u|%u|K%u\n", i, i + 1, i + 1, i + 1, i + 1, i - 1);
    const TestFile files[] = {{"a.py", rows->str}, {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    g_autoptr(GArray) found = acr_index_ancestors(index, symbol_of(index, ACR_SYMBOL_CLASS, "a.py", "K600"));
    g_assert_cmpuint(found->len, ==, ACR_INDEX_MAX_ANCESTORS);
}

TEST("/index/relations", dotted_names_narrow)
{
    static const TestFile files[] = {{"pkg/mod.py", "C|A|1|1|1|5|\nC|A.In|2|2|2|3|\n"},
                                     {"pkg/__init__.py", "I|R|1|.mod|A\nI|Q|2|.mod|A\n"},
                                     {"mod.py", "C|A|1|1|1|2|\n"},
                                     {"badmod.py", "C|A|1|1|1|2|\n"},
                                     {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_class(index, "A", "badmod.py:A mod.py:A pkg/mod.py:A");
    expect_class(index, "mod.A", "mod.py:A pkg/mod.py:A");
    expect_class(index, "pkg.mod.A", "pkg/mod.py:A");
    expect_class(index, "A.In", "pkg/mod.py:A.In");
    expect_class(index, "mod.A.In", "pkg/mod.py:A.In");
    expect_class(index, "R", "pkg/mod.py:A");
    expect_class(index, "pkg.Q", "pkg/mod.py:A");
    expect_class(index, "no.A", "");
    expect_class(index, "", "");
    expect_class(index, ".", "");
    expect_class(index, "..A", "");
    expect_class(index, "A.", "");
}

TEST("/index/relations", hostile_names_cost_nothing)
{
    g_autofree char *dots = g_strnfill(100000, '.');
    g_autofree char *long_name = g_strnfill(200000, 'a');
    g_autofree char *parts = g_strnfill(200000, 'a');
    for (gsize i = 1; i < 200000; i += 2)
        parts[i] = '.';
    g_autofree char *rows =
        g_strdup_printf("C|A|1|1|1|2|%s^%s^%s\nI|x|3|%s|y\nC|B|4|4|4|5|x\n", dots, long_name, parts, dots);
    const TestFile files[] = {{"a.py", rows}, {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    expect_bases(index, "a.py", "A", "");
    expect_bases(index, "a.py", "B", "");
    expect_class(index, parts, "");
    expect_class(index, dots, "");
}
