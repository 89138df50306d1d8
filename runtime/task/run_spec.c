/* Sets options from strings and converts them to JSON, according to the table of options.
 * acr_run_spec_complete checks options that depend on each other. */
#include "task/run_spec.h"

#include <string.h>

#include "task/task.h"

#define MAX_REPEATS 100 /* maximum number of values of a repeatable option */
#define SCRIPT "script:"

const AcrOption *acr_option_find(const char *name, gsize len, guint verb)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        if (strlen(option->name) == len && memcmp(option->name, name, len) == 0 &&
            (verb == 0 || (option->verbs & verb)))
            return option;
    }
    return NULL;
}

const char *acr_option_nearest(const char *word, guint verb)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < acr_n_options; i++) {
        guint flags = acr_options[i].flags;
        if (verb ? (acr_options[i].verbs & verb) && !(flags & ACR_OPTION_INNER)
                 : flags & ACR_OPTION_CONFIG)
            g_ptr_array_add(names, (char *)acr_options[i].name);
    }
    if (verb) {
        g_ptr_array_add(names, (char *)"help");
        g_ptr_array_add(names, (char *)"help-all");
    }
    g_ptr_array_add(names, NULL);
    return acr_nearest_name(word, (const char *const *)names->pdata);
}

static void *member(const AcrRunSpec *spec, const AcrOption *option)
{
    return (char *)spec + option->offset;
}

static bool is_text_option(const AcrOption *option)
{
    return option->type <= ACR_OPTION_MODEL;
}

static bool is_list_option(const AcrOption *option)
{
    return option->type >= ACR_OPTION_MODELS && option->type <= ACR_OPTION_HEADERS;
}

bool acr_run_spec_is_given(const AcrRunSpec *spec, const AcrOption *option)
{
    const void *at = member(spec, option);
    if (is_text_option(option) || is_list_option(option))
        return *(void *const *)at != NULL;
    if (option->type == ACR_OPTION_FLAG)
        return *(const bool *)at;
    return option->type == ACR_OPTION_NUMBER ? *(const double *)at >= 0 : *(const gint64 *)at >= 0;
}

void acr_run_spec_override(AcrRunSpec *spec, const AcrRunSpec *from)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        bool is_pointer = is_text_option(option) || is_list_option(option);
        G_STATIC_ASSERT(sizeof(double) == sizeof(gint64));
        gsize size = is_pointer                        ? sizeof(void *)
                     : option->type == ACR_OPTION_FLAG ? sizeof(bool)
                                                       : sizeof(gint64);
        if ((option->verbs & from->verb) && acr_run_spec_is_given(from, option))
            memcpy(member(spec, option), member(from, option), size);
    }
}

/* ---- Lifecycle ---- */

AcrRunSpec acr_run_spec_of(AcrForVerb verb)
{
    AcrRunSpec spec = {.verb = verb};
    for (guint i = 0; i < acr_n_options; i++) {
        void *at = member(&spec, &acr_options[i]);
        if (acr_options[i].type == ACR_OPTION_NUMBER)
            *(double *)at = ACR_UNSET;
        else if (!is_text_option(&acr_options[i]) && !is_list_option(&acr_options[i]) &&
                 acr_options[i].type != ACR_OPTION_FLAG)
            *(gint64 *)at = ACR_UNSET;
    }
    if (verb & (ACR_FOR_REPRODUCE | ACR_FOR_VERIFY))
        spec.verify = ACR_VERIFY_ALWAYS;
    if (verb == ACR_FOR_VERIFY) { /* `verify` calls no model, and judges only the given patch */
        spec.models = g_new0(char *, 1);
        spec.attempts = spec.tries = 0;
    }
    return spec;
}

void acr_run_spec_clear(AcrRunSpec *spec)
{
    for (guint i = 0; i < acr_n_options; i++) {
        if (is_text_option(&acr_options[i]))
            g_clear_pointer((char **)member(spec, &acr_options[i]), g_free);
        else if (is_list_option(&acr_options[i]))
            g_clear_pointer((char ***)member(spec, &acr_options[i]), g_strfreev);
    }
    g_clear_pointer(&spec->arguments, g_strfreev);
    g_clear_pointer(&spec->script_text, g_free);
}

/* ---- Setting from text ---- */

