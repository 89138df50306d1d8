/* Runs the golden cases: tests/cases/patch/NAME.txt, one case per file; the README there describes
 * the format. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

typedef struct {
    char *kind, *rest; /* "== kind rest" */
    char *body;        /* up to the next heading, with its last line end */
} Section;

static void section_free(gpointer data)
{
    Section *section = data;
    g_free(section->kind);
    g_free(section->rest);
    g_free(section->body);
    g_free(section);
}

static GPtrArray *read_case(const char *path)
{
    GPtrArray *sections = g_ptr_array_new_with_free_func(section_free);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, &error));
    const char *at = text;
    while (*at) {
        const char *next = strstr(at, "\n== ");
        gsize len = next ? (gsize)(next + 1 - at) : strlen(at);
        if (g_str_has_prefix(at, "== ")) {
            g_autofree char *all = g_strndup(at + 3, len - 3);
            char *body = strchr(all, '\n');
            g_assert_nonnull(body);
            *body++ = '\0';
            char *rest = strchr(all, ' ');
            Section *section = g_new0(Section, 1);
            section->rest = g_strdup(rest ? g_strstrip(rest) : "");
            if (rest)
                *rest = '\0';
            section->kind = g_strdup(all);
            section->kind[strcspn(section->kind, " ")] = '\0';
            section->body = g_strdup(body);
            g_ptr_array_add(sections, section);
        }
        at += len;
    }
    return sections;
}

static bool has_word(char **words, const char *word)
{
    return g_strv_contains((const char *const *)words, word);
}

/* The bytes of a file: the section's text, changed as its words say. `\t`, `\s` and `\\` stand for
 * tab, blank, backslash. */
static GBytes *section_bytes(const Section *section, char **words)
{
    static const char escaped[] = "ts0\\", meant[] = "\t \0\\";
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    if (has_word(words, "bom"))
        g_string_append(text, "\xef\xbb\xbf");
    bool escapes = has_word(words, "escapes");
    for (const char *at = section->body; *at; at++) {
        if (*at == '\n' && has_word(words, "crlf"))
            g_string_append(text, "\r\n");
        else if (*at == '\n' && has_word(words, "cr"))
            g_string_append(text, "\r");
        else if (escapes && *at == '\\' && at[1] && strchr(escaped, at[1]))
            g_string_append_c(text, meant[strchr(escaped, *++at) - escaped]);
        else
            g_string_append_c(text, *at);
    }
    while (has_word(words, "no-newline") && text->len > 0 && strchr("\r\n", text->str[text->len - 1]))
        g_string_truncate(text, text->len - 1);
    if (!has_word(words, "latin-1"))
        return g_string_free_to_bytes(g_steal_pointer(&text));
    gsize len = 0;
    char *latin = made(g_convert(text->str, (gssize)text->len, "ISO-8859-1", "UTF-8", NULL, &len, &error), error);
    return g_bytes_new_take(latin, len);
}

typedef struct {
    Fixture fixture;
    GPtrArray *sections;
    GArray *hints;
    GBytes *answer;
    const AcrReferee *referee;
    AcrReferee counted; /* a referee that counts lint runs */
    guint lint_runs;
    AcrPatchResult result;
} Run;

static void run_answer(Run *run)
{
    g_autoptr(GError) error = NULL;
    gsize len = 0;
    const char *answer = g_bytes_get_data(run->answer, &len);
    AcrPatchContext context = {.snapshot = run->fixture.snapshot,
                               .index = run->fixture.index,
                               .referee = run->referee,
                               .hints = (const AcrPatchHint *)(void *)run->hints->data,
                               .n_hints = run->hints->len};
    assert_ok(acr_patch_apply(&context, answer, len, &run->result, &error), error);
}

static void write_file(Fixture *fixture, const Section *section, char **words)
{
    g_autoptr(GBytes) bytes = section_bytes(section, words);
    g_autofree char *path = g_build_filename(fixture->dir, words[0], NULL);
    gsize len = 0;
    const void *data = g_bytes_get_data(bytes, &len);
    if (has_word(words, "link")) {
        g_autofree char *target = g_strndup(data, strcspn(data, "\n"));
        g_assert_cmpint(symlink(target, path), ==, 0);
        return;
    }
    fixture_write(fixture, words[0], data ? data : "", len);
    if (has_word(words, "executable"))
        g_assert_cmpint(chmod(path, 0755), ==, 0);
}

static void set_up(Run *run)
{
    fixture_init(&run->fixture);
    run->hints = g_array_new(FALSE, FALSE, sizeof(AcrPatchHint));
    run->referee = stub_referee();
    for (guint i = 0; i < run->sections->len; i++) {
        const Section *section = run->sections->pdata[i];
        g_auto(GStrv) words = g_strsplit(section->rest, " ", -1);
        if (strcmp(section->kind, "repo") == 0) {
            write_file(&run->fixture, section, words);
        } else if (strcmp(section->kind, "answer") == 0) {
            run->answer = section_bytes(section, words);
        } else if (strcmp(section->kind, "hint") == 0) {
            AcrPatchHint hint = {g_intern_string(words[0]), (guint)g_ascii_strtoull(words[1], NULL, 10),
                                 (guint)g_ascii_strtoull(words[2], NULL, 10)};
            g_array_append_val(run->hints, hint);
        } else if (strcmp(section->kind, "referee") == 0) {
            run->referee = strcmp(section->rest, "none") == 0 ? NULL : stub_referee_without_lint();
        }
    }
    if (run->referee) {
        run->counted = *run->referee;
        run->counted.ctx = &run->lint_runs;
        run->referee = &run->counted;
    }
    fixture_open(&run->fixture);
    g_assert_nonnull(run->answer);
}

