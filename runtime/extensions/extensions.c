/* The loaded extensions: the functions that each extension adds, how often each function failed,
 * and how these functions are called. Each call first looks in the journal. Failures are
 * recorded too, so that a replay switches off a function at the same call as the run. */
#include "extensions/extensions_private.h"

#include <pthread.h>
#include <string.h>

#define MAX_NAME 64u
#define KIND_CHECK "check"
#define IS_OFF "it is switched off after " G_STRINGIFY(ACR_EXTENSION_MAX_FAILURES) " failures"
#define MAX_SUMMARY 1000u

G_DEFINE_QUARK(acr_extensions_error, acr_extensions_error)

typedef struct {
    char *path, *label;   /* `label` is the name of the extension in messages */
    GBytes *source;       /* NULL if the file cannot be read now */
    AcrJson *added;       /* what the file adds, or {"error"} */
    GHashTable *failures; /* "check 'name'" -> number of failures */
    AcrExtensionProcess process;
} Extension;

/* A search call of an extension. */
typedef struct {
    AcrCallSpec spec; /* must be the first member, because a call's spec is cast to the row */
    AcrExtensions *all;
    Extension *extension;
} Row;

struct AcrExtensions {
    AcrExtensionOptions options;
    GPtrArray *list, *rows; /* arrays of Extension and of Row */
    GStringChunk *strings;  /* memory of the rows' strings */
    AcrCalls *calls;
    pthread_mutex_t turn; /* locked by a thread while it parses a log */
};

static void free_extension(gpointer data)
{
    Extension *extension = data;
    acr_extension_process_clear(&extension->process);
    g_clear_pointer(&extension->source, g_bytes_unref);
    acr_json_free(extension->added);
    g_hash_table_unref(extension->failures);
    ACR_FREE(extension->path, extension->label, extension);
}

void acr_extensions_free(AcrExtensions *all)
{
    if (!all)
        return;
    g_ptr_array_unref(all->list);
    acr_calls_free(all->calls);
    g_ptr_array_unref(all->rows);
    g_string_chunk_free(all->strings);
    pthread_mutex_destroy(&all->turn);
    g_free(all);
}

const AcrCalls *acr_extensions_calls(const AcrExtensions *all)
{
    return all ? all->calls : NULL;
}

static void warn(const AcrExtensions *all, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void warn(const AcrExtensions *all, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    all->options.warn(all->options.ctx, line);
}

static bool is_off(const Extension *one, const char *what)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(one->failures, what)) >= ACR_EXTENSION_MAX_FAILURES;
}

static void note_failure(const AcrExtensions *all, Extension *one, const char *what,
                         const char *why)
{
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(one->failures, what)) + 1;
    warn(all, "extension '%s': %s failed: %s", one->label, what, why);
    g_hash_table_replace(one->failures, g_strdup(what), GUINT_TO_POINTER(n));
    if (n == ACR_EXTENSION_MAX_FAILURES)
        warn(all, "extension '%s': %s is switched off after %u failures", one->label, what, n);
}

static AcrJson *refusal(const char *why)
{
    AcrJson *answer = acr_json_new_object();
    acr_json_set_string(answer, "error", why);
    return answer;
}

/* A call of a function in an extension's process; NULL means loading the extension. */
typedef struct {
    AcrExtensions *all;
    Extension *one;
    const AcrJson *question;
    AcrSearch *search;
} Question;

static AcrJson *encode_question(void *call, GError **error)
{
    const Question *asked = call;
    const AcrJson *question = asked->question;
    g_autofree char *text = question ? acr_json_print(question) : NULL;
    g_autofree char *digest = text ? acr_sha256_hex(text, strlen(text)) : NULL;
    return acr_json_of(
        ACR_STRING("extension", asked->one->path),
        ACR_STRING("kind", question ? acr_json_get_string(question, "kind") : "load"),
        ACR_STRING("name", acr_json_get_string(question, "name")), ACR_STRING("question", digest),
        NULL);
}