static bool refuse_value(GError **error, const AcrOption *option, const char *label,
                         const char *wanted, const char *text)
{
    bool is_secret = option->flags & ACR_OPTION_SECRET;
    return is_secret ? acr_task_refuse(error, "%s must be %s", label, wanted)
                     : acr_task_refuse(error, "%s must be %s, not '%s'", label, wanted, text);
}

/* Makes the path of a script absolute, so that it does not depend on the current folder; owned. */
static char *absolute_script(const char *text)
{
    if (!g_str_has_prefix(text, SCRIPT))
        return g_strdup(text);
    g_autofree char *path = g_canonicalize_filename(text + strlen(SCRIPT), NULL);
    return g_strconcat(SCRIPT, path, NULL);
}

static void set_text(AcrRunSpec *spec, const AcrOption *option, const char *text)
{
    char **at = member(spec, option);
    g_free(*at);
    if (option->type == ACR_OPTION_MODEL)
        *at = absolute_script(text);
    else if (option->type == ACR_OPTION_PROGRAM && strchr(text, '/'))
        *at = g_canonicalize_filename(text, NULL);
    else
        *at = g_strdup(text);
}

/* Returns whether a header has a valid name (RFC 9110), a colon, and no control character. */
static bool is_header(const char *line)
{
    gsize name = strspn(line, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "!#$%&'*+-.^_`|~");
    bool is_plain = true;
    for (const char *at = line; *at; at++)
        is_plain = is_plain && (!g_ascii_iscntrl(*at) || *at == '\t');
    return name > 0 && line[name] == ':' && is_plain;
}

static bool add_to_list(AcrRunSpec *spec, const AcrOption *option, const char *label,
                        const char *text, GError **error)
{
    char ***at = member(spec, option);
    guint n = *at ? g_strv_length(*at) : 0;
    g_autofree char *which = g_strdup_printf("%s number %u", label, n + 1);
    if (n == MAX_REPEATS)
        return acr_task_refuse(error, "%s may be given at most %d times", label, MAX_REPEATS);
    if (option->type == ACR_OPTION_HEADERS && !is_header(text))
        return refuse_value(error, option, which, "'Name: value'", text);
    *at = g_renew(char *, *at, n + 2);
    (*at)[n] = option->type == ACR_OPTION_MODELS  ? absolute_script(text)
               : option->type == ACR_OPTION_FILES ? g_canonicalize_filename(text, NULL)
                                                  : g_strdup(text);
    (*at)[n + 1] = NULL;
    return true;
}

/* Rejects several models in one value: each model needs its own option, because names may contain
 * commas. The path of a script may contain any character. */
static bool check_model(const AcrRunSpec *spec, const char *label, const char *text, GError **error)
{
    if (!strchr(text, ',') || g_str_has_prefix(text, SCRIPT))
        return true;
    g_auto(GStrv) names = g_strsplit(text, ",", -1);
    g_autofree char *between = g_strdup_printf(" %s ", label),
                    *repeated = g_strjoinv(between, names);
    return spec->verb == ACR_FOR_ASK || strcmp(label, "--model") != 0
               ? acr_task_refuse(error, "%s takes one model, not '%s'", label, text)
               : acr_task_refuse(error, "%s takes one model, not '%s'; repeat it: %s %s", label,
                                 text, label, repeated);
}

/* Sets a whole number, or a number with a fraction for the type NUMBER. */
static bool set_in_range(AcrRunSpec *spec, const AcrOption *option, const char *label,
                         const char *text, GError **error)
{
    char *end = NULL;
    gint64 count = option->min - 1;
    bool is_count = option->type == ACR_OPTION_COUNT;
    bool is_plain = !strchr("+-", *text) && !text[strspn(text, "0123456789.eE+-")];
    double number = is_count || !is_plain ? -1 : g_ascii_strtod(text, &end);
    if (is_count && acr_count_parse(text, option->max, &count) && count >= option->min) {
        *(gint64 *)member(spec, option) = count;
        return true;
    }
    if (!is_count && end && !*end && number >= (double)option->min &&
        number <= (double)option->max) {
        *(double *)member(spec, option) = number;
        return true;
    }
    g_autofree char *wanted =
        g_strdup_printf("from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, option->min, option->max);
    return refuse_value(error, option, label, wanted, text);
}

static bool set_word(AcrRunSpec *spec, const AcrOption *option, const char *label, const char *text,
                     GError **error)
{
    g_auto(GStrv) words = g_strsplit(option->words, "|", -1);
    for (guint i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *(gint64 *)member(spec, option) = i;
            return true;
        }
    }
    g_autofree char *listed = g_strjoinv(", ", words),
                    *wanted = g_strconcat("one of ", listed, NULL);
    return refuse_value(error, option, label, wanted, text);
}

