/* search: calls with which a model searches code by its structure or text, and the resolution of
 * bug locations to code.
 *
 * Every call is limited in time and output, and always gives an answer. If nothing is found, the
 * answer names the nearest symbols and the places where the text occurs. The same index and call
 * give the same bytes. */
#pragma once

#include "base/base.h"
#include "index/index.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_SEARCH_ERROR_FAILED,
    ACR_SEARCH_ERROR_BAD_CALL, /* unknown call, or invalid arguments */
} AcrSearchError;
#define ACR_SEARCH_ERROR acr_search_error_quark()
GQuark acr_search_error_quark(void);

#define ACR_RESULT_SHOW_LIMIT                                                                      \
    3 /* number of results shown in full; the others are listed by file or method */
#define ACR_SEARCH_MAX_PLACES 1000u        /* maximum number of places that an answer lists */
#define ACR_SEARCH_MAX_OUTPUT (64u * 1024) /* maximum size of the text of one answer in bytes */
#define ACR_SEARCH_MAX_ARGUMENT (16u * 1024)
/* maximum window_size of get_code_around_line: lines before and after the line */
#define ACR_SEARCH_MAX_WINDOW 500

/* ---- Calls ---- */

typedef enum { ACR_PARAM_STRING, ACR_PARAM_INTEGER } AcrParamType;

typedef struct {
    const char *name;
    AcrParamType type;
    const char *about;     /* phrase that describes the parameter */
    const char *otherwise; /* the default value as a string; NULL if the parameter is required */
} AcrParam;

/* Returns the type and default of a parameter: `str`, `int`, `int = 10`; owned (g_free). */
char *acr_param_kind(const AcrParam *param) ACR_MUST_USE;

#define ACR_CALL_MAX_PARAMS 4

typedef struct AcrSearch AcrSearch;
typedef struct AcrCallSpec AcrCallSpec;
typedef struct AcrCall AcrCall;
typedef struct AcrAnswer AcrAnswer;

/* Answers a call whose arguments were checked: they are present, not too long, and valid UTF-8.
 * `out` is zero-initialised; on success it is filled in, even if nothing was found. Errors:
 * FAILED. */
typedef bool (*AcrCallAnswer)(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                              GError **error);

/* A row of the table of calls. */
struct AcrCallSpec {
    const char *name;
    AcrParam params[ACR_CALL_MAX_PARAMS]; /* the list ends with a parameter without a name */
    const char *summary;                  /* one sentence for the model */
    AcrCallAnswer answer;
};

#define ACR_CALL_CALLERS "search_callers"
#define ACR_CALL_HISTORY "search_history" /* name of the call that reads git's history */

/* Returns the built-in calls in the order in which they are shown; static. */
const AcrCallSpec *acr_search_call_specs(gsize *out_n);
const AcrCallSpec *acr_search_call_spec(const char *name); /* NULL if unknown */
/* Returns the call with its parameters: `search_class(class_name: str)`; owned (g_free). */
char *acr_call_usage(const AcrCallSpec *spec) ACR_MUST_USE;

/* A registry of calls: the first `n_own` built-in calls (a resumed run uses the number with which
 * it began), search_history only if `has_history` is set, and the added calls. Functions that bind,
 * show or serve calls take a registry; NULL stands for all built-in calls. A registry does not
 * change while it is used. */
typedef struct AcrCalls AcrCalls;
/* number of built-in calls in old runs, which did not record the number */
#define ACR_CALLS_OF_OLD 8
AcrCalls *acr_calls_new(gsize n_own, bool has_history) ACR_MUST_USE; /* owned */
AcrCalls *acr_calls_copy(const AcrCalls *calls) ACR_MUST_USE;        /* owned */
void acr_calls_free(AcrCalls *calls);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrCalls, acr_calls_free)
/* Adds a row (borrowed), whose `answer` may use call->spec to find its state. Returns false if a
 * call with the same name exists. */
bool acr_calls_add(AcrCalls *calls, const AcrCallSpec *spec) ACR_MUST_USE;
gsize acr_calls_n(const AcrCalls *calls);
const AcrCallSpec *acr_calls_at(const AcrCalls *calls, gsize i);            /* borrowed */
const AcrCallSpec *acr_calls_find(const AcrCalls *calls, const char *name); /* NULL if unknown */
/* Returns the name of the call that is nearest to `name`; borrowed; NULL if none is similar. */
const char *acr_calls_nearest(const AcrCalls *calls, const char *name);