/* Asks the process. Fails if the process was started with another version of the file. */
static bool ask_process(const Question *asked, AcrJson **out, GError **error)
{
    Extension *one = asked->one;
    const char *digest = acr_json_get_string(one->added, "digest");
    g_autofree char *now = one->source ? acr_sha256_bytes(one->source) : NULL;
    bool is_same = !digest || g_strcmp0(digest, now) == 0;
    if (!one->source || !is_same || !asked->all->options.exe) {
        *out = refusal(!is_same && one->source ? "the file has changed since the run began"
                                               : "the file cannot be read");
        return true;
    }
    return asked->question ? acr_extension_process_ask(&one->process, asked->question,
                                                       asked->search, out, error)
                           : acr_extension_process_load(&one->process, out, error);
}

static AcrJson *question_live(void *call, AcrJson *time, GError **error)
{
    const Question *asked = call;
    AcrJson *answer = NULL;
    if (!ask_process(asked, &answer, error))
        return NULL;
    const char *why = acr_json_get_string(answer, "error"),
               *kind = acr_json_get_string(asked->question, "kind");
    if (why && g_strcmp0(kind, KIND_CHECK) == 0) {
        /* A check that is broken rejects every patch, and each new try would cost money. The failure
         * is not recorded, so that a rerun asks the check again. */
        acr_set_error(error, ACR_EXTENSIONS_ERROR, ACR_EXTENSIONS_ERROR_USAGE,
                      "extension '%s': check '%s' failed: %s; correct it and use another --out, or "
                      "rerun the same command to ask it again",
                      asked->one->label, acr_json_get_string(asked->question, "name"), why);
        acr_json_free(answer);
        return NULL;
    }
    if (!asked->question && asked->one->source) {
        g_autofree char *digest = acr_sha256_bytes(asked->one->source);
        acr_json_set_string(answer, "digest", digest);
    }
    return answer;
}

static const AcrJournalPort question_port = {
    .event = "extension", .encode = encode_question, .live = question_live};

/* Gets the answer from the journal, otherwise from the process. If `question` is NULL, loads the
 * extension. */
static bool ask_extension(AcrExtensions *all, Extension *one, const AcrJson *question,
                          AcrSearch *search, AcrJson **out, GError **error)
{
    Question call = {all, one, question, search};
    return acr_recorded_call(all->options.journal, &question_port, &call, out, error);
}

/* Returns a question; owned. `argument` is taken. */
static AcrJson *make_question(const char *kind, const char *name, AcrJson *argument)
{
    return acr_json_of(ACR_STRING("kind", kind), ACR_STRING("name", name),
                       ACR_JSON("argument", argument), NULL);
}

/* Calls one function. *out (owned) is the function's answer; {"error"} after a failure, which was
 * reported; NULL if the function is switched off. */
static bool ask_hook(AcrExtensions *all, Extension *one, const char *kind, const char *name,
                     const AcrJson *argument, AcrSearch *search, AcrJson **out, GError **error)
{
    g_autofree char *what = g_strdup_printf("%s '%s'", kind, name);
    g_autoptr(AcrJson) question = make_question(kind, name, acr_json_copy(argument));
    *out = NULL;
    if (is_off(one, what))
        return true;
    if (!ask_extension(all, one, question, search, out, error))
        return false;
    const char *why = acr_json_get_string(*out, "error");
    if (why)
        note_failure(all, one, what, why);
    return true;
}

static bool failed_call(const char *why, AcrAnswer *out)
{
    *out = (AcrAnswer){.failed = true,
                       .output = g_strdup_printf("The call failed: %s. Use other arguments or "
                                                 "other calls.\n",
                                                 why),
                       .places = g_ptr_array_new()};
    return true;
}

static GPtrArray *read_places(const AcrJson *list)
{
    GPtrArray *places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    for (const AcrJson *at = acr_json_first(list); at; at = acr_json_next(at)) {
        const char *file = acr_json_get_string(at, "file");
        gint64 start = acr_json_get_int(at, "start", 0), end = acr_json_get_int(at, "end", 0);
        g_ptr_array_add(places, acr_place_new(file ? file : "", (guint)CLAMP(start, 0, G_MAXINT32),
                                              (guint)CLAMP(end, 0, G_MAXINT32), NULL, NULL));
    }
    return places;
}

