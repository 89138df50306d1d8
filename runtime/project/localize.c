/* Ranks code by the tests that execute it: numbers the traced lines, makes a spectrum of the
 * numbers, and converts its ranks to lines and methods of the index. Ignores test files, and files
 * that are not in the index. */
#include "project/project_private.h"

#include <string.h>

typedef struct {
    guint32 file, line;
} Line;

typedef struct {
    const AcrIndex *index;
    GHashTable *numbers; /* file << 32 | line, as gint64 -> number + 1 */
    GArray *lines;       /* array of Line; the index is the line's number */
    GArray *run;         /* array of guint32: numbers of the lines that the current test executed */
    /* how many more lines are accepted; limited, because untrusted tests report the lines */
    guint64 left;
} Numbering;

static void numbering_clear(Numbering *numbering)
{
    g_clear_pointer(&numbering->numbers, g_hash_table_unref);
    g_clear_pointer(&numbering->lines, g_array_unref);
    g_clear_pointer(&numbering->run, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Numbering, numbering_clear)

void acr_localized_clear(AcrLocalized *localized)
{
    acr_test_run_clear(&localized->run);
    g_clear_pointer(&localized->failing, g_ptr_array_unref);
    g_clear_pointer(&localized->lines, g_array_unref);
    g_clear_pointer(&localized->methods, g_array_unref);
}

/* ---- Numbers of lines ---- */

/* maximum number of line numbers read from all tests together */
#define MAX_LINES ((guint64)400 * 1000 * 1000)

/* Returns the last line of a file's last symbol in the index; 0 if the file has no symbols. */
static guint32 last_line(const AcrIndex *index, guint32 file)
{
    const AcrIndexFile *row = acr_index_file(index, file);
    gint32 id = (gint32)(row->first_symbol + row->n_symbols) - 1;
    while (row->n_symbols > 0 && acr_index_symbol(index, (guint32)id)->parent >= 0)
        id = acr_index_symbol(index, (guint32)id)->parent;
    return row->n_symbols > 0 ? acr_index_symbol(index, (guint32)id)->last : 0;
}

static void add_spectrum_line(Numbering *numbering, guint32 file, guint32 line)
{
    gint64 key = (gint64)((guint64)file << 32 | line);
    guint32 number = GPOINTER_TO_UINT(g_hash_table_lookup(numbering->numbers, &key));
    if (number == 0) {
        Line added = {file, line};
        g_array_append_val(numbering->lines, added);
        number = numbering->lines->len;
        g_hash_table_insert(numbering->numbers, g_memdup2(&key, sizeof key),
                            GUINT_TO_POINTER(number));
    }
    number--;
    g_array_append_val(numbering->run, number);
}

/* Adds the lines in ranges such as "1-3,7" of a file, each line once. */
static void add_ranges(Numbering *numbering, guint32 file, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    guint64 line = 1, most = last_line(numbering->index, file);
    for (char **at = parts; *at; at++) {
        char *end;
        guint64 first = g_ascii_strtoull(*at, &end, 10),
                last = *end == '-' ? g_ascii_strtoull(end + 1, NULL, 10) : first;
        last = MIN(last, most);
        for (line = MAX(first, line); line <= last && numbering->left > 0;
             line++, numbering->left--)
            add_spectrum_line(numbering, file, (guint32)line);
    }
}

/* Sets numbering->run to the lines that a test executed. */
static void add_test(Numbering *numbering, const AcrJson *files)
{
    g_array_set_size(numbering->run, 0);
    for (const AcrJson *at = acr_json_first(files); at; at = acr_json_next(at)) {
        gssize file = acr_index_find_file(numbering->index, acr_json_key(at));
        if (file >= 0 && acr_json_string(at))
            add_ranges(numbering, (guint32)file, acr_json_string(at));
    }
}

/* ---- Tests ---- */

/* Returns whether the id is `name`, or ends in `name` after a non-name character. */
static bool is_named(const char *id, const char *name)
{
    gsize len = strlen(id), tail = strlen(name);
    if (tail == 0 || len < tail || strcmp(id + len - tail, name) != 0)
        return false;
    return len == tail || !(g_ascii_isalnum(id[len - tail - 1]) || id[len - tail - 1] == '_');
}

static bool is_wanted(const AcrLocalizing *localizing, const char *id)
{
    const char *const *at = localizing->expected;
    while (at && *at && !is_named(id, *at))
        at++;
    if (at && !*at)
        return false;
    return !localizing->failing || g_strv_contains(localizing->failing, id);
}

/* Counts the passing tests, and lists the tests that count as failing. */
static bool sort_tests(const AcrBaseline *baseline, const AcrLocalizing *localizing,
                       AcrLocalized *out, GError **error)
{
    const char *const *failing = localizing->failing;
    const AcrTestRun *run = &out->run;
    for (guint i = 0; i < run->ids->len; i++) {
        const char *id = run->ids->pdata[i];
        AcrTestOutcome outcome = acr_test_run_outcome(run, id);
        const AcrTested *plain = g_hash_table_lookup(baseline->run.tests, id);
        bool is_flaky = g_ptr_array_find_with_equal_func(baseline->flaky, id, g_str_equal, NULL) ||
                        (plain && acr_test_is_good(plain->outcome));
        out->passing += acr_test_is_good(outcome);
        if (acr_test_is_bad(outcome) && is_wanted(localizing, id) && (failing || !is_flaky))
            g_ptr_array_add(out->failing, g_strdup(id));
    }
    for (const char *const *at = failing; at && *at; at++)
        if (!g_ptr_array_find_with_equal_func(out->failing, *at, g_str_equal, NULL))
            return acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_FAILURE,
                                 "the test '%s' does not fail, or does not exist", *at);
    return out->failing->len > 0 ||
           acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_FAILURE, "no test fails");
}