/* A call with its arguments bound: values[i] belongs to spec->params[i]. Integers are decimal
 * strings. */
struct AcrCall {
    const AcrCallSpec *spec;
    char *values[ACR_CALL_MAX_PARAMS]; /* owned; NULL if the argument was omitted */
};
void acr_call_clear(AcrCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrCall, acr_call_clear)
/* Returns a call in canonical form, `search_class("Prefix")`; owned (g_free). */
char *acr_call_print(const AcrCall *call) ACR_MUST_USE;

/* ---- Calls for programs (call_schema.c) ---- */

/* Returns the JSON schema of a call's arguments: an object in which the members without a default
 * are required; owned. The schema forms a tool for MCP or a model's API together with the row's
 * name and summary. */
AcrJson *acr_call_schema(const AcrCallSpec *spec) ACR_MUST_USE;
/* Adds a member to a schema that acr_call_schema returned. `member`, the schema of the new member,
 * is taken. */
void acr_schema_add(AcrJson *schema, const char *name, AcrJson *member, bool is_required);
/* Checks a JSON object of arguments (NULL: none) against the row, and sets *out to the call. A
 * string of digits is accepted as an integer. `beside` is the name of one more allowed member, or
 * NULL. Errors: BAD_CALL, with a message for the model. */
bool acr_call_from_json(const AcrCallSpec *spec, const AcrJson *arguments, const char *beside,
                        AcrCall *out, GError **error) ACR_MUST_USE;

/* ---- Answers ---- */

/* A range of lines in a file. `klass` is the innermost enclosing class, dotted for nested classes,
 * or NULL. `func` is the bare name of the innermost enclosing function, or NULL. */
typedef struct {
    char *file;       /* owned, like the other strings */
    guint start, end; /* 1-based, inclusive */
    char *klass;
    char *func;
} AcrPlace;
AcrPlace *acr_place_new(const char *file, guint start, guint end, const char *klass,
                        const char *func) ACR_MUST_USE;
void acr_place_free(AcrPlace *place);
/* Returns {"file","start","end","class","func"}; owned. */
AcrJson *acr_place_to_json(const AcrPlace *place) ACR_MUST_USE;

/* A line that an answer shows to a person. */
typedef struct {
    const char *file; /* borrowed from the index */
    char *text;       /* owned; the line without its line end */
    guint line;
    /* position of the match or of the definition in the line, in bytes, counted from 1 */
    guint column;
    /* number of the result to which the line belongs, counted from 0 in the order in which results
     * are shown */
    guint place;
    bool is_context; /* the line has no match; it is near a line with a match */
} AcrShownLine;

struct AcrAnswer {
    bool ok;      /* true if code was found */
    bool failed;  /* true if the call could not be answered; `output` says why */
    char *output; /* owned; the text for the model, valid UTF-8 */
    /* array of owned AcrPlace: every place found, at most ACR_SEARCH_MAX_PLACES, unique, in the
     * order in which the places are shown */
    GPtrArray *places;
    /* Array of owned AcrShownLine: the lines of all results, which are the code of a definition or
     * the lines that contain a text. `notes` (owned) has remarks on the results. Both are set only
     * if mode.lines or mode.matches is set. */
    GPtrArray *lines;
    char *notes;
};
void acr_answer_clear(AcrAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAnswer, acr_answer_clear)

/* Returns the answer as {"call","ok","output","results"}, with results made by acr_place_to_json;
 * owned. */
AcrJson *acr_answer_to_json(const char *call, const AcrAnswer *answer) ACR_MUST_USE;
AcrJson *acr_answer_schema(void) ACR_MUST_USE; /* JSON schema of the result of acr_answer_to_json;
                                                * owned */

/* Creates a search over an index. Contents of its files are read on demand and kept in memory. One
 * thread at a time. */
AcrSearch *acr_search_new(AcrIndex *index) ACR_MUST_USE; /* owned; keeps a reference to the index */
void acr_search_free(AcrSearch *search);
/* Options of a search for people. A model's answers must never change, so a search for a model sets
 * none of these options. */