static bool set_flag(AcrRunSpec *spec, const AcrOption *option, const char *label, const char *text,
                     GError **error)
{
    bool is_true = strcmp(text, "true") == 0;
    if (!is_true && strcmp(text, "false") != 0)
        return refuse_value(error, option, label, "true or false", text);
    *(bool *)member(spec, option) = is_true;
    return true;
}

bool acr_run_spec_set(AcrRunSpec *spec, const AcrOption *option, const char *label,
                      const char *text, GError **error)
{
    gint64 *number = member(spec, option);
    bool is_model = option->type == ACR_OPTION_MODEL || option->type == ACR_OPTION_MODELS;
    if (is_model && !check_model(spec, label, text, error))
        return false;
    switch (option->type) {
    case ACR_OPTION_TEXT:
    case ACR_OPTION_PATH:
    case ACR_OPTION_PROGRAM:
    case ACR_OPTION_MODEL:
        set_text(spec, option, text);
        return true;
    case ACR_OPTION_MODELS:
    case ACR_OPTION_LIST:
    case ACR_OPTION_FILES:
    case ACR_OPTION_HEADERS:
        return add_to_list(spec, option, label, text, error);
    case ACR_OPTION_COUNT:
    case ACR_OPTION_NUMBER:
        return set_in_range(spec, option, label, text, error);
    case ACR_OPTION_USD:
        return acr_usd_parse(text, number) ||
               refuse_value(error, option, label,
                            "an amount of USD such as 0.25, at most nine million", text);
    case ACR_OPTION_SECONDS:
        return acr_seconds_parse(text, number) ||
               refuse_value(error, option, label, "seconds, above 0 and at most a year", text);
    case ACR_OPTION_WORD:
        return set_word(spec, option, label, text, error);
    case ACR_OPTION_FLAG:
        return set_flag(spec, option, label, text, error);
    }
    g_assert_not_reached();
}

/* ---- Options that depend on each other ---- */

static bool check_required(const AcrRunSpec *spec, GError **error)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        char *const *text = member(spec, option);
        /* a script with an unset variable passes an empty string */
        bool is_empty = !acr_run_spec_is_given(spec, option) || (is_text_option(option) && !**text);
        bool is_unused = spec->verb == ACR_FOR_SWE_BENCH && option->type == ACR_OPTION_MODELS &&
                         (spec->sbfl_only || spec->extract_patches);
        /* the plan of a batch whose tasks are all new does not depend on the folder */
        is_unused = is_unused || (spec->verb == ACR_FOR_SWE_BENCH && text == &spec->out &&
                                  spec->dry_run && !spec->shard && !spec->retry_failed);
        if ((option->required & spec->verb) && is_empty && !is_unused)
            return acr_task_refuse(error, "--%s is missing", option->name);
    }
    return true;
}

const AcrOption *acr_option_conflict(const AcrRunSpec *spec, const AcrOption *option)
{
    const char *name = option->conflicts_with;
    const AcrOption *other = name ? acr_option_find(name, strlen(name), spec->verb) : NULL;
    return other && acr_run_spec_is_given(spec, other) ? other : NULL;
}

static bool check_conflicts(const AcrRunSpec *spec, GError **error)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i], *other = acr_option_conflict(spec, option);
        if (other && acr_run_spec_is_given(spec, option))
            return acr_task_refuse(error, "give --%s or --%s, not both", option->name, other->name);
    }
    return true;
}

/* Returns whether a string is valid UTF-8 without control characters. */
static bool is_label(const char *text)
{
    for (const char *at = text; *at; at++)
        if (g_ascii_iscntrl(*at))
            return false;
    return g_utf8_validate(text, -1, NULL);
}

/* Checks `needs`, before defaults are set. If several verbs share a row, the needed option is
 * required only in verbs that have it. */