/* Makes the spectrum; numbers all lines before adding tests, because numbers must not change. */
static AcrSpectrum *make_spectrum(Numbering *numbering, const AcrLocalized *localized)
{
    const AcrJson *lines = localized->run.lines;
    for (const AcrJson *at = acr_json_first(lines); at; at = acr_json_next(at))
        add_test(numbering, at);
    AcrSpectrum *spectrum = acr_spectrum_new(numbering->lines->len);
    for (const AcrJson *at = acr_json_first(lines); at; at = acr_json_next(at)) {
        const char *id = acr_json_key(at);
        bool failed = g_ptr_array_find_with_equal_func(localized->failing, id, g_str_equal, NULL),
             passed = acr_test_is_good(acr_test_run_outcome(&localized->run, id));
        if (!failed && !passed)
            continue;
        add_test(numbering, at);
        acr_spectrum_add(spectrum, failed, (const guint32 *)(gpointer)numbering->run->data,
                         numbering->run->len);
    }
    return spectrum;
}

/* ---- A script as a test ---- */

#define SCRIPT_MODULE "test_acr_script"
#define SCRIPT_TEST "Script", "test_script"

/* Returns the folder of the first test's file, derived from an id of pytest ("a/b.py::C::f") or
 * unittest ("a.b.C.f", if a/b.py exists); owned; NULL for other kinds of ids. */
static char *folder_of_tests(const AcrBaseline *baseline, const AcrOverlay *overlay, bool *out_path)
{
    const char *id = baseline->run.ids->len ? baseline->run.ids->pdata[0] : "";
    const char *end = strstr(id, "::");
    *out_path = end != NULL;
    g_autofree char *file = end ? g_strndup(id, (gsize)(end - id)) : NULL;
    g_auto(GStrv) parts = end ? NULL : g_strsplit(id, ".", -1);
    guint n = parts ? g_strv_length(parts) : 0;
    if (n >= 3) {
        g_clear_pointer(&parts[n - 2], g_free);
        g_free(parts[n - 1]);
        g_autofree char *stem = g_strjoinv("/", parts);
        file = g_strconcat(stem, ".py", NULL);
    }
    return file && acr_overlay_has(overlay, file) ? g_path_get_dirname(file) : NULL;
}