typedef struct {
    bool lines;   /* answers have `lines` and `notes`; `output` may be incomplete */
    bool matches; /* answers have `lines`, but only those that contain the text or name */
    bool tests;   /* also search in tests; definitions in tests are found as text */
    bool others;  /* also search for text in files of other types, if these are not too many */
    /* show nothing similar if the text or name does not occur exactly as written */
    bool literal;
    /* a file argument may be a glob pattern, a folder, a file of any type, or several of these, one
     * on each line */
    bool globs;
    /* ignore definitions of another kind than the requested kind; do not count occurrences */
    bool exact;
    bool calls; /* search_callers lists only calls and decorators, not other uses of the name */
    guint most; /* maximum number of commits that search_history lists; 0: its default */
    /* number of lines shown before and after each line with a match */
    guint before, after;
    const char *only; /* file argument that limits search_callers to its files; borrowed; NULL: all
                       * files */
} AcrSearchMode;
void acr_search_set_mode(AcrSearch *search, AcrSearchMode mode);
/* Finds the lines that define the classes and functions of the one file that `file` matches. !ok: it
 * matches no Python file, or several, or the file has no definitions. Errors: those of a search. */
bool acr_search_outline(AcrSearch *search, const char *file, AcrAnswer *out,
                        GError **error) ACR_MUST_USE;
/* Returns the indexed file or folder with the path nearest to `path`; otherwise the nearest name of
 * a file; owned, or NULL. */
char *acr_search_nearest_path(const AcrSearch *search, const char *path);
/* Returns whether a class, function or method has the last part of the dotted name `name`. */
bool acr_search_defines(const AcrSearch *search, const char *name);
/* Returns the dotted name `name` as definitions spell its last two parts, ignoring case, and as it
 * is given. Owned, NULL-terminated. */
char **acr_search_spellings(const AcrSearch *search, const char *name) ACR_MUST_USE;
/* True if a file argument, interpreted in this search's mode, matches a file. */
bool acr_search_has_file(AcrSearch *search, const char *argument);
const AcrIndex *acr_search_index(const AcrSearch *search); /* borrowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSearch, acr_search_free)

/* Answers one call by its row. Finding nothing is not an error. Errors: BAD_CALL (a value is
 * missing), FAILED (an object is missing). */
bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                    GError **error) ACR_MUST_USE;

/* Answers with `heading` and the code at `places` (array of AcrPlace, whose klass and func may be
 * NULL), in the form of a call's results. An empty list means that nothing was found. Lines after a
 * file's end are ignored. Errors: BAD_CALL (no such file or line; the message names it), FAILED. */
bool acr_search_show(AcrSearch *search, const char *heading, const GPtrArray *places,
                     AcrAnswer *out, GError **error) ACR_MUST_USE;

/* Returns the map of a repository as text: all source files with the names of their top-level
 * definitions. If the map exceeds ACR_SEARCH_MAX_OUTPUT bytes, only the number of definitions is
 * given for each file, or only the folders with counts are listed. A map with paths that are not
 * UTF-8 may be longer. Owned. */
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

/* The level at which a place was found; earlier levels are more certain. */
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
    ACR_LOCATED_BUG, /* the place that the location names */
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
    /* owned; NULL if the location has none; joined if several locations resolve to the same
     * place */
    char *intended_behavior;
} AcrLocated;
void acr_located_free(AcrLocated *located);

/* Resolves the locations (array of AcrBugLocation) to code. For each location, uses the first level
 * with a hit. Owned array of AcrLocated, in order, unique by (file, first, last); at most
 * ACR_LOCATE_MAX_PLACES, may be empty. */
#define ACR_LOCATE_MAX_PLACES 50u
GPtrArray *acr_search_locate(AcrSearch *search, const GPtrArray *locations) ACR_MUST_USE;

/* Returns the argument with which search_code searches for a text or a pattern, case-sensitively or
 * not, anywhere or only as whole words; owned. Errors: BAD_CALL (the pattern is invalid). */
char *acr_search_pattern(const char *text, bool is_pattern, bool is_any_case, bool is_whole,
                         GError **error) ACR_MUST_USE;
/* Returns the version of PCRE2; owned (g_free). */
char *acr_search_library(void) ACR_MUST_USE;
