/* search: calls by which a model searches code by its structure or text, and the resolution of bug
 * locations to code.
 *
 * Every call is limited in time and output and always gives an answer, never a crash: if nothing is
 * found, the answer names the nearest symbols and the places where the text occurs. The same index
 * and call give the same bytes. */
#pragma once

#include "base/base.h"
#include "index/index.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_SEARCH_ERROR_FAILED,
    ACR_SEARCH_ERROR_BAD_CALL, /* unknown name, or invalid arguments */
} AcrSearchError;
#define ACR_SEARCH_ERROR acr_search_error_quark()
GQuark acr_search_error_quark(void);

#define ACR_RESULT_SHOW_LIMIT                                                                      \
    3 /* number of results shown in full; the others collapse to files or methods with counts */
#define ACR_SEARCH_MAX_PLACES 1000u        /* maximum number of places that an answer lists */
#define ACR_SEARCH_MAX_OUTPUT (64u * 1024) /* maximum size of the text of one answer in bytes */
#define ACR_SEARCH_MAX_ARGUMENT (16u * 1024)
/* maximum number of lines before and after the line, for get_code_around_line */
#define ACR_SEARCH_MAX_WINDOW 500

/* ---- Calls ---- */

typedef enum { ACR_PARAM_STRING, ACR_PARAM_INTEGER } AcrParamType;

typedef struct {
    const char *name;
    AcrParamType type;
    const char *about;     /* phrase that describes the parameter */
    const char *otherwise; /* the default value as a string; NULL if the parameter is required */
} AcrParam;

/* The type and default of a parameter: `str`, `int`, `int = 10`; owned (g_free). */
char *acr_param_kind(const AcrParam *param) ACR_MUST_USE;

#define ACR_CALL_MAX_PARAMS 4

typedef struct AcrSearch AcrSearch;
typedef struct AcrCallSpec AcrCallSpec;
typedef struct AcrCall AcrCall;
typedef struct AcrAnswer AcrAnswer;

/* Answers a call whose arguments were checked: present, within their bounds, valid UTF-8. `out`
 * is zero-initialised; it is filled on success, also if nothing was found. Errors: FAILED. */
typedef bool (*AcrCallAnswer)(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                              GError **error);

/* A row of the table of calls. Only the table lists the calls. */
struct AcrCallSpec {
    const char *name;
    AcrParam params[ACR_CALL_MAX_PARAMS]; /* the list ends with a parameter without a name */
    const char *summary;                  /* one sentence for the model */
    AcrCallAnswer answer;
};

#define ACR_CALL_HISTORY "search_history" /* the call that reads git's history */

/* The built-in calls, in the order in which they are shown; static. */
const AcrCallSpec *acr_search_call_specs(gsize *out_n);
const AcrCallSpec *acr_search_call_spec(const char *name); /* NULL if unknown */
/* `search_class(class_name: str)`; owned (g_free). */
char *acr_call_usage(const AcrCallSpec *spec) ACR_MUST_USE;

/* A registry of calls. It has the first `n_own` built-in calls (a resumed run uses the number
 * with which it began), search_history only if `has_history`, and then added calls. Functions
 * that bind, show or serve calls take a registry; NULL stands for all built-in calls. A registry
 * does not change while it is used. */
typedef struct AcrCalls AcrCalls;
#define ACR_CALLS_OF_OLD 8 /* number of built-in calls in runs that did not record this number */
AcrCalls *acr_calls_new(gsize n_own, bool has_history) ACR_MUST_USE; /* owned */
AcrCalls *acr_calls_copy(const AcrCalls *calls) ACR_MUST_USE;        /* owned */
void acr_calls_free(AcrCalls *calls);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrCalls, acr_calls_free)
/* Adds a row, borrowed; its `answer` may use call->spec to find its state. Returns false if a
 * call with that name exists. */
bool acr_calls_add(AcrCalls *calls, const AcrCallSpec *spec) ACR_MUST_USE;
gsize acr_calls_n(const AcrCalls *calls);
const AcrCallSpec *acr_calls_at(const AcrCalls *calls, gsize i);            /* borrowed */
const AcrCallSpec *acr_calls_find(const AcrCalls *calls, const char *name); /* NULL if unknown */

/* A call with its arguments bound: values[i] belongs to spec->params[i]. Integers are decimal
 * strings. */