static AcrJson *arguments_of(const AcrCall *call)
{
    AcrJson *arguments = acr_json_new_object();
    for (guint i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++) {
        bool is_number = call->spec->params[i].type == ACR_PARAM_INTEGER;
        if (!call->values[i])
            continue;
        acr_json_set(arguments, call->spec->params[i].name,
                     is_number ? acr_json_new_int(g_ascii_strtoll(call->values[i], NULL, 10))
                               : acr_json_new_string(call->values[i]));
    }
    return arguments;
}

/* Implements AcrCallAnswer. */
static bool answer_extension_call(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                                  GError **error)
{
    const Row *row = (const Row *)call->spec;
    g_autoptr(AcrJson) arguments = arguments_of(call), said = NULL;
    g_autoptr(GError) reason = NULL;
    const char *name = call->spec->name;
    if (!ask_hook(row->all, row->extension, "call", name, arguments, search, &said, error))
        return false;
    const char *text = acr_json_get_string(said, "text"),
               *why = said ? acr_json_get_string(said, "error") : IS_OFF;
    if (why)
        return failed_call(why, out);
    if (text) {
        g_autofree char *shown = acr_text_shorten(text, ACR_SEARCH_MAX_OUTPUT);
        *out =
            (AcrAnswer){.ok = *shown != '\0',
                        .output = *shown ? g_steal_pointer(&shown) : g_strdup("Found nothing.\n"),
                        .places = g_ptr_array_new()};
        return true;
    }
    g_autoptr(GPtrArray) places = read_places(acr_json_get(said, "places"));
    if (acr_search_show(search, NULL, places, out, &reason))
        return true;
    if (!g_error_matches(reason, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL))
        return acr_pass_error(error, &reason);
    g_autofree char *what = g_strdup_printf("call '%s'", name);
    note_failure(row->all, row->extension, what, reason->message);
    return failed_call(reason->message, out);
}

static bool is_hook_name(const char *name)
{
    gsize len = name ? strlen(name) : 0;
    return len > 0 && len <= MAX_NAME && !g_ascii_isdigit(*name) &&
           strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_") == len;
}

/* Adds a call. Returns the reason why it cannot be added, or NULL. */
static const char *add_call(AcrExtensions *all, Extension *one, const AcrJson *json)
{
    Row *row = g_new0(Row, 1);
    g_ptr_array_add(all->rows, row);
    const char *name = acr_json_get_string(json, "name"),
               *summary = acr_json_get_string(json, "summary");
    if (!is_hook_name(name) || !summary || strlen(summary) > MAX_SUMMARY)
        return "has a name that is not an ASCII identifier, or too long a description";
    *row = (Row){{.name = g_string_chunk_insert(all->strings, name),
                  .summary = g_string_chunk_insert(all->strings, summary),
                  .answer = answer_extension_call},
                 all,
                 one};
    guint n = 0;
    const AcrJson *param = acr_json_first(acr_json_get(json, "params"));
    for (; param && n < ACR_CALL_MAX_PARAMS; param = acr_json_next(param)) {
        const char *about = acr_json_get_string(param, "about"),
                   *otherwise = acr_json_get_string(param, "otherwise");
        name = acr_json_get_string(param, "name");
        if (!is_hook_name(name))
            return "has an argument whose name is not an ASCII identifier";
        row->spec.params[n++] =
            (AcrParam){g_string_chunk_insert(all->strings, name),
                       g_strcmp0(acr_json_get_string(param, "type"), "int") == 0 ? ACR_PARAM_INTEGER
                                                                                 : ACR_PARAM_STRING,
                       about && *about ? g_string_chunk_insert(all->strings, about) : NULL,
                       otherwise ? g_string_chunk_insert(all->strings, otherwise) : NULL};
    }
    return acr_calls_add(all->calls, &row->spec) ? NULL : "has the name of another call";
}

