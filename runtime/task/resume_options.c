/* Records the options that determine the result of a run when it begins, and compares them when it
 * is resumed. The issue and the prompts are compared by digest; their texts are in the folder. */
#include "task/run_folder.h"

#include <string.h>

static const char *verb_name(AcrForVerb verb)
{
    return verb == ACR_FOR_REPRODUCE ? "reproduce" : verb == ACR_FOR_VERIFY ? "verify" : "run";
}

static AcrForVerb verb_of(const char *name)
{
    return g_strcmp0(name, "reproduce") == 0 ? ACR_FOR_REPRODUCE
           : g_strcmp0(name, "verify") == 0  ? ACR_FOR_VERIFY
                                             : ACR_FOR_RUN;
}

static void set_digest(AcrJson *json, const char *key, const char *text)
{
    g_autofree char *digest = acr_sha256_hex(text, strlen(text));
    acr_json_set_string(json, key, digest);
}

/* Sets "issue_url" if the issue has a URL. It is not compared, but pull requests use it. */
static void set_issue_url(AcrJson *json, const char *from)
{
    if (!from || !(g_str_has_prefix(from, "https://") || g_str_has_prefix(from, "http://")))
        return;
    g_autofree char *address = g_strndup(from, strcspn(from, "?#"));
    acr_json_set_string(json, "issue_url", address);
}

AcrJson *acr_meta_bound(const AcrRunSpec *spec, const AcrPrompts *prompts)
{
    AcrJson *texts = acr_json_new_object();
    for (guint i = 0; i < ACR_PROMPTS; i++)
        set_digest(texts, acr_prompt_file(i), acr_prompts_text(prompts, i));
    AcrJson *json =
        acr_json_of(ACR_STRING("verb", verb_name(spec->verb)),
                    ACR_JSON("options", acr_run_spec_to_json(spec, ACR_OPTION_BOUND)), NULL);
    g_autofree char *given = g_strconcat(spec->issue_text, spec->script_text, NULL);
    set_digest(json, "issue", given);
    set_issue_url(json, spec->issue_file);
    acr_json_set(json, "prompts", texts);
    return json;
}

char *acr_meta_digest(const AcrRunSpec *spec, const AcrPrompts *prompts)
{
    AcrRunSpec task = *spec; /* borrows all strings of `spec` */
    task.verb = ACR_FOR_RUN;
    task.issue_text = (char *)"";
    g_autoptr(AcrJson) bound = acr_meta_bound(&task, prompts);
    g_autofree char *text = acr_json_print(bound);
    return acr_sha256_hex(text, strlen(text));
}

/* Returns whether `spec` has all options that a run requires, or that have defaults. */
static bool has_all_options(const AcrRunSpec *spec)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        bool is_needed = (option->required & spec->verb) || option->default_value;
        if (is_needed && (option->flags & ACR_OPTION_BOUND) && (option->verbs & spec->verb) &&
            !acr_run_spec_is_given(spec, option))
            return false;
    }
    return spec->repo != NULL;
}

bool acr_meta_read(const AcrJson *meta, AcrRunSpec *out, GError **error)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(verb_of(acr_json_get_string(meta, "verb")));
    if (!acr_run_spec_from_json(&spec, ACR_OPTION_BOUND, acr_json_get(meta, "options"), NULL) ||
        !has_all_options(&spec))
        return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                             "meta.json is damaged: its options cannot be read; use another --out");
    spec.place = g_strdup(acr_json_get_string(meta, ACR_META_PLACE));
    *out = spec;
    memset(&spec, 0, sizeof spec);
    return true;
}

/* Returns whether a JSON value means that the option was not given. */
static bool is_unset(const AcrJson *value)
{
    return acr_json_type(value) == ACR_JSON_NULL ||
           (acr_json_type(value) == ACR_JSON_BOOL && !acr_json_bool(value));
}

/* Returns how the run was started: "without --rounds", "with --rounds 15"; owned; NULL: as now. */
static char *difference_of(const AcrOption *option, const AcrJson *then, const AcrJson *now)
{
    if (acr_json_equal(then, now, NULL) || (is_unset(then) && is_unset(now)))
        return NULL;
    g_autofree char *written = is_unset(then) ? NULL : acr_option_written(option, then);
    return written ? g_strconcat("with ", written, NULL)
                   : g_strconcat("without --", option->name, NULL);
}

/* Returns whether a batch sets the option for each task, instead of passing its own value on. */
static bool is_of_task(const AcrOption *option)
{
    static const char *const names[] = {"repo",  "rev",    "repo-notes",   "sandbox",     "image",
                                        "setup", "python", "test-command", "regressions", NULL};
    return g_strv_contains(names, option->name);
}

/* Finds the first difference of the options that belong to all `verbs`. With `batch`, compares only
 * options that were given to the batch and that it passes on to all of its tasks. */
