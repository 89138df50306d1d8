/*
 * Which reading of each replacement of one file is right. The combinations of readings are tried in
 * order; those that compile remain; among several, the one with fewest new lint errors, then the
 * first.
 */
#include <string.h>

#include "patch/apply_private.h"

#define MAX_LINTED 4u /* combinations that are given to the linter */

static bool is_python(const char *path)
{
    return g_str_has_suffix(path, ".py") || g_str_has_suffix(path, ".pyi");
}

/* The next combination; readings of later edits change first. False after the last. */
static bool next_combination(Located *const *edits, gsize n)
{
    for (gsize i = n; i-- > 0;) {
        if (++edits[i]->chosen < edits[i]->readings->len)
            return true;
        edits[i]->chosen = 0;
    }
    return false;
}

static GBytes *build(const AcrSource *source, Located *const *edits, gsize n, GError **error)
{
    g_autofree const AcrSplice **splices = g_new0(const AcrSplice *, n + 1);
    for (gsize i = 0; i < n; i++)
        splices[i] = &g_array_index(edits[i]->readings, AcrSplice, edits[i]->chosen);
    return acr_fit_apply(source, splices, n, error);
}

static guint lint(const AcrReferee *referee, const AcrSource *source, GBytes *after)
{
    AcrRefereeFile file = {source->path, source->bytes, after};
    guint count = 0;
    return referee->new_errors && referee->new_errors(referee->ctx, &file, 1, &count, NULL)
               ? count
               : G_MAXUINT;
}

static GBytes *pick(const AcrReferee *referee, const AcrSource *source, GPtrArray *sound)
{
    guint best = 0, fewest = G_MAXUINT;
    for (guint i = 0; sound->len > 1 && i < sound->len && i < MAX_LINTED; i++) {
        guint count = lint(referee, source, sound->pdata[i]);
        if (count < fewest) {
            fewest = count;
            best = i;
        }
    }
    return g_bytes_ref(sound->pdata[best]);
}

static bool is_new(const GPtrArray *seen, GBytes *bytes)
{
    for (guint i = 0; i < seen->len; i++)
        if (g_bytes_equal(seen->pdata[i], bytes))
            return false;
    return true;
}

/* Tries the combinations; *out_tried counts those on which the referee gave an answer. */
static bool try_all(const AcrReferee *referee, const AcrSource *source, Located *const *edits,
                    gsize n, GPtrArray *sound, guint *out_tried, GError **error)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    guint tries = 0;
    do {
        g_autoptr(GBytes) bytes = build(source, edits, n, error);
        bool ok = false;
        if (!bytes)
            return false;
        if (!is_new(seen, bytes))
            continue;
        g_ptr_array_add(seen, g_bytes_ref(bytes));
        g_autofree char *message = NULL;
        g_autoptr(GError) failed = NULL;
        if (referee->compiles(referee->ctx, source->path, bytes, &ok, &message, &failed))
            (*out_tried)++;
        else if (error && !*error && tries == 0)
            g_propagate_prefixed_error(error, g_steal_pointer(&failed),
                                       "cannot compile '%s': ", source->path);
        if (ok)
            g_ptr_array_add(sound, g_bytes_ref(bytes));
    } while (++tries < ACR_PATCH_MAX_COMBINATIONS && next_combination(edits, n));
    return true;
}

GBytes *acr_referee_choose(const AcrReferee *referee, const AcrSource *source,
                           Located *const *edits, gsize n, GError **error)
{
    g_autoptr(GPtrArray) sound = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    g_autoptr(GError) failed = NULL;
    guint tried = 0;
    bool many = false;
    for (gsize i = 0; i < n; i++) {
        edits[i]->chosen = 0;
        many = many || edits[i]->readings->len > 1;
    }
    if (!many || !referee || !is_python(source->path))
        return build(source, edits, n, error);
    if (!try_all(referee, source, edits, n, sound, &tried, &failed)) {
        g_propagate_error(error, g_steal_pointer(&failed));
        return NULL;
    }
    if (tried == 0 && failed) {
        g_propagate_error(error, g_steal_pointer(&failed));
        return NULL;
    }
    for (gsize i = 0; i < n; i++)
        edits[i]->chosen = 0;
    return sound->len > 0 ? pick(referee, source, sound) : build(source, edits, n, error);
}

bool acr_referee_accepts(const AcrReferee *referee, const char *path, GBytes *before, GBytes *after,
                         bool *out_ok, char **out_message, GError **error)
{
    bool sound = true, was_sound = true;
    g_autofree char *message = NULL;
    *out_ok = true;
    if (!referee || !is_python(path))
        return true;
    if (!referee->compiles(referee->ctx, path, after, &sound, &message, error))
        return false;
    if (sound)
        return true;
    g_autofree char *unused = NULL;
    if (before && !referee->compiles(referee->ctx, path, before, &was_sound, &unused, error))
        return false;
    *out_ok = !was_sound;
    if (was_sound)
        *out_message = g_steal_pointer(&message);
    return true;
}