static bool check_needs(const AcrRunSpec *spec, GError **error)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        const AcrOption *needed =
            (option->verbs & spec->verb) && option->needs && acr_run_spec_is_given(spec, option)
                ? acr_option_find(option->needs, strlen(option->needs), spec->verb)
                : NULL;
        if (needed && !acr_run_spec_is_given(spec, needed))
            return acr_task_refuse(error, "--%s needs --%s", option->name, needed->name);
    }
    return true;
}

bool acr_run_spec_complete(AcrRunSpec *spec, GError **error)
{
    if (!check_needs(spec, error))
        return false;
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        if ((option->verbs & spec->verb) && option->default_value &&
            !acr_run_spec_is_given(spec, option) &&
            !acr_run_spec_set(spec, option, option->name, option->default_value, error))
            return false;
    }
    bool on_issue = spec->verb & (ACR_FOR_RUN | ACR_FOR_REPRODUCE);
    if (spec->clear && !spec->repo && !(spec->arguments && spec->arguments[0]))
        return true; /* the user wants only to see or clear the cache */
    if (spec->verb == ACR_FOR_VERIFY && !spec->candidates) {
        spec->candidates = g_strsplit(ACR_WORKING_TREE, "/", 1);
        spec->rev = spec->rev ? spec->rev : g_strdup("HEAD");
    }
    if (on_issue && !spec->issue_file && !spec->issue_text)
        return acr_task_refuse(error, "give the issue with --issue FILE or --issue-text TEXT%s",
                               spec->models ? "" : ", and the model with --model PROVIDER/NAME");
    if (!check_required(spec, error) || !check_conflicts(spec, error))
        return false;
    if (spec->tag && !is_label(spec->tag))
        return acr_task_refuse(error, "--tag must be UTF-8 without control characters");
    if (spec->setup && !*spec->setup)
        return acr_task_refuse(error, "--setup is empty");
    if (spec->validate && !*spec->validate)
        return acr_task_refuse(error, "--validate is empty");
    if (spec->test_command && !*spec->test_command)
        return acr_task_refuse(error, "--test-cmd is empty");
    if (spec->attempts == 0 && !spec->candidates)
        return acr_task_refuse(error, "--attempts 0 needs --candidate");
    if (spec->candidates && g_strv_length(spec->candidates) > ACR_MAX_CANDIDATES)
        return acr_task_refuse(error, "--candidate may be given at most %u times",
                               ACR_MAX_CANDIDATES);
    if (spec->apply && spec->rev)
        return acr_task_refuse(
            error, "--apply writes to the working tree and cannot be combined with --rev");
    if (spec->reproduce_only + spec->sbfl_only + !!spec->extract_patches + (spec->grade >= 0) > 1)
        return acr_task_refuse(error,
                               "--reproduce-only, --sbfl-only, --extract-patches and --grade "
                               "exclude each other; to grade extracted patches, run 'acr-host "
                               "eval --predictions OUT/" ACR_FILE_PREDICTIONS "'");
    if (spec->image && spec->sandbox && strcmp(spec->sandbox, ACR_IN_CONTAINER) != 0)
        return acr_task_refuse(error, "--image needs --sandbox " ACR_IN_CONTAINER ", not %s",
                               spec->sandbox);
    return true;
}

const char *acr_run_spec_place(const AcrRunSpec *spec)
{
    if (spec->place || spec->environment)
        return spec->place ? spec->place : ACR_IN_ENVIRONMENT;
    return spec->sandbox ? spec->sandbox : spec->image ? ACR_IN_CONTAINER : ACR_IN_BUBBLEWRAP;
}

/* ---- JSON ---- */

char *acr_option_key(const AcrOption *option)
{
    return g_strdelimit(g_strdup(option->name), "-", '_');
}