static char *differing_option(const AcrJson *recorded, const AcrJson *given, AcrForVerb verbs,
                              const AcrRunSpec *batch)
{
    char *found = NULL;
    for (guint i = 0; !found && i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        g_autofree char *key = acr_option_key(option);
        bool is_bound = (option->flags & ACR_OPTION_BOUND) && (option->verbs & verbs) == verbs;
        if (is_bound && (!batch || (!is_of_task(option) && acr_run_spec_is_given(batch, option))))
            found = difference_of(option, acr_json_get(recorded, key), acr_json_get(given, key));
    }
    return found;
}

static bool check_options(const AcrJson *recorded, const AcrJson *given, AcrForVerb verbs,
                          const AcrRunSpec *batch, GError **error)
{
    g_autofree char *found = differing_option(recorded, given, verbs, batch);
    return !found ||
           acr_task_refuse(error, "this run was started %s; %s another --out", found,
                           g_str_has_prefix(found, "without") ? "leave out this option, or use"
                                                              : "use the same value, or");
}

char *acr_meta_difference(const AcrJson *recorded, const AcrRunSpec *spec)
{
    g_autoptr(AcrJson) given = acr_run_spec_to_json(spec, ACR_OPTION_BOUND);
    return differing_option(acr_json_get(recorded, "options"), given, spec->verb, NULL);
}

bool acr_meta_check_batch(const AcrJson *recorded, const AcrRunSpec *batch, GError **error)
{
    AcrRunSpec task = *batch; /* borrows all strings of `batch` */
    task.verb = ACR_FOR_RUN;
    if (batch->reproduce_only || g_strcmp0(acr_json_get_string(recorded, "verb"), "run") != 0)
        return true;
    g_autoptr(AcrJson) given = acr_run_spec_to_json(&task, ACR_OPTION_BOUND);
    return check_options(acr_json_get(recorded, "options"), given, ACR_FOR_RUN | ACR_FOR_SWE_BENCH,
                         batch, error);
}

bool acr_meta_check_task(const AcrJson *recorded, const char *id, const char *issue,
                         const char *commit, GError **error)
{
    const char *rev = acr_json_get_string(acr_json_get(recorded, "options"), "rev");
    g_autofree char *digest = acr_sha256_hex(issue, strlen(issue));
    bool is_same_issue = g_strcmp0(acr_json_get_string(recorded, "issue"), digest) == 0;
    return (is_same_issue && g_strcmp0(rev, commit) == 0) ||
           acr_task_refuse(error,
                           "the %s of '%s' differs from the one that its run was started with; "
                           "use another --out for another data set",
                           is_same_issue ? "commit" : "issue", id);
}

static bool check_prompts(const AcrJson *recorded, const AcrJson *given, GError **error)
{
    for (const AcrJson *text = acr_json_first(given); text; text = acr_json_next(text))
        if (acr_json_get(recorded,
                         acr_json_key(text)) && /* the recorded run is older than this prompt */
            !acr_json_equal(acr_json_get(recorded, acr_json_key(text)), text, NULL))
            return acr_task_refuse(error,
                                   "the prompt %s differs from the one that this run was started "
                                   "with; use another --out",
                                   acr_json_key(text));
    return acr_json_size(recorded) <= acr_json_size(given) ||
           acr_task_refuse(error, "this run was started with different prompts; use another --out");
}

void acr_meta_name_version(const AcrJson *meta, GError *reason)
{
    const char *version = acr_json_get_string(meta, "version");
    if (!reason || !version || strcmp(version, ACR_VERSION) == 0)
        return;
    char *message =
        g_strdup_printf("%s (acr-host %s created this folder; this is acr-host " ACR_VERSION ")",
                        reason->message, version);
    g_free(reason->message);
    reason->message = message;
}

bool acr_meta_check(const AcrJson *recorded, const AcrJson *given, const char *folder,
                    GError **error)
{
    const char *then = acr_json_get_string(recorded, "verb"),
               *now = acr_json_get_string(given, "verb");
    if (g_strcmp0(then, now) != 0)
        return acr_task_refuse(error,
                               "this folder belongs to \"%s\", not \"%s\"; use another --out",
                               then ? then : "", now);
    if (!check_options(acr_json_get(recorded, "options"), acr_json_get(given, "options"),
                       verb_of(now), NULL, error))
        return false;
    if (!acr_json_equal(acr_json_get(recorded, "issue"), acr_json_get(given, "issue"), NULL))
        return acr_task_refuse(error,
                               "the issue%s differs from the one this run was started with (see "
                               "%s/" ACR_FILE_ISSUE "); use another --out",
                               verb_of(now) == ACR_FOR_VERIFY ? " or the script" : "", folder);
    const AcrJson *before = acr_json_get(recorded, ACR_META_CANDIDATES),
                  *after = acr_json_get(given, ACR_META_CANDIDATES);
    if (acr_json_size(before) != acr_json_size(after) ||
        (after && !acr_json_equal(before, after, NULL)))
        return acr_task_refuse(error, "this run was started with different patches; give the same "
                                      "patches, or use another --out");
    if (check_prompts(acr_json_get(recorded, "prompts"), acr_json_get(given, "prompts"), error))
        return true;
    acr_meta_name_version(recorded, error ? *error : NULL);
    return false;
}
