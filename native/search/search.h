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
} AcrParam;

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
    AcrParam params[ACR_CALL_MAX_PARAMS]; /* all required; the first without a name ends them */
    const char *summary;                  /* one sentence for the model */
    AcrCallAnswer answer;
};

/* The calls in the order in which they are shown; borrowed for ever. */
const AcrCallSpec *acr_search_call_specs(gsize *out_n);
const AcrCallSpec *acr_search_call_spec(const char *name); /* NULL if unknown */

/* A call with its arguments bound: values[i] belongs to spec->params[i]; integers are written in
 * decimal. */
struct AcrCall {
    const AcrCallSpec *spec;
    char *values[ACR_CALL_MAX_PARAMS]; /* owned */
};
void acr_call_clear(AcrCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrCall, acr_call_clear)
/* `search_class("Prefix")`, canonical; owned (g_free). */
char *acr_call_print(const AcrCall *call) ACR_MUST_USE;

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

/* An index with what searching needs beside it (file contents, read when first needed and kept).
 * One thread at a time. */
AcrSearch *acr_search_new(AcrIndex *index) ACR_MUST_USE; /* owned; keeps a reference */
void acr_search_free(AcrSearch *search);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSearch, acr_search_free)

/* Answers one call by its row. Errors: BAD_CALL (a value is missing), FAILED
 * (out of reach: an object is missing); never for a miss. */
bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                    GError **error) ACR_MUST_USE;

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

#endif
