/* Runs the golden cases of tests/cases/search (their README describes the format). If
 * ACR_UPDATE_CASES is set, rewrites the expected parts with the actual results. */
#include <string.h>

#include "fixture.h"

typedef struct {
    char *head; /* owned; the words after "=== " */
    char *body; /* owned */
} Part;

static void part_free(void *data)
{
    Part *part = data;
    g_free(part->head);
    g_free(part->body);
    g_free(part);
}

static GPtrArray *parts_of(const char *text)
{
    GPtrArray *parts = g_ptr_array_new_with_free_func(part_free);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) body = NULL;
    for (gsize i = 0; lines[i] && (lines[i + 1] || *lines[i]); i++) {
        if (g_str_has_prefix(lines[i], "=== ")) {
            Part *part = g_new0(Part, 1);
            part->head = g_strdup(lines[i] + 4);
            part->body = g_strdup("");
            g_ptr_array_add(parts, part);
        } else if (parts->len) {
            Part *part = g_ptr_array_index(parts, parts->len - 1);
            char *longer = g_strconcat(part->body, lines[i], "\n", NULL);
            g_free(part->body);
            part->body = longer;
        }
    }
    return parts;
}

/* The n-th field after the first word; fields are separated by tabs, and escapes are decoded. NULL
 * if it is missing or "-". */
static char *field(char **words, guint n)
{
    if (n >= g_strv_length(words) || strcmp(words[n], "-") == 0)
        return NULL;
    return g_strcompress(words[n]);
}

/* Writes the file of a part; decodes escapes in "bytes". Returns false for parts of other kinds. */
static bool write_part(const char *dir, const Part *part)
{
    if (g_str_has_prefix(part->head, "file ")) {
        fixture_write(dir, part->head + strlen("file "), part->body, strlen(part->body));
        return true;
    }
    if (!g_str_has_prefix(part->head, "bytes "))
        return false;
    g_auto(GStrv) lines = g_strsplit(part->body, "\n", -1);
    g_autofree char *joined = g_strjoinv("", lines), *bytes = g_strcompress(joined);
    fixture_write(dir, part->head + strlen("bytes "), bytes, strlen(bytes));
    return true;
}

static char *run_call(Fixture *fixture, char **words)
{
    g_autofree char *first = field(words, 2), *second = field(words, 3), *third = field(words, 4);
    g_auto(AcrAnswer) answer = fixture_call(fixture, words[1], first, second, third);
    g_autofree char *places = fixture_places(&answer);
    g_autoptr(GString) out = g_string_new(answer.output);
    g_string_append_printf(out, "--- %s\n", answer.ok ? "ok" : "miss");
    g_string_append_printf(out, "%s%s", places, *places ? "\n" : "");
    return g_strdup(out->str);
}

static char *run_locate(Fixture *fixture, char **words)
{
    g_autofree char *file = field(words, 1), *klass = field(words, 2), *method = field(words, 3);
    g_autoptr(GPtrArray) locations = g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    g_ptr_array_add(locations, acr_bug_location_new(file, klass, method, NULL));
    g_autoptr(GPtrArray) found = acr_search_locate(fixture->search, locations);
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < found->len; i++) {
        const AcrLocated *at = g_ptr_array_index(found, i);
        g_string_append_printf(out, "%s by %s: %s:%u-%u %s %s\n%s", acr_located_role_name(at->role),
                               acr_locate_level_name(at->level), at->place->file, at->place->start, at->place->end,
                               at->place->klass ? at->place->klass : "-", at->place->func ? at->place->func : "-",
                               at->code);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void check(const char *path, const Part *part, char *actual, GString *updated)
{
    g_string_append_printf(updated, "=== %s\n%s", part->head, actual);
    if (!g_getenv("ACR_UPDATE_CASES") && strcmp(actual, part->body) != 0)
        g_error("%s: %s\n--- expected\n%s--- got\n%s", path, part->head, part->body, actual);
    g_free(actual);
}

static void run_case(const void *data)
{
    const char *path = data;
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_autoptr(GPtrArray) parts = parts_of(text);
    g_autoptr(GString) updated = g_string_new(NULL);
    g_string_append_len(updated, text, strstr(text, "=== ") - text);
    char *dir = g_dir_make_tmp("acr-search-XXXXXX", NULL);
    guint files = 0;
    while (files < parts->len && write_part(dir, g_ptr_array_index(parts, files)))
        files++;
    g_auto(Fixture) fixture;
    fixture_init_dir(&fixture, dir);
    guint checked = 0;
    for (guint i = 0; i < files; i++) {
        const Part *part = g_ptr_array_index(parts, i);
        g_string_append_printf(updated, "=== %s\n%s", part->head, part->body);
    }
    for (guint i = files; i < parts->len; i++) {
        const Part *part = g_ptr_array_index(parts, i);
        g_auto(GStrv) words = g_strsplit(part->head, "\t", -1);
        checked += strcmp(words[0], "call") == 0 || strcmp(words[0], "locate") == 0;
        if (strcmp(words[0], "call") == 0)
            check(path, part, run_call(&fixture, words), updated);
        else if (strcmp(words[0], "locate") == 0)
            check(path, part, run_locate(&fixture, words), updated);
        else
            g_error("%s: what is '=== %s'?", path, part->head);
    }
    g_assert_cmpuint(checked, >, 0);
    if (g_getenv("ACR_UPDATE_CASES"))
        g_assert_true(g_file_set_contents(path, updated->str, -1, NULL));
}

GOLDEN_TESTS("/search/cases", "search", run_case)