char *acr_project_add_script(const AcrBaseline *baseline, const char *script, AcrOverlay *overlay,
                             GError **error)
{
    bool is_path;
    g_autofree char *folder = folder_of_tests(baseline, overlay, &is_path);
    if (!folder)
        return ACR_NULL(acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_FAILED,
                                      "cannot add a script to the tests of '%s'",
                                      baseline->command));
    bool is_top = strcmp(folder, ".") == 0;
    g_autofree char *path = is_top ? g_strdup(SCRIPT_MODULE ".py")
                                   : g_build_filename(folder, SCRIPT_MODULE ".py", NULL);
    g_autofree char *text =
        g_strdup_printf("import os\nimport runpy\nimport unittest\n\n\n"
                        "class Script(unittest.TestCase):\n    def test_script(self):\n"
                        "        path = os.path.join(os.environ[\"ACR_TESTS_ROOT\"], \"%s\")\n"
                        "        runpy.run_path(path, run_name=\"__main__\")\n",
                        script);
    g_autoptr(GBytes) content = g_bytes_new(text, strlen(text));
    if (!acr_overlay_write(overlay, path, ACR_MODE_FILE, content, error))
        return NULL;
    if (is_path)
        return g_strjoin("::", path, SCRIPT_TEST, NULL);
    g_autofree char *module = g_strdelimit(g_strndup(path, strlen(path) - strlen(".py")), "/", '.');
    return g_strjoin(".", module, SCRIPT_TEST, NULL);
}

/* ---- Places ---- */

static int compare_places(gconstpointer a, gconstpointer b)
{
    const AcrSuspect *x = a, *y = b;
    if (x->rank.score != y->rank.score)
        return x->rank.score > y->rank.score ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static GArray *find_lines(const Numbering *numbering, const AcrSpectrum *spectrum,
                          AcrSpectrumFormula formula)
{
    g_autoptr(GArray) ranked = acr_spectrum_rank(spectrum, formula),
                      all = g_array_new(FALSE, FALSE, sizeof(AcrSuspect));
    GArray *found = g_array_new(FALSE, FALSE, sizeof(AcrSuspect));
    for (guint i = 0; i < ranked->len; i++) {
        AcrRanked rank = g_array_index(ranked, AcrRanked, i);
        const Line *line = &g_array_index(numbering->lines, Line, rank.element);
        AcrSuspect row = {line->file, line->line, line->line, -1, rank};
        g_array_append_val(all, row);
    }
    g_array_sort(all, compare_places);
    for (guint i = 0; i < all->len; i++) {
        const AcrSuspect *row = &g_array_index(all, AcrSuspect, i);
        AcrSuspect *last = found->len ? &g_array_index(found, AcrSuspect, found->len - 1) : NULL;
        if (last && last->file == row->file && last->rank.score == row->rank.score &&
            last->last + 1 == row->first)
            last->last = row->last;
        else
            g_array_append_val(found, *row);
    }
    return found;
}

/* Returns the outermost function or method that contains a line, otherwise the class; -1 if there
 * is neither. */
static gint32 find_owner(const AcrIndex *index, const Line *line)
{
    gint32 class_id, owner;
    acr_index_enclosing(index, line->file, line->line, &class_id, &owner);
    for (gint32 id = owner; id >= 0; id = acr_index_symbol(index, (guint32)id)->parent)
        if (acr_index_symbol(index, (guint32)id)->kind != ACR_SYMBOL_CLASS)
            owner = id;
    return owner >= 0 ? owner : class_id;
}

static GArray *find_methods(const Numbering *numbering, const AcrSpectrum *spectrum,
                            AcrSpectrumFormula formula)
{
    guint n = numbering->lines->len;
    g_autofree guint32 *group_of = g_new(guint32, n);
    g_autoptr(GHashTable) groups = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_autoptr(GArray) symbols = g_array_new(FALSE, FALSE, sizeof(gint32));
    GArray *found = g_array_new(FALSE, FALSE, sizeof(AcrSuspect));
    for (guint i = 0; i < n; i++) {
        const Line *line = &g_array_index(numbering->lines, Line, i);
        gint32 symbol = find_owner(numbering->index, line);
        guint32 group = GPOINTER_TO_UINT(g_hash_table_lookup(groups, GINT_TO_POINTER(symbol + 1)));
        if (symbol >= 0 && group == 0) {
            g_array_append_val(symbols, symbol);
            group = symbols->len;
            g_hash_table_insert(groups, GINT_TO_POINTER(symbol + 1), GUINT_TO_POINTER(group));
        }
        group_of[i] = symbol >= 0 ? group - 1 : ACR_SPECTRUM_NONE;
    }
    g_autoptr(GArray) ranked = acr_spectrum_rank_groups(spectrum, formula, group_of, symbols->len);
    for (guint i = 0; i < ranked->len; i++) {
        AcrRanked rank = g_array_index(ranked, AcrRanked, i);
        gint32 id = g_array_index(symbols, gint32, rank.element);
        const AcrSymbol *symbol = acr_index_symbol(numbering->index, (guint32)id);
        AcrSuspect row = {symbol->file, symbol->first, symbol->last, id, rank};
        g_array_append_val(found, row);
    }
    g_array_sort(found, compare_places);
    return found;
}

static AcrJson *describe_place(const AcrIndex *index, const AcrSuspect *suspect, bool is_method)
{
    AcrJson *row = acr_json_new_object(), *rank = acr_json_new_array();
    acr_json_set_string(row, "file", acr_index_file(index, suspect->file)->path);
    if (is_method) {
        acr_json_set_string(row, "class", acr_index_class_of(index, (guint32)suspect->symbol));
        acr_json_set_string(row, "func", acr_index_func_of(index, (guint32)suspect->symbol));
    }
    acr_json_set_int(row, "start", suspect->first);
    acr_json_set_int(row, "end", suspect->last);
    acr_json_set(row, "score", acr_json_new_double(suspect->rank.score));
    acr_json_append(rank, acr_json_new_int(suspect->rank.first));
    acr_json_append(rank, acr_json_new_int(suspect->rank.last));
    acr_json_set(row, "rank", rank);
    return row;
}

AcrJson *acr_suspects_to_json(const AcrIndex *index, const GArray *suspects, guint most,
                              bool is_methods)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < MIN(suspects->len, most); i++)
        acr_json_append(list,
                        describe_place(index, &g_array_index(suspects, AcrSuspect, i), is_methods));
    return list;
}

