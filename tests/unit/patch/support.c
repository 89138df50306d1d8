/* A small outliner and a small referee, which know just enough of Python's layout for the texts of
 * these tests. */
#include <glib/gstdio.h>
#include <string.h>

#include "support.h"

void fixture_init(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    *fixture = (Fixture){.dir = g_dir_make_tmp("acr-patch-XXXXXX", &error)};
    g_assert_no_error(error);
}

void fixture_write(Fixture *fixture, const char *path, const void *data, gsize len)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *full = g_build_filename(fixture->dir, path, NULL);
    g_autofree char *folder = g_path_get_dirname(full);
    assert_ok(acr_dir_make(folder, &error), error);
    g_assert_true(g_file_set_contents(full, data, (gssize)len, &error));
}

static gsize indent_of(const char *line)
{
    return strspn(line, " \t");
}

static bool blank(const char *line)
{
    return line[strspn(line, " \t\r\f\v")] == '\0' || line[indent_of(line)] == '#';
}

/* Last line (1-based) of the block that begins at line `at`. */
static guint block_last(char **lines, guint at)
{
    guint last = at + 1;
    for (guint i = at + 1; lines[i]; i++) {
        if (blank(lines[i]))
            continue;
        if (indent_of(lines[i]) <= indent_of(lines[at]))
            break;
        last = i + 1;
    }
    return last;
}

static bool outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows, GError **error)
{
    gsize len = 0;
    const char *data = g_bytes_get_data(source, &len);
    g_autofree char *text = g_strndup(data ? data : "", len);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) rows = g_string_new(NULL);
    g_autofree char *class_name = NULL;
    for (guint i = 0; lines[i]; i++) {
        const char *line = lines[i] + indent_of(lines[i]);
        bool is_class = g_str_has_prefix(line, "class "), is_def = g_str_has_prefix(line, "def ");
        if (!is_class && !is_def)
            continue;
        const char *from = strchr(line, ' ') + 1;
        g_autofree char *name = g_strndup(from, strcspn(from, "(:"));
        bool inner = indent_of(lines[i]) > 0 && class_name;
        g_autofree char *qualname = inner ? g_strconcat(class_name, ".", name, NULL) : g_strdup(name);
        g_string_append_printf(rows, "%c\t%s\t%u\t%u\t%u\t%u%s\n", is_class ? 'C' : 'D', qualname, i + 1, i + 1, i + 1,
                               block_last(lines, i), is_class ? "\t" : "");
        if (is_class) {
            g_free(class_name);
            class_name = g_strdup(name);
        }
    }
    *out_rows = g_string_free_to_bytes(g_steal_pointer(&rows));
    return true;
}

static bool outline_all(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, outline, ctx, error);
}

static const AcrOutliner outliner = {.version = "small", .outline = outline_all};

void fixture_open(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    fixture->repo = acr_repo_open(fixture->dir, &error);
    g_assert_no_error(error);
    fixture->snapshot = acr_snapshot_of_worktree(fixture->repo, &error);
    g_assert_no_error(error);
    fixture->index = acr_index_build(fixture->snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error);
    g_assert_no_error(error);
}

void fixture_clear(Fixture *fixture)
{
    acr_index_unref(fixture->index);
    acr_snapshot_unref(fixture->snapshot);
    acr_repo_unref(fixture->repo);
    if (fixture->dir)
        g_assert_true(acr_dir_remove(fixture->dir, NULL));
    g_free(fixture->dir);
}

typedef struct {
    gsize indent[64];
    guint depth;
    bool opens; /* the last line of code ended with a colon */
    bool decorates;
    int brackets;
} Layout;

static int count_brackets(const char *line)
{
    int n = 0;
    for (; *line && *line != '#'; line++)
        n += (strchr("([{", *line) != NULL) - (strchr(")]}", *line) != NULL);
    return n;
}

static bool take_line(Layout *layout, const char *line)
{
    gsize indent = indent_of(line);
    bool inside = layout->brackets > 0;
    layout->brackets += count_brackets(line);
    if (layout->brackets < 0)
        return false;
    if (!inside && layout->opens) {
        if (indent <= layout->indent[layout->depth] || layout->depth == 62)
            return false;
        layout->indent[++layout->depth] = indent;
    } else if (!inside) {
        while (layout->depth > 0 && indent < layout->indent[layout->depth])
            layout->depth--;
        if (indent != layout->indent[layout->depth])
            return false;
    }
    const char *code = line + indent;
    if (!inside && layout->decorates && *code != '@' && !g_str_has_prefix(code, "def ") &&
        !g_str_has_prefix(code, "class "))
        return false;
    layout->decorates = inside ? layout->decorates : *code == '@';
    gsize end = strlen(line);
    while (end > 0 && strchr(" \t\r", line[end - 1]))
        end--;
    layout->opens = layout->brackets == 0 && end > 0 && line[end - 1] == ':';
    return true;
}

static bool compiles(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message, GError **error)
{
    gsize len = 0;
    const char *data = g_bytes_get_data(source, &len);
    g_autofree char *text = g_strndup(data ? data : "", len);
    g_auto(GStrv) lines = g_strsplit_set(text, "\n", -1);
    Layout layout = {0};
    *out_ok = true;
    for (guint i = 0; lines[i] && *out_ok; i++) {
        if (blank(lines[i]) || take_line(&layout, lines[i]))
            continue;
        *out_ok = false;
        *out_message = g_strdup_printf("line %u: bad layout", i + 1);
    }
    if (*out_ok && (layout.opens || layout.brackets > 0)) {
        *out_ok = false;
        *out_message = g_strdup("unexpected end of file");
    }
    return true;
}

static guint lint_of(GBytes *bytes)
{
    gsize len = 0;
    guint n = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autofree char *text = g_strndup(data ? data : "", len);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    bool loop = false; /* names bound in the body of a loop are known only there */
    for (guint i = 0; lines[i]; i++) {
        if (indent_of(lines[i]) <= 4)
            loop = false;
        if (strstr(lines[i], "for item in"))
            loop = true;
        n += strstr(lines[i], "item.") && !loop;
    }
    return n;
}

static bool lint(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why, GError **error)
{
    guint *calls = ctx;
    if (calls)
        (*calls)++;
    for (gsize i = 0; i < n; i++) {
        guint before = lint_of(files[i].before), least = G_MAXUINT;
        for (gsize k = 0; k < files[i].n_after; k++) {
            guint after = lint_of(files[i].after[k]);
            out_worse[k] = after > before ? after - before : 0;
            least = MIN(least, out_worse[k]);
        }
        for (gsize k = 0; k < files[i].n_after; k++)
            *out_worse++ -= least;
    }
    return true;
}

static bool no_lint(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why, GError **error)
{
    *out_why = g_strdup("the linter crashed");
    for (gsize i = 0; i < n; i++)
        for (gsize k = 0; k < files[i].n_after; k++)
            *out_worse++ = ACR_LINT_UNKNOWN;
    return true;
}

const AcrReferee *stub_referee(void)
{
    static const AcrReferee referee = {.compiles = compiles, .lint = lint};
    return &referee;
}

const AcrReferee *stub_referee_without_lint(void)
{
    static const AcrReferee referee = {.compiles = compiles, .lint = no_lint};
    return &referee;
}
