/*
 * The referee of a run: what compiles is asked of Python each time, what the linter says is asked
 * of the journal first. A linter's word depends on the machine (its version, what is installed
 * beside it, a deadline that fires), and decides between readings of an edit; so each is an event
 * of the run, also that it had nothing to say.
 */
#include "task/recorded.h"

#include <string.h>

static AcrJson *digest_or_null(GBytes *bytes)
{
    g_autofree char *digest = bytes ? acr_sha256_bytes(bytes) : NULL;
    return acr_json_new_string(digest);
}

static AcrJson *request_to_json(const AcrRefereeFile *files, gsize n, gsize *out_versions)
{
    AcrJson *json = acr_json_new_object(), *list = acr_json_new_array();
    *out_versions = 0;
    for (gsize i = 0; i < n; i++) {
        AcrJson *row = acr_json_new_object(), *after = acr_json_new_array();
        for (gsize k = 0; k < files[i].n_after; k++)
            acr_json_append(after, digest_or_null(files[i].after[k]));
        acr_json_set(row, "file", acr_json_new_bytes(files[i].path, strlen(files[i].path)));
        acr_json_set(row, "before", digest_or_null(files[i].before));
        acr_json_set(row, "after", after);
        acr_json_append(list, row);
        *out_versions += files[i].n_after;
    }
    acr_json_set(json, "files", list);
    return json;
}

static AcrJson *answer_to_json(const guint *worse, gsize versions, const char *why)
{
    AcrJson *json = acr_json_new_object(), *list = acr_json_new_array();
    for (gsize i = 0; i < versions; i++)
        acr_json_append(list, worse[i] == ACR_LINT_UNKNOWN ? acr_json_new_null()
                                                           : acr_json_new_int(worse[i]));
    acr_json_set(json, "worse", list);
    acr_json_set_string(json, "why", why);
    return json;
}

static void answer_from_json(const AcrJson *json, guint *out_worse, gsize versions, char **out_why)
{
    const AcrJson *at = acr_json_first(acr_json_get(json, "worse"));
    for (gsize i = 0; i < versions; i++) {
        gint64 number = acr_json_int(at, -1);
        out_worse[i] = number < 0 || number > G_MAXINT ? ACR_LINT_UNKNOWN : (guint)number;
        at = acr_json_next(at);
    }
    *out_why = g_strdup(acr_json_get_string(json, "why"));
}

static bool compiles(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message,
                     GError **error)
{
    const AcrReferee *inner = ((AcrRecordedReferee *)ctx)->inner;
    return inner->compiles(inner->ctx, path, source, out_ok, out_message, error);
}

static bool lint(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why,
                 GError **error)
{
    const AcrRecordedReferee *self = ctx;
    const AcrJson *recorded = NULL;
    gsize versions;
    g_autoptr(AcrJson) asked = request_to_json(files, n, &versions);
    if (!acr_journal_ask(self->journal, "lint", asked, &recorded, error))
        return false;
    if (recorded) {
        answer_from_json(recorded, out_worse, versions, out_why);
        return true;
    }
    gint64 start = g_get_monotonic_time();
    g_autofree char *why = NULL;
    if (!self->inner->lint(self->inner->ctx, files, n, out_worse, &why, error))
        return false;
    AcrJson *time = acr_json_new_object();
    acr_json_set_int(time, "wall_ms", (g_get_monotonic_time() - start) / 1000);
    g_autoptr(AcrJson) record = answer_to_json(out_worse, versions, why);
    if (!acr_journal_append(self->journal, "lint", asked, record, time, error))
        return false;
    *out_why = g_steal_pointer(&why);
    return true;
}

void acr_recorded_referee_init(AcrRecordedReferee *self, AcrJournal *journal,
                               const AcrReferee *inner)
{
    self->journal = journal;
    self->inner = inner;
    self->referee = (AcrReferee){self, compiles, lint};
}
