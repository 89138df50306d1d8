/* Chooses the right reading of each replacement. The combinations of readings of a file are tried
 * in order. Combinations that do not compile are dropped. Of the others, the first combination with
 * the fewest new lint errors is chosen. One lint run handles all files.
 *
 * The result depends only on the texts and the linter's answer. The number of bytes to lint is
 * limited. If the linter fails, the first combination that compiles is kept. */
#include <string.h>

#include "patch/apply_private.h"

#define MAX_COMBINATIONS 64u /* maximum number of combinations of readings in one file */
#define MAX_LINTED 4u        /* maximum number of versions of one file that are linted */
/* Maximum size in bytes of a text that is compiled, because Python needs about 300 times as much
 * memory. For a longer text, the first reading is used without compiling it. */
#define MAX_COMPILED (4u * 1024 * 1024)
/* Maximum total size of the texts in one lint run, in bytes. Pylint takes about 5 s for them, well
 * within its deadline. */
#define MAX_LINT_BYTES (512u * 1024)

/* Whether the file is a .py file, or a script without extension whose first line names Python. */
static bool is_compiled(const char *path, GBytes *bytes)
{
    gsize len = 0;
    const char *slash = strrchr(path, '/'), *text = g_bytes_get_data(bytes, &len);
    bool named = g_str_has_suffix(path, ".py") || g_str_has_suffix(path, ".pyi");
    bool script = !strchr(slash ? slash : path, '.') && len > 2 && memcmp(text, "#!", 2) == 0;
    const char *end = script ? memchr(text, '\n', len) : NULL;
    script = end && g_strstr_len(text, end - text, "python");
    return (named || script) && len <= MAX_COMPILED;
}

static bool is_data(const char *path, GBytes *bytes)
{
    static const char *const suffixes[] = {".json", ".ipynb", ".toml", ".xml", ".ini", ".cfg"};
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++)
        if (g_str_has_suffix(path, suffixes[i]))
            return g_bytes_get_size(bytes) <= MAX_COMPILED;
    return false;
}

/* Moves to the next combination; readings of later edits change first. After the last combination,
 * returns false and selects the first combination again. */
static bool next_combination(const AcrChoice *choice)
{
    for (gsize i = choice->n; i-- > 0;) {
        if (++choice->edits[i]->chosen < choice->edits[i]->readings->len)
            return true;
        choice->edits[i]->chosen = 0;
    }
    return false;
}

/* Builds the file with the chosen readings; owned. */
static GBytes *build(const AcrChoice *choice, GError **error)
{
    g_autofree const AcrSplice **splices = g_new0(const AcrSplice *, choice->n + 1);
    for (gsize i = 0; i < choice->n; i++)
        splices[i] =
            &g_array_index(choice->edits[i]->readings, AcrSplice, choice->edits[i]->chosen);
    return acr_splices_apply(choice->source, splices, choice->n, error);
}

/* Adds to `sound` the combinations that compile. Errors: FAILED (the referee failed on every
 * combination). */
static bool try_all(const AcrReferee *referee, const AcrChoice *choice, GPtrArray *sound,
                    GError **error)
{
    const char *path = choice->source->path;
    g_autoptr(GError) failed = NULL;
    bool answered = false;
    guint tries = 0;
    do {
        g_autoptr(GBytes) bytes = build(choice, error);
        g_autofree char *message = NULL;
        bool ok = false;
        if (!bytes)
            return false;
        if (!is_compiled(path, bytes))
            continue;
        if (referee->compiles(referee->ctx, path, bytes, &ok, &message, failed ? NULL : &failed))
            answered = true;
        if (ok)
            g_ptr_array_add(sound, g_bytes_ref(bytes));
    } while (++tries < MAX_COMBINATIONS && next_combination(choice));
    if (answered || !failed)
        return true;
    g_propagate_prefixed_error(error, g_steal_pointer(&failed), "cannot compile '%s': ", path);
    return false;
}

/* Returns the combinations of one file that compile, as contents; only the first combination if
 * none compiles or if there is no choice. Owned; NULL with `error`. */
static GPtrArray *list_versions(const AcrReferee *referee, const AcrChoice *choice, GError **error)
{
    g_autoptr(GPtrArray) sound = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    bool many = false;
    for (gsize i = 0; i < choice->n; i++)
        many = many || choice->edits[i]->readings->len > 1;
    if (many && referee && is_compiled(choice->source->path, choice->source->bytes) &&
        !try_all(referee, choice, sound, error))
        return NULL;
    for (gsize i = 0; i < choice->n; i++)
        choice->edits[i]->chosen = 0;
    if (sound->len == 0) {
        GBytes *first = build(choice, error);
        if (!first)
            return NULL;
        g_ptr_array_add(sound, first);
    }
    g_ptr_array_set_size(sound, (gint)MIN(sound->len, MAX_LINTED));
    return g_steal_pointer(&sound);
}