struct AcrCall {
    const AcrCallSpec *spec;
    char *values[ACR_CALL_MAX_PARAMS]; /* owned; NULL: omitted */
};
void acr_call_clear(AcrCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrCall, acr_call_clear)
/* Writes a call in canonical form, `search_class("Prefix")`; owned (g_free). */
char *acr_call_print(const AcrCall *call) ACR_MUST_USE;

/* ---- Calls for programs (call_schema.c) ---- */

/* The JSON schema of a call's arguments: an object in which the members without a default are
 * required; owned. Together with the row's name and summary it makes a tool for MCP or a model's
 * API. */
AcrJson *acr_call_schema(const AcrCallSpec *spec) ACR_MUST_USE;
/* Adds a member (its schema is taken) to the result of acr_call_schema. */
void acr_schema_add(AcrJson *schema, const char *name, AcrJson *member, bool is_required);
/* Checks a JSON object of arguments (NULL: none) against the row, and makes the call. A string
 * of digits is accepted as an integer. `beside` is the name of one more allowed member, or NULL.
 * Errors: BAD_CALL, with a message for the model. */
bool acr_call_from_json(const AcrCallSpec *spec, const AcrJson *arguments, const char *beside,
                        AcrCall *out, GError **error) ACR_MUST_USE;

/* ---- Answers ---- */

/* A range of lines in a file. `klass` is the innermost class around it, dotted for nested
 * classes, or NULL. `func` is the bare name of the innermost function, or NULL. */
typedef struct {
    char *file;       /* owned, like the other strings */
    guint start, end; /* 1-based, inclusive */
    char *klass;
    char *func;
} AcrPlace;
AcrPlace *acr_place_new(const char *file, guint start, guint end, const char *klass,
                        const char *func) ACR_MUST_USE;
void acr_place_free(AcrPlace *place);
/* {"file","start","end","class","func"} */
AcrJson *acr_place_to_json(const AcrPlace *place) ACR_MUST_USE;

/* A line that an answer shows to a person. */
typedef struct {
    const char *file; /* borrowed from the index */
    char *text;       /* owned; without its line end */
    guint line;
    /* position of the match or the definition in the line, in bytes, counted from 1 */
    guint column;
    /* number of the result to which the line belongs, in the order in which results are shown */
    guint place;
    bool is_context; /* the line is shown only because it is near a line with the text */
} AcrShownLine;

struct AcrAnswer {
    bool ok;      /* code was found */
    char *output; /* owned; the text for the model, valid UTF-8 */
    /* array of owned AcrPlace: every place found, at most ACR_SEARCH_MAX_PLACES, unique, in the
     * order in which they are shown */
    GPtrArray *places;
    /* Only in mode `lines`: an array of owned AcrShownLine, the lines of all results. They are
     * the code of a definition, or the lines that contain a text. `notes` (owned) has remarks on
     * the results. */
    GPtrArray *lines;
    char *notes;
};
void acr_answer_clear(AcrAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAnswer, acr_answer_clear)

/* The answer as {"call","ok","output","results"}, where acr_place_to_json makes each result;
 * owned. */
AcrJson *acr_answer_to_json(const char *call, const AcrAnswer *answer) ACR_MUST_USE;
AcrJson *acr_answer_schema(void) ACR_MUST_USE; /* the JSON schema of this object; owned */

/* An index and the contents of its files, which are read on demand and kept. One thread at a
 * time. */
AcrSearch *acr_search_new(AcrIndex *index) ACR_MUST_USE; /* owned; keeps a reference to the index */
void acr_search_free(AcrSearch *search);
/* Options of a search for people. A model's answers must never change, so models use none of
 * these options. */