static AcrJson *value_to_json(const AcrRunSpec *spec, const AcrOption *option, bool is_bound)
{
    const void *at = member(spec, option);
    if (is_text_option(option)) {
        const char *text = *(char *const *)at;
        g_autofree char *real =
            text && is_bound && option->type == ACR_OPTION_PATH ? acr_path_real(text) : NULL;
        return acr_json_new_string(real ? real : text);
    }
    if (is_list_option(option)) {
        const char *const *texts = *(const char *const *const *)at;
        return texts ? acr_json_new_strings(texts) : acr_json_new_null();
    }
    if (option->type == ACR_OPTION_FLAG)
        return acr_json_new_bool(*(const bool *)at);
    if (option->type == ACR_OPTION_NUMBER)
        return *(const double *)at < 0 ? acr_json_new_null()
                                       : acr_json_new_double(*(const double *)at);
    gint64 number = *(const gint64 *)at;
    if (number < 0)
        return acr_json_new_null();
    if (option->type != ACR_OPTION_WORD)
        return acr_json_new_int(number);
    g_auto(GStrv) words = g_strsplit(option->words, "|", -1);
    return acr_json_new_string(words[number]);
}

AcrJson *acr_run_spec_to_json(const AcrRunSpec *spec, guint flags)
{
    AcrJson *json = acr_json_new_object();
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        if (!(option->verbs & spec->verb) || (option->flags & flags) != flags)
            continue;
        g_autofree char *key = acr_option_key(option);
        acr_json_set(json, key, value_to_json(spec, option, flags & ACR_OPTION_BOUND));
    }
    return json;
}

/* Returns the bytes of a string or of {"base64"}; owned; NULL if the value is neither. */
static char *take_text(const AcrJson *value)
{
    g_autoptr(GBytes) bytes = acr_json_bytes(value);
    return bytes ? acr_bytes_text(bytes) : NULL;
}

/* Sets an option from JSON, in which numbers are in the units of the table, not in those of
 * users. */
static bool set_from_json(AcrRunSpec *spec, const AcrOption *option, const AcrJson *value,
                          GError **error)
{
    bool is_fraction = option->type == ACR_OPTION_USD || option->type == ACR_OPTION_SECONDS;
    if (is_fraction && acr_json_int(value, ACR_UNSET) >= 0) {
        *(gint64 *)member(spec, option) = acr_json_int(value, ACR_UNSET);
        return true;
    }
    bool is_plain = option->type == ACR_OPTION_FLAG || option->type == ACR_OPTION_COUNT ||
                    option->type == ACR_OPTION_NUMBER;
    g_autofree char *text = is_plain ? acr_json_print(value) : take_text(value);
    return text && !is_fraction ? acr_run_spec_set(spec, option, option->name, text, error)
                                : refuse_value(error, option, option->name, "of another type", "");
}

bool acr_run_spec_from_json(AcrRunSpec *spec, guint flags, const AcrJson *json, GError **error)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        bool is_taken = (option->verbs & spec->verb) && (option->flags & flags) == flags;
        g_autofree char *key = acr_option_key(option);
        const AcrJson *value = is_taken ? acr_json_get(json, key) : NULL;
        bool is_array = acr_json_type(value) == ACR_JSON_ARRAY;
        if (acr_json_type(value) == ACR_JSON_NULL)
            continue;
        for (const AcrJson *at = is_array ? acr_json_first(value) : value; at;
             at = is_array ? acr_json_next(at) : NULL)
            if (!set_from_json(spec, option, at, error))
                return false;
    }
    return true;
}

/* Writes each value of an option, preceded by `before`; owned. */
static char *write_values(const AcrOption *option, const AcrJson *value, const char *before)
{
    bool is_list = acr_json_type(value) == ACR_JSON_ARRAY,
         is_flag = option->type == ACR_OPTION_FLAG;
    GString *text = g_string_new(NULL);
    for (const AcrJson *at = is_list ? acr_json_first(value) : value; at;
         at = is_list ? acr_json_next(at) : NULL) {
        g_autofree char *own = take_text(at), *printed = own ? NULL : acr_json_print(at);
        g_string_append_printf(text, "%s%s", text->len ? " " : "", before);
        if (!is_flag || !*before)
            g_string_append_printf(text, "%s%s", *before ? " " : "", own ? own : printed);
    }
    for (gsize i = 0; i < text->len; i++)
        if (g_ascii_iscntrl(text->str[i]))
            text->str[i] = ' ';
    g_autofree char *written = g_string_free(text, FALSE);
    return acr_utf8_repair(written, strlen(written));
}

char *acr_option_written(const AcrOption *option, const AcrJson *value)
{
    g_autofree char *name = g_strconcat("--", option->name, NULL);
    return write_values(option, value, name);
}

char *acr_option_value(const AcrOption *option, const AcrJson *value)
{
    return write_values(option, value, "");
}
