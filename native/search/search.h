/*
 * search: the structure-aware calls that a model makes, text search, and the resolution of named
 * bug locations to code.
 *
 * Every call is bounded in time and output and gives an answer, never a crash: a miss is an answer
 * too, which names the nearest symbols and the places where the text does occur. Same index, same
 * call: same bytes.
 */
#ifndef ACR_SEARCH_H
#define ACR_SEARCH_H

#include "base/base.h"
#include "index/index.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_SEARCH_ERROR_FAILED,
    ACR_SEARCH_ERROR_BAD_CALL, /* unknown name, or arguments that do not fit */
} AcrSearchError;
#define ACR_SEARCH_ERROR acr_search_error_quark()
GQuark acr_search_error_quark(void);

#define ACR_RESULT_SHOW_LIMIT                                                                      \
    3 /* results shown in full; the rest collapse to files or methods with counts */
#define ACR_SEARCH_MAX_PLACES 1000u        /* places listed by an answer */
#define ACR_SEARCH_MAX_OUTPUT (64u * 1024) /* bytes of one answer's text */
#define ACR_SEARCH_MAX_ARGUMENT (16u * 1024)
#define ACR_SEARCH_MAX_WINDOW 500 /* lines, each way, of get_code_around_line */

/* ---- Calls ---- */

typedef enum { ACR_PARAM_STRING, ACR_PARAM_INTEGER } AcrParamType;

typedef struct {
    const char *name;
    AcrParamType type;
    const char *about;     /* one phrase for who fills it in */
    const char *otherwise; /* what it is where left out, for a reader; NULL: it must be given */
} AcrParam;

/* `str`, `int`, or with what it is otherwise: `int = 10`; owned (g_free). */
char *acr_param_kind(const AcrParam *param) ACR_MUST_USE;

#define ACR_CALL_MAX_PARAMS 4

typedef struct AcrSearch AcrSearch;
typedef struct AcrCallSpec AcrCallSpec;
typedef struct AcrCall AcrCall;
typedef struct AcrAnswer AcrAnswer;

/*
 * Answers a call whose arguments are there, within their bounds and valid UTF-8. `out` is all zero,
 * and is filled on success, for a miss too. Errors: FAILED.
 */
typedef bool (*AcrCallAnswer)(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                              GError **error);

/* One row of the table of calls. The table is the only place that knows them. */
struct AcrCallSpec {
    const char *name;
    AcrParam params[ACR_CALL_MAX_PARAMS]; /* the first without a name ends them */
    const char *summary;                  /* one sentence for the model */
    AcrCallAnswer answer;
};

/* The built-in calls in the order in which they are shown; borrowed for ever. */
const AcrCallSpec *acr_search_call_specs(gsize *out_n);
const AcrCallSpec *acr_search_call_spec(const char *name); /* NULL if unknown */
/* `search_class(class_name: str)`; owned (g_free). */
char *acr_call_usage(const AcrCallSpec *spec) ACR_MUST_USE;

/*
 * The registry: the built-in calls and, after them, those that were added. What binds, shows or
 * serves calls takes one; NULL stands for the built-in ones alone. Not changed while it is used.
 */
typedef struct AcrCalls AcrCalls;
AcrCalls *acr_calls_new(void) ACR_MUST_USE; /* owned */
void acr_calls_free(AcrCalls *calls);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrCalls, acr_calls_free)
/* Adds a row, borrowed, whose `answer` may look at call->spec for what it is part of. False: there is
 * a call of that name. */
bool acr_calls_add(AcrCalls *calls, const AcrCallSpec *spec) ACR_MUST_USE;
gsize acr_calls_n(const AcrCalls *calls);
const AcrCallSpec *acr_calls_at(const AcrCalls *calls, gsize i);            /* borrowed */
const AcrCallSpec *acr_calls_find(const AcrCalls *calls, const char *name); /* NULL if unknown */

/* A call with its arguments bound: values[i] belongs to spec->params[i]; integers are written in
 * decimal. */
struct AcrCall {
    const AcrCallSpec *spec;
    char *values[ACR_CALL_MAX_PARAMS]; /* owned; NULL: left out */
};
void acr_call_clear(AcrCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrCall, acr_call_clear)
/* `search_class("Prefix")`, canonical; owned (g_free). */
char *acr_call_print(const AcrCall *call) ACR_MUST_USE;

/* ---- Calls for programs (call_schema.c) ---- */

/* JSON schema of a call's arguments: an object, whose members without a default are required; owned.
 * With the row's name and summary it is a tool, of MCP or of a model's API. */
AcrJson *acr_call_schema(const AcrCallSpec *spec) ACR_MUST_USE;
/* Adds a member (its schema is taken) to what acr_call_schema gave. */
void acr_schema_add(AcrJson *schema, const char *name, AcrJson *member, bool is_required);
/*
 * Binds a JSON object of arguments (NULL: none) to the row; integers may be digits in a string.
 * `beside`: one more name that may stand among them, or NULL. Errors: BAD_CALL, with a message that a
 * model can act on.
 */