static char *edits_text(const AcrPatchResult *result)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < result->edits->len; i++) {
        const AcrEditOutcome *outcome = result->edits->pdata[i];
        g_string_append_printf(text, "%s %s %s %u-%u\n", outcome->file ? outcome->file : "-",
                               acr_level_name(outcome->level), acr_edit_status_name(outcome->status), outcome->start,
                               outcome->end);
    }
    return g_strdup(text->str);
}

static void check_file(const Run *run, const Section *section)
{
    g_auto(GStrv) words = g_strsplit(section->rest, " ", -1);
    g_autoptr(GBytes) wanted = section_bytes(section, words);
    g_autoptr(GError) error = NULL;
    g_assert_nonnull(run->result.overlay);
    g_autoptr(GBytes) got = made(acr_overlay_read(run->result.overlay, words[0], &error), error);
    gsize wanted_len = 0, got_len = 0;
    const void *wanted_data = g_bytes_get_data(wanted, &wanted_len), *got_data = g_bytes_get_data(got, &got_len);
    if (!g_bytes_equal(wanted, got))
        g_test_message("got:\n%.*s", (int)got_len, (const char *)got_data);
    g_assert_cmpmem(got_data, got_len, wanted_data, wanted_len);
}

static void check_message(const Run *run, const Section *section, bool wanted)
{
    g_auto(GStrv) lines = g_strsplit(section->body, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        if (*lines[i] == '\0')
            continue;
        if ((strstr(run->result.message, lines[i]) != NULL) != wanted)
            g_test_message("message:\n%s", run->result.message);
        g_assert_true((strstr(run->result.message, lines[i]) != NULL) == wanted);
    }
}

/* The diff must contain each line. */
static void check_diff(const Run *run, const Section *section)
{
    gsize len = 0;
    g_assert_nonnull(run->result.diff);
    const char *data = g_bytes_get_data(run->result.diff, &len);
    g_autofree char *diff = g_strndup(data, len);
    g_auto(GStrv) lines = g_strsplit(section->body, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_autofree char *line = g_strconcat(lines[i], "\n", NULL);
        if (*lines[i] != '\0' && !strstr(diff, line))
            g_test_message("diff:\n%s", diff);
        g_assert_true(*lines[i] == '\0' || strstr(diff, line));
    }
}

static void check_section(const Run *run, const Section *section)
{
    if (strcmp(section->kind, "status") == 0) {
        if (strcmp(acr_extract_status_name(run->result.status), section->rest) != 0)
            g_test_message("message:\n%s", run->result.message);
        g_assert_cmpstr(acr_extract_status_name(run->result.status), ==, section->rest);
    } else if (strcmp(section->kind, "edits") == 0) {
        g_autofree char *edits = edits_text(&run->result);
        g_assert_cmpstr(edits, ==, section->body);
    } else if (strcmp(section->kind, "file") == 0) {
        check_file(run, section);
    } else if (strcmp(section->kind, "lint-runs") == 0) {
        g_autofree char *runs = g_strdup_printf("%u", run->lint_runs);
        g_assert_cmpstr(runs, ==, section->rest);
    } else if (strcmp(section->kind, "no-file") == 0) {
        g_assert_nonnull(run->result.overlay);
        g_assert_false(acr_overlay_has(run->result.overlay, section->rest));
    } else if (strcmp(section->kind, "diff") == 0) {
        check_diff(run, section);
    } else if (strcmp(section->kind, "message") == 0) {
        check_message(run, section, true);
    } else if (strcmp(section->kind, "not-in-message") == 0) {
        check_message(run, section, false);
    }
}

static void test_case(gconstpointer data)
{
    Run run = {.sections = read_case(data)};
    guint checks = 0;
    set_up(&run);
    run_answer(&run);
    for (guint i = 0; i < run.sections->len; i++) {
        const Section *section = run.sections->pdata[i];
        check_section(&run, section);
        checks += strcmp(section->kind, "status") == 0;
    }
    g_assert_cmpuint(checks, ==, 1);
    g_assert_cmpuint(strlen(run.result.message), <=, ACR_PATCH_MAX_MESSAGE);
    g_assert_true(acr_utf8_is_text(run.result.message, strlen(run.result.message)));
    acr_patch_result_clear(&run.result);
    fixture_clear(&run.fixture);
    g_ptr_array_unref(run.sections);
    g_array_unref(run.hints);
    g_bytes_unref(run.answer);
}

GOLDEN_TESTS("/patch/cases", "patch", test_case)