/* Adds the calls. If one cannot be added, the extension is an {"error"}. */
static void take_calls(AcrExtensions *all, Extension *one)
{
    const AcrJson *at = acr_json_first(acr_json_get(one->added, "calls"));
    for (guint n = 0; at && n < ACR_EXTENSION_MAX_HOOKS; at = acr_json_next(at), n++) {
        const char *why = add_call(all, one, at), *name = acr_json_get_string(at, "name");
        if (why) {
            g_autofree char *text = g_strdup_printf("the call %s %s", name ? name : "", why);
            acr_json_free(one->added);
            one->added = refusal(text);
            return;
        }
    }
}

static bool load_extension(AcrExtensions *all, const char *path, GError **error)
{
    Extension *one = g_new0(Extension, 1);
    g_ptr_array_add(all->list, one);
    one->path = g_strdup(path);
    one->label = g_path_get_basename(path);
    one->failures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    one->source = acr_file_read(path, ACR_EXTENSION_MAX_SOURCE, NULL);
    one->process = (AcrExtensionProcess){&all->options, one->path, one->source, {0}, NULL};
    if (!ask_extension(all, one, NULL, NULL, &one->added, error))
        return false;
    take_calls(all, one);
    const char *why = acr_json_get_string(one->added, "error");
    if (!why)
        return true;
    if (all->options.exe && !all->options.keeps_broken)
        return acr_set_error(error, ACR_EXTENSIONS_ERROR, ACR_EXTENSIONS_ERROR_USAGE,
                             "extension '%s' cannot be loaded: %s", one->label, why);
    warn(all, "extension '%s' is left out: %s", one->label, why);
    return true;
}

bool acr_extensions_load(const AcrExtensionOptions *options, AcrExtensions **out, GError **error)
{
    g_autoptr(AcrExtensions) all = NULL;
    *out = NULL;
    if (!options->files || !options->files[0])
        return true;
    all = g_new0(AcrExtensions, 1);
    all->options = *options;
    all->list = g_ptr_array_new_with_free_func(free_extension);
    all->rows = g_ptr_array_new_with_free_func(g_free);
    all->strings = g_string_chunk_new(1024);
    all->calls = acr_calls_new(options->n_own_calls ? options->n_own_calls : G_MAXSIZE,
                               !options->no_history);
    pthread_mutex_init(&all->turn, NULL);
    for (const char *const *at = options->files; *at; at++)
        if (!load_extension(all, *at, error))
            return false;
    *out = g_steal_pointer(&all);
    return true;
}

AcrJson *acr_extensions_describe(const AcrExtensions *all)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; all && i < all->list->len; i++) {
        const Extension *one = all->list->pdata[i];
        AcrJson *row = acr_json_new_object();
        acr_json_set(row, "file", acr_json_new_bytes(one->path, strlen(one->path)));
        for (const AcrJson *at = acr_json_first(one->added); at; at = acr_json_next(at))
            acr_json_set(row, acr_json_key(at), acr_json_copy(at));
        g_autofree char *prompts = acr_extension_prompts(one->path);
        if (prompts)
            acr_json_set_string(row, "prompts", prompts);
        acr_json_append(list, row);
    }
    return list;
}

/* True if the row of "events" is for the event `event`. *out_name is borrowed. */
static bool is_for(const AcrJson *row, const char *event, const char **out_name)
{
    *out_name = acr_json_get_string(row, "name");
    return *out_name && g_strcmp0(acr_json_get_string(row, "kind"), event) == 0;
}

/* Adds a line to *text (owned); does nothing if `text` or `line` is NULL. */
static void add_said_line(char **text, const char *line)
{
    if (!text || !line)
        return;
    char *joined = *text ? g_strconcat(*text, "\n", line, NULL) : g_strdup(line);
    g_free(*text);
    *text = joined;
}