static gsize bytes_of(const AcrRefereeFile *file)
{
    gsize bytes = file->before ? g_bytes_get_size(file->before) : 0;
    for (gsize i = 0; i < file->n_after; i++)
        bytes += g_bytes_get_size(file->after[i]);
    return bytes;
}

/* Returns the files for the linter: all versions of each file with a choice, as far as the limit
 * allows, and one version of each other file. *out_asked is the number of files with a choice. */
static GArray *list_files(const AcrChoice *choices, const GPtrArray *versions, gsize *out_asked)
{
    GArray *files = g_array_new(FALSE, FALSE, sizeof(AcrRefereeFile));
    gsize bytes = 0;
    *out_asked = 0;
    for (guint i = 0; i < versions->len; i++) {
        const GPtrArray *sound = versions->pdata[i];
        AcrRefereeFile file = {choices[i].source->path, choices[i].source->bytes,
                               (GBytes *const *)sound->pdata, sound->len};
        if (bytes + bytes_of(&file) > MAX_LINT_BYTES)
            file.n_after = 1;
        else
            bytes += bytes_of(&file);
        *out_asked += file.n_after > 1;
        g_array_append_val(files, file);
    }
    return files;
}

/* Returns the index of the best version: the first version with the fewest errors, or 0 if a count
 * is unknown. */
static gsize best_of(const guint *worse, gsize n)
{
    gsize best = 0;
    for (gsize i = 0; i < n; i++) {
        if (worse[i] == ACR_LINT_UNKNOWN)
            return 0;
        if (worse[i] < worse[best])
            best = i;
    }
    return best;
}

static bool lint(const AcrReferee *referee, AcrChoice *choices, const GPtrArray *versions,
                 GError **error)
{
    gsize asked = 0, total = 0, at = 0;
    g_autoptr(GArray) files = list_files(choices, versions, &asked);
    for (guint i = 0; i < files->len; i++)
        total += g_array_index(files, AcrRefereeFile, i).n_after;
    g_autofree guint *worse = g_new0(guint, total + 1);
    g_autofree char *why = NULL;
    if (asked > 0 && referee && referee->lint &&
        !referee->lint(referee->ctx, (const AcrRefereeFile *)(void *)files->data, files->len, worse,
                       &why, error))
        return false;
    for (guint i = 0; i < files->len; i++) {
        const AcrRefereeFile *file = &g_array_index(files, AcrRefereeFile, i);
        *choices[i].out_after = g_bytes_ref(file->after[best_of(worse + at, file->n_after)]);
        at += file->n_after;
    }
    return true;
}

bool acr_patch_choose_readings(const AcrReferee *referee, AcrChoice *choices, gsize n,
                               GError **error)
{
    g_autoptr(GPtrArray) versions =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    for (gsize i = 0; i < n; i++) {
        GPtrArray *sound = list_versions(referee, &choices[i], error);
        if (!sound)
            return false;
        g_ptr_array_add(versions, sound);
    }
    return lint(referee, choices, versions, error);
}

/* Whether an error occurs in `after` more often than in `before`, regardless of line numbers. Both
 * texts have the form "line 3: …; line 9: …". */
static bool has_new_error(const char *before, const char *after)
{
    g_auto(GStrv) old = g_strsplit(before, "; ", -1);
    g_auto(GStrv) now = g_strsplit(after, "; ", -1);
    for (guint i = 0; now[i]; i++) {
        bool found = false;
        const char *error = strchr(now[i], ':') ? strchr(now[i], ':') : now[i];
        for (guint j = 0; old[j] && !found; j++) {
            found = g_str_has_suffix(old[j], error);
            if (found)
                *old[j] = '\0'; /* so that each error is matched only once */
        }
        if (!found)
            return true;
    }
    return false;
}

bool acr_patch_may_stand(const AcrReferee *referee, const char *path, GBytes *before, GBytes *after,
                         char **out_broken, GError **error)
{
    bool sound = true, was_sound = true, python = is_compiled(path, after);
    g_autofree char *message = NULL, *old = NULL;
    if (!referee || !(python || (before && is_data(path, after))))
        return true;
    if (!referee->compiles(referee->ctx, path, after, &sound, &message, error))
        return false;
    if (!sound && before && g_bytes_get_size(before) <= MAX_COMPILED &&
        !referee->compiles(referee->ctx, path, before, &was_sound, &old, error))
        return false;
    if (!sound && (was_sound || (python && has_new_error(old ? old : "", message))))
        *out_broken = g_steal_pointer(&message);
    return true;
}
