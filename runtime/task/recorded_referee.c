/* The referee of a run. It does not record whether code compiles. It records the linter's answers,
 * because they depend on the machine (the linter's version, other packages, a deadline) and decide
 * between readings of an edit. Even an empty answer is recorded. */
#include "task/recorded.h"

#include <string.h>

static AcrJson *digest_or_null(GBytes *bytes)
{
    g_autofree char *digest = bytes ? acr_sha256_bytes(bytes) : NULL;
    return acr_json_new_string(digest);
}

typedef struct {
    const AcrRecordedReferee *self;
    const AcrRefereeFile *files;
    gsize n, versions; /* number of files, and total number of their versions */
    guint *worse;      /* number of new errors of each version */
} LintCall;

static AcrJson *encode_lint(void *call, GError **error)
{
    LintCall *asked = call;
    const AcrRefereeFile *files = asked->files;
    AcrJson *json = acr_json_new_object(), *list = acr_json_new_array();
    for (gsize i = 0; i < asked->n; i++) {
        AcrJson *after = acr_json_new_array();
        for (gsize k = 0; k < files[i].n_after; k++)
            acr_json_append(after, digest_or_null(files[i].after[k]));
        acr_json_add(list,
                     ACR_JSON("file", acr_json_new_bytes(files[i].path, strlen(files[i].path))),
                     ACR_JSON("before", digest_or_null(files[i].before)), ACR_JSON("after", after));
        asked->versions += files[i].n_after;
    }
    acr_json_set(json, "files", list);
    return json;
}

static AcrJson *lint_live(void *call, AcrJson *time, GError **error)
{
    const LintCall *asked = call;
    const AcrReferee *inner = asked->self->inner;
    g_autofree char *why = NULL;
    if (!inner->lint(inner->ctx, asked->files, asked->n, asked->worse, &why, error))
        return NULL;
    AcrJson *list = acr_json_new_array();
    for (gsize i = 0; i < asked->versions; i++)
        acr_json_append(list, asked->worse[i] == ACR_LINT_UNKNOWN
                                  ? acr_json_new_null()
                                  : acr_json_new_int(asked->worse[i]));
    return acr_json_of(ACR_JSON("worse", list), ACR_STRING("why", why), NULL);
}

static bool read_lint(void *call, const AcrJson *answer, void *out, GError **error)
{
    const LintCall *asked = call;
    const AcrJson *at = acr_json_first(acr_json_get(answer, "worse"));
    for (gsize i = 0; i < asked->versions; i++) {
        gint64 number = acr_json_int(at, -1);
        asked->worse[i] = number < 0 || number > G_MAXINT ? ACR_LINT_UNKNOWN : (guint)number;
        at = acr_json_next(at);
    }
    *(char **)out = g_strdup(acr_json_get_string(answer, "why"));
    return true;
}

static const AcrJournalPort lint_port = {
    .event = "lint", .encode = encode_lint, .live = lint_live, .decode = read_lint};

static bool check_compiles(void *ctx, const char *path, GBytes *source, bool *out_ok,
                           char **out_message, GError **error)
{
    const AcrReferee *inner = ((AcrRecordedReferee *)ctx)->inner;
    return inner->compiles(inner->ctx, path, source, out_ok, out_message, error);
}

static bool lint_recorded(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse,
                          char **out_why, GError **error)
{
    const AcrRecordedReferee *self = ctx;
    LintCall call = {self, files, n, 0, out_worse};
    return acr_recorded_call(self->journal, &lint_port, &call, out_why, error);
}

void acr_recorded_referee_init(AcrRecordedReferee *self, AcrJournal *journal,
                               const AcrReferee *inner)
{
    self->journal = journal;
    self->inner = inner;
    self->referee = (AcrReferee){self, check_compiles, lint_recorded};
}