static bool tell_one(AcrExtensions *all, Extension *one, AcrSearch *search, const char *event,
                     const AcrJson *data, char **out_note, char **out_veto, GError **error)
{
    const char *name;
    g_autofree char *kind = g_strconcat("on:", event, NULL);
    const AcrJson *at = acr_json_first(acr_json_get(one->added, "events"));
    for (guint n = 0; at && n < ACR_EXTENSION_MAX_HOOKS; at = acr_json_next(at), n++) {
        g_autoptr(AcrJson) said = NULL;
        if (!is_for(at, event, &name))
            continue;
        if (!ask_hook(all, one, kind, name, data, search, &said, error))
            return false;
        add_said_line(out_note, acr_json_get_string(said, "text"));
        add_said_line(out_veto, acr_json_get_string(said, "veto"));
    }
    return true;
}

bool acr_extensions_tell(AcrExtensions *all, AcrSearch *search, const char *event,
                         const AcrJson *data, char **out_note, char **out_veto, GError **error)
{
    for (guint i = 0; all && i < all->list->len; i++)
        if (!tell_one(all, all->list->pdata[i], search, event, data, out_note, out_veto, error))
            return false;
    return true;
}

static bool has_checks(const AcrExtensions *all)
{
    for (guint i = 0; all && i < all->list->len; i++)
        if (acr_json_size(acr_json_get(((Extension *)all->list->pdata[i])->added, "checks")))
            return true;
    return false;
}

/* Returns the patch as {"diff", "files": [{"path", "before", "after"}]}; owned. */
static AcrJson *describe_patch(AcrSnapshot *before, const AcrOverlay *after, GBytes *diff,
                               GError **error)
{
    g_autoptr(AcrOverlay) without = acr_overlay_new(before);
    g_autoptr(AcrJson) json = acr_json_new_object(), files = acr_json_new_array();
    g_autofree char *text = acr_utf8_repair_bytes(diff);
    g_auto(GStrv) paths = acr_overlay_changed(after);
    for (char **at = paths; *at; at++) {
        const AcrOverlay *const sides[] = {without, after};
        static const char *const names[] = {"before", "after"};
        AcrJson *row = acr_json_new_object();
        acr_json_append(files, row);
        acr_json_set_string(row, "path", *at);
        for (guint i = 0; i < G_N_ELEMENTS(sides); i++) {
            g_autoptr(GBytes) bytes = NULL;
            if (acr_overlay_has(sides[i], *at) && !(bytes = acr_overlay_read(sides[i], *at, error)))
                return NULL;
            acr_json_set(row, names[i], bytes ? acr_json_new_gbytes(bytes) : acr_json_new_null());
        }
    }
    acr_json_set_string(json, "diff", text);
    acr_json_set(json, "files", g_steal_pointer(&files));
    return g_steal_pointer(&json);
}

/* Calls each function in the extension's list `list`. Appends a line with the function's name and
 * its answer to *out_text. A check that gives no answer rejects the patch; its line says why the
 * patch was not checked. */
static bool ask_each(AcrExtensions *all, Extension *one, const char *kind, const char *list,
                     AcrSearch *search, const AcrJson *argument, char **out_text, GError **error)
{
    const AcrJson *at = acr_json_first(acr_json_get(one->added, list));
    for (guint n = 0; at && n < ACR_EXTENSION_MAX_HOOKS; at = acr_json_next(at), n++) {
        const char *name = acr_json_string(at);
        g_autoptr(AcrJson) said = NULL;
        if (!name)
            continue;
        if (!ask_hook(all, one, kind, name, argument, search, &said, error))
            return false;
        const char *text = acr_json_get_string(said, "text"),
                   *why = said ? acr_json_get_string(said, "error") : IS_OFF;
        const char *between = text && strchr(text, '\n') ? ":\n" : ": ";
        if (!text && why && strcmp(kind, KIND_CHECK) == 0) /* only in old run folders */
            text = why, between = " did not check the patch: ";
        g_autofree char *line = text ? g_strconcat(name, between, text, NULL) : NULL;
        add_said_line(out_text, line);
    }
    return true;
}

bool acr_extensions_check(AcrExtensions *all, AcrSearch *search, AcrSnapshot *before,
                          const AcrOverlay *after, GBytes *diff, char **out_why, GError **error)
{
    if (!has_checks(all))
        return true;
    g_autoptr(AcrJson) patch = describe_patch(before, after, diff, error);
    for (guint i = 0; patch && i < all->list->len; i++)
        if (!ask_each(all, all->list->pdata[i], KIND_CHECK, "checks", search, patch, out_why,
                      error))
            return false;
    return patch != NULL;
}