bool acr_call_from_json(const AcrCallSpec *spec, const AcrJson *arguments, const char *beside,
                        AcrCall *out, GError **error) ACR_MUST_USE;

/* ---- Answers ---- */

/* A piece of a file. klass: dotted for nested classes, NULL if in none. func: bare name of the
 * innermost one, or NULL. */
typedef struct {
    char *file;       /* owned, as are the others */
    guint start, end; /* 1-based, inclusive */
    char *klass;
    char *func;
} AcrPlace;
AcrPlace *acr_place_new(const char *file, guint start, guint end, const char *klass,
                        const char *func) ACR_MUST_USE;
void acr_place_free(AcrPlace *place);
/* {"file","start","end","class","func"} */
AcrJson *acr_place_to_json(const AcrPlace *place) ACR_MUST_USE;

struct AcrAnswer {
    bool ok;           /* code was found */
    char *output;      /* owned; what the model sees: valid UTF-8 */
    GPtrArray *places; /* owned; of AcrPlace, every place found, at most ACR_SEARCH_MAX_PLACES,
                          unique, in order shown */
};
void acr_answer_clear(AcrAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAnswer, acr_answer_clear)

/* {"call","ok","output","results"}, the results as acr_place_to_json has them; owned. */
AcrJson *acr_answer_to_json(const char *call, const AcrAnswer *answer) ACR_MUST_USE;
AcrJson *acr_answer_schema(void) ACR_MUST_USE; /* JSON schema of that; owned */

/* An index with what searching needs beside it (file contents, read when first needed and kept).
 * One thread at a time. */
AcrSearch *acr_search_new(AcrIndex *index) ACR_MUST_USE; /* owned; keeps a reference */
void acr_search_free(AcrSearch *search);
const AcrIndex *acr_search_index(const AcrSearch *search); /* borrowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSearch, acr_search_free)

/* Answers one call by its row. Errors: BAD_CALL (a value is missing), FAILED
 * (out of reach: an object is missing); never for a miss. */
bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                    GError **error) ACR_MUST_USE;

/*
 * Answers with the code at `places` (of AcrPlace; class and function need not be set), shown as a
 * call of the table shows what it found, after `heading`; an empty list is a miss. Lines past a file's end
 * are left out. Errors: BAD_CALL (no such file, or no such line in it; says which), FAILED.
 */
bool acr_search_show(AcrSearch *search, const char *heading, const GPtrArray *places,
                     AcrAnswer *out, GError **error) ACR_MUST_USE;

/*
 * The source files, and what each defines at its top level, as text: with names, else with counts,
 * else by folder, as fits into ACR_SEARCH_MAX_OUTPUT bytes (more where a path is not UTF-8). Owned.
 */
char *acr_search_map(const AcrIndex *index) ACR_MUST_USE;

/* ---- Bug locations ---- */

/* As a model names it: any of file, klass, method may be NULL or imprecise. All owned. */
typedef struct {
    char *file, *klass, *method, *intended_behavior;
} AcrBugLocation;
AcrBugLocation *acr_bug_location_new(const char *file, const char *klass, const char *method,
                                     const char *intended) ACR_MUST_USE;
void acr_bug_location_free(AcrBugLocation *location);

/* How a place was found; earlier is surer. */
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
    ACR_LOCATED_BUG,        /* the place that was named */
    ACR_LOCATED_CLASS,      /* the class around it, as context (its signatures) */
    ACR_LOCATED_OVERRIDDEN, /* the nearest ancestor's method that it overrides */
} AcrLocatedRole;
const char *acr_located_role_name(AcrLocatedRole role); /* "bug", "class", "overridden" */

typedef struct {
    AcrPlace *place; /* owned */
    AcrLocatedRole role;
    AcrLocateLevel level;
    char *code;              /* owned; read again by line numbers, without line numbers in it */
    char *intended_behavior; /* owned; NULL where none was given; several locations at one place are
                                joined */
} AcrLocated;
void acr_located_free(AcrLocated *located);

/*
 * Resolves the locations (of AcrBugLocation) to real code, in order, unique by (file, first, last);
 * per location the first level that hits. Owned array of AcrLocated (freed with its elements);
 * empty when nothing was found. Bounded: ACR_LOCATE_MAX_PLACES in all.
 */
#define ACR_LOCATE_MAX_PLACES 50u
GPtrArray *acr_search_locate(AcrSearch *search, const GPtrArray *locations) ACR_MUST_USE;

/* Which of the names (NULL-terminated) a user may have meant by `word`: a few edits away, or beginning with it; NULL:
 * none. Borrowed from `names`. */
const char *acr_nearest_name(const char *word, const char *const *names);
/* The version of PCRE2; owned (g_free). */
char *acr_search_library(void) ACR_MUST_USE;

#endif