/* ---- The ranking ---- */

bool acr_project_localize(const AcrProject *project, const AcrBaseline *baseline,
                          const AcrLocalizing *localizing, AcrLocalized *out, GError **error)
{
    g_auto(AcrLocalized) found = {.failing = g_ptr_array_new_with_free_func(g_free)};
    g_auto(Numbering) numbering = {
        .index = localizing->index,
        .numbers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
        .lines = g_array_new(FALSE, FALSE, sizeof(Line)),
        .run = g_array_new(FALSE, FALSE, sizeof(guint32)),
        .left = MAX_LINES,
    };
    AcrTestOrder asked = {.plan = baseline->plan,
                          .overlay = localizing->overlay,
                          .time_ms = project->time_ms,
                          .is_traced = true,
                          .has_imports = localizing->has_imports};
    bool may_fail = localizing->failing || localizing->expected || localizing->overlay ||
                    acr_test_run_count(&baseline->run, ACR_TESTED_FAILED) +
                            acr_test_run_count(&baseline->run, ACR_TESTED_ERROR) >
                        0;
    if (!may_fail)
        return acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_FAILURE,
                             "no test fails");
    if (!acr_project_run(project, &asked, &found.run, error) ||
        !sort_tests(baseline, localizing, &found, error))
        return false;
    g_autoptr(AcrSpectrum) spectrum = make_spectrum(&numbering, &found);
    if (numbering.lines->len == 0) {
        bool is_broken =
            baseline->tried->len && !acr_test_run_count(&baseline->run, ACR_TESTED_PASSED);
        return acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_FAILURE, "%s",
                             is_broken ? (const char *)baseline->tried->pdata[0]
                                       : "the test runner does not report which lines the tests "
                                         "run");
    }
    found.is_whole =
        acr_test_run_is_whole(&found.run) && found.run.has_all_lines && numbering.left > 0;
    found.lines = find_lines(&numbering, spectrum, localizing->formula);
    found.methods = find_methods(&numbering, spectrum, localizing->formula);
    *out = found;
    found = (AcrLocalized){0};
    return true;
}