bool acr_extensions_localise(AcrExtensions *all, AcrSearch *search, const char *issue,
                             char **out_text, GError **error)
{
    g_autoptr(AcrJson) argument = acr_json_new_object();
    acr_json_set_string(argument, "issue", issue);
    for (guint i = 0; all && i < all->list->len; i++)
        if (!ask_each(all, all->list->pdata[i], "localiser", "localisers", search, argument,
                      out_text, error))
            return false;
    return true;
}

/* Returns the extension whose list `list` contains `name`; NULL if there is none. */
static Extension *find_extension(const AcrExtensions *all, const char *list, const char *name)
{
    for (guint i = 0; all && name && i < all->list->len; i++) {
        Extension *one = all->list->pdata[i];
        const AcrJson *at = acr_json_first(acr_json_get(one->added, list));
        for (; at; at = acr_json_next(at))
            if (g_strcmp0(acr_json_string(at), name) == 0)
                return one;
    }
    return NULL;
}

const char *acr_extensions_parser(const AcrExtensions *all, const char *name)
{
    const Extension *one = find_extension(all, "parsers", name);
    return one ? acr_json_get_string(one->added, "digest") : NULL;
}

bool acr_extensions_parse(AcrExtensions *all, const char *name, const char *output, AcrJson **out,
                          GError **error)
{
    g_autoptr(AcrJson) argument = acr_json_new_object(), said = NULL;
    acr_json_set_string(argument, "log", output);
    pthread_mutex_lock(&all->turn);
    bool ok = ask_hook(all, find_extension(all, "parsers", name), "parser", name, argument, NULL,
                       &said, error);
    pthread_mutex_unlock(&all->turn);
    const AcrJson *outcomes = acr_json_get(said, "outcomes");
    *out = outcomes ? acr_json_copy(outcomes) : NULL;
    return ok;
}

/* Makes a call whose failure is not counted. Sets *out_answer (owned), or after a failure
 * *out_why (owned). */
static bool ask_once(AcrExtensions *all, Extension *one, const char *kind, const char *name,
                     AcrJson *argument, AcrSearch *search, AcrJson **out_answer, char **out_why,
                     GError **error)
{
    g_autoptr(AcrJson) question = make_question(kind, name, argument);
    if (!ask_extension(all, one, question, search, out_answer, error))
        return false;
    *out_why = g_strdup(acr_json_get_string(*out_answer, "error"));
    return true;
}

bool acr_extensions_test(AcrExtensions *all, guint i, const char *name, AcrSearch *search,
                         char **out_why, GError **error)
{
    g_autoptr(AcrJson) answer = NULL;
    return ask_once(all, all->list->pdata[i], "test", name, acr_json_new_null(), search, &answer,
                    out_why, error);
}

bool acr_extensions_issue(AcrExtensions *all, const char *reference, char **out_text,
                          GError **error)
{
    const char *colon = strchr(reference, ':');
    g_autofree char *scheme = colon ? g_strndup(reference, (gsize)(colon - reference)) : NULL;
    g_autofree char *why = NULL;
    g_autoptr(AcrJson) answer = NULL;
    Extension *one = scheme ? find_extension(all, "sources", scheme) : NULL;
    *out_text = NULL;
    if (!one)
        return true;
    AcrJson *argument = acr_json_new_object();
    acr_json_set_string(argument, "reference", colon + 1);
    if (!ask_once(all, one, "source", scheme, argument, NULL, &answer, &why, error))
        return false;
    const char *text = acr_json_get_string(answer, "text");
    *out_text = g_strdup(text ? text : "");
    return !why ||
           acr_set_error(error, ACR_EXTENSIONS_ERROR, ACR_EXTENSIONS_ERROR_USAGE,
                         "extension '%s': the source '%s' failed: %s", one->label, scheme, why);
}