typedef struct {
    bool lines;  /* answers have `lines` and `notes`; `output` may be incomplete */
    bool tests;  /* search tests, too; definitions in them are found as text */
    bool others; /* search for text in files of other types, too, within their limit */
    /* if something does not occur exactly as written, nothing similar is shown instead */
    bool literal;
    /* a file argument may be a glob pattern, a folder, or a file of any type, or several of these,
     * one a line */
    bool globs;
    bool exact; /* a name of another kind than requested does not count */
    guint most; /* search_history lists at most this number of commits; 0: its default */
    /* number of lines of context shown around each line with a text, before and after it */
    guint before, after;
    const char *only; /* search for callers only in these files; borrowed; NULL: in all files */
} AcrSearchMode;
void acr_search_set_mode(AcrSearch *search, AcrSearchMode mode);
/* Whether a file argument, interpreted in this search's mode, matches a file. */
bool acr_search_has_file(AcrSearch *search, const char *argument);
const AcrIndex *acr_search_index(const AcrSearch *search); /* borrowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSearch, acr_search_free)

/* Answers one call by its row. Finding nothing is not an error. Errors: BAD_CALL (a value is
 * missing), FAILED (an object is missing). */
bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                    GError **error) ACR_MUST_USE;

/* Answers with `heading` and the code at `places` (array of AcrPlace, whose class and function
 * may be unset), in the form of a call's results. An empty list means that nothing was found.
 * Lines after a file's end are ignored. Errors: BAD_CALL (no such file or line; the message says
 * which), FAILED. */
bool acr_search_show(AcrSearch *search, const char *heading, const GPtrArray *places,
                     AcrAnswer *out, GError **error) ACR_MUST_USE;

/* A map as text: all source files with the names of their top-level definitions. If that exceeds
 * ACR_SEARCH_MAX_OUTPUT bytes, files have only the number of definitions, or only folders are
 * listed with counts (the map is longer if a path is not UTF-8). Owned. */
char *acr_search_map(const AcrIndex *index) ACR_MUST_USE;

/* ---- Bug locations ---- */

/* A location as a model names it; `file`, `klass` and `method` may be NULL or imprecise. All
 * members are owned. */
typedef struct {
    char *file, *klass, *method, *intended_behavior;
} AcrBugLocation;
AcrBugLocation *acr_bug_location_new(const char *file, const char *klass, const char *method,
                                     const char *intended) ACR_MUST_USE;
void acr_bug_location_free(AcrBugLocation *location);

/* How a place was found; earlier levels are more certain. */
typedef enum {
    ACR_LOCATE_METHOD_CLASS,
    ACR_LOCATE_METHOD_FILE,
    ACR_LOCATE_CLASS_FILE,
    ACR_LOCATE_CLASS,
    ACR_LOCATE_METHOD,
    ACR_LOCATE_FILE,
} AcrLocateLevel;
const char *acr_locate_level_name(AcrLocateLevel level); /* "method+class" … "file" */

typedef enum {
    ACR_LOCATED_BUG, /* the place that was named */
    /* the class that contains the named place, as context (only its signatures) */
    ACR_LOCATED_CLASS,
    ACR_LOCATED_OVERRIDDEN, /* the method of the nearest ancestor that the named method overrides */
} AcrLocatedRole;
const char *acr_located_role_name(AcrLocatedRole role); /* "bug", "class", "overridden" */

typedef struct {
    AcrPlace *place; /* owned */
    AcrLocatedRole role;
    AcrLocateLevel level;
    char *code; /* owned; the lines of the place, without line numbers */
    /* owned; NULL if none was given; joined if several locations resolve to one place */
    char *intended_behavior;
} AcrLocated;
void acr_located_free(AcrLocated *located);

/* Resolves the locations (array of AcrBugLocation) to code. For each location, the first level
 * with a hit counts. Owned array of AcrLocated, in order, unique by (file, first, last); at most
 * ACR_LOCATE_MAX_PLACES, may be empty. */
#define ACR_LOCATE_MAX_PLACES 50u
GPtrArray *acr_search_locate(AcrSearch *search, const GPtrArray *locations) ACR_MUST_USE;

/* The one of the NULL-terminated `names` that a user may have meant by `word`. The name begins
 * with `word`, or differs from it in a few letters; names with the same letters are preferred.
 * Borrowed from `names`; NULL if there is none. */
const char *acr_nearest_name(const char *word, const char *const *names);
/* The argument with which search_code searches for a text or a pattern, with or without regard
 * to case, anywhere or only as whole words; owned. Errors: BAD_CALL (the pattern is invalid). */
char *acr_search_pattern(const char *text, bool is_pattern, bool is_any_case, bool is_whole,
                         GError **error) ACR_MUST_USE;
/* The version of PCRE2; owned (g_free). */
char *acr_search_library(void) ACR_MUST_USE;
