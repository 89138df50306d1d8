/*
 * py: the only room that uses Python's API. One thread owns the interpreter: it initialises, runs
 * one job at a time and finalises; other threads post a job and wait.
 */
#ifndef ACR_PY_H
#define ACR_PY_H

#include "base/base.h"
#include "index/index.h"
#include "patch/patch.h"
#include "search/search.h"

typedef enum {
    ACR_PY_ERROR_FAILED, /* an exception; the message has its type and text */
    /* the interpreter or the program's Python files differ from those at build time */
    ACR_PY_ERROR_ENVIRONMENT,
    ACR_PY_ERROR_TIMEOUT, /* the deadline passed, and the job was ended */
    ACR_PY_ERROR_MEMORY,
    ACR_PY_ERROR_EXIT, /* code called sys.exit */
    /* acr_python_bind_call: not a call, an unknown name, or wrong arguments */
    ACR_PY_ERROR_BAD_CALL,
    ACR_PY_ERROR_LOST, /* the worker died during the job */
    ACR_PY_ERROR_INTERRUPTED,
} AcrPyError;
#define ACR_PY_ERROR acr_py_error_quark()
GQuark acr_py_error_quark(void);

typedef struct AcrPython AcrPython;

/*
 * Starts the interpreter and returns at once; calls wait for it. `package_dir` is the folder that
 * contains the package `acr` (python/ of the source or installed tree). Errors: ENVIRONMENT. At
 * most one at a time in a process.
 */
AcrPython *acr_python_start(const char *package_dir, GError **error) ACR_MUST_USE;
/* Waits until the interpreter has started. Errors: ENVIRONMENT; all later calls then fail with it
 * too. */
bool acr_python_await(AcrPython *python, GError **error) ACR_MUST_USE;
/* Starts the interpreter and waits for it; NULL: it cannot be started. */
AcrPython *acr_python_new(const char *package_dir, GError **error) ACR_MUST_USE;
void acr_python_free(AcrPython *python); /* ends the thread and finalises Python */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPython, acr_python_free)

/*
 * Outlines one file with Python's ast in this process; an AcrOutlineOne, whose `ctx` is an
 * AcrPython.
 */
bool acr_python_outline(void *python, const char *path, GBytes *source, GBytes **out_rows,
                        GError **error) ACR_MUST_USE;
/*
 * A text of what outline rows depend on besides the file: row format, Python, outline.py in
 * `package_dir`; needs no interpreter. Owned (g_free). Errors: ENVIRONMENT (outline.py cannot be
 * read).
 */
char *acr_python_outline_version(const char *package_dir, GError **error) ACR_MUST_USE;

/*
 * Parses the text of one call with Python's ast and binds its (literal) arguments to the signature
 * in the registry. Python handles quotes, keyword arguments and white space; a string of digits may
 * stand for an integer. Errors: BAD_CALL, with a message that a model can act on (it shows the
 * call's signature); others as above.
 */
bool acr_python_bind_call(AcrPython *python, const AcrCalls *calls, const char *text, AcrCall *out,
                          GError **error) ACR_MUST_USE;

/*
 * Adds to `doubts` (owned char *) why a person should check a reproducer before trusting its
 * outcome: it exits by os._exit, swallows errors, depends on the clock, …
 * (python/acr/reproducer_doubts.py). A script that cannot be parsed gets a doubt for that reason.
 * Errors: ENVIRONMENT, FAILED.
 */
bool acr_python_doubts(AcrPython *python, const char *script, GPtrArray *doubts,
                       GError **error) ACR_MUST_USE;

/* Adds a file that a patch adds, changes or removes to `files`; `before` or `after` NULL: the file
 * does not exist on that side. */
void acr_python_patched_add(GByteArray *files, const char *path, GBytes *before, GBytes *after);
/* Adds to `told` (of char *, owned) each construct in those files that is not plain code; with
 * `reaching_only`, only constructs that make any check of the patch meaningless. `packages`: the
 * top-level names of the project, a JSON array. */
bool acr_python_not_plain(AcrPython *python, bool reaching_only, const char *packages,
                          GByteArray *files, GPtrArray *told, GError **error) ACR_MUST_USE;
/* *out: the script with its last assertion turned round, owned; "": it has none that can be
 * (python/acr/experiments/inverted.py). */
bool acr_python_invert(AcrPython *python, const char *script, char **out,
                       GError **error) ACR_MUST_USE;
/* A digest that is equal for patches that differ only in whitespace and comments; owned. `files`:
 * those that the patch changes (python/acr/same_change.py). */
bool acr_python_change_key(AcrPython *python, GByteArray *files, char **out,
                           GError **error) ACR_MUST_USE;
/* The sessions of an issue as a script that asserts what they show; owned; `line`: with the assertion
 * at that line only, 0: with all; "": they give none (python/acr/issue_draft.py). */
bool acr_python_issue_draft(AcrPython *python, const char *issue, guint line, char **out,
                            GError **error) ACR_MUST_USE;
/* A script that runs the issue's examples and prints what they show; owned; "": the issue has none
 * (python/acr/issue_examples.py). */
bool acr_python_issue_examples(AcrPython *python, const char *issue, char **out,
                               GError **error) ACR_MUST_USE;
/*
 * The next experiment of a verdict, or the verdict (python/acr/experiments/service.py); it depends
 * only on the arguments. `state`, `streams` (of GBytes): the results of the runs so far. Owned, of
 * GBytes: JSON, the script, and alternately path and content of files. Errors: as of
 * acr_python_call.
 */
GPtrArray *acr_python_experiment(AcrPython *python, const AcrJson *state, const char *script,
                                 GByteArray *files, const GPtrArray *streams,
                                 GError **error) ACR_MUST_USE;

/*
 * Runs `module.function(argument)` of the package `acr`, which takes and returns bytes (owned).
 * `deadline_ms` counts from when the job starts; 0: none. At the deadline acr.deadline.Deadline is
 * raised in the job, and the result is TIMEOUT even if the job swallowed it. A job that has not
 * ended some seconds later (stuck in C code) is given up: TIMEOUT, and the interpreter is lost:
 * every later call returns TIMEOUT at once, and acr_python_free leaves its thread behind.
 */
bool acr_python_call(AcrPython *python, const char *module, const char *function, GBytes *argument,
                     gint64 deadline_ms, GBytes **out, GError **error) ACR_MUST_USE;

/* Calls a function that takes and returns JSON; owned. */
AcrJson *acr_python_json(AcrPython *python, const char *module, const char *function,
                         const AcrJson *argument, gint64 deadline_ms, GError **error) ACR_MUST_USE;

/* The version of libpython; owned (g_free). */
char *acr_python_library(void) ACR_MUST_USE;

/* ---- Workers: processes of this program in which Python looks at code of others ---- */

typedef enum { ACR_PYTHON_OUTLINES, ACR_PYTHON_REFEREE, ACR_PYTHON_EXTENSION } AcrPythonWork;
/*
 * The whole life of such a process: gives up its rights, starts Python, and answers on its standard
 * input, a socket (base/peer.h), until the socket is closed. It may write only to its working
 * folder, and nowhere if that is `/`. A process for an extension, which is the user's own code,
 * keeps its rights to files and processes, and only its memory is limited. Errors: ENVIRONMENT, and
 * of base FAILED (the socket).
 */
bool acr_python_work(AcrPythonWork what, const char *package_dir, GError **error) ACR_MUST_USE;

/*
 * A referee in such a process, `EXE VERB`, which must call acr_python_work; started for the first
 * question, and kept. If it dies, one answer is lost: the file counts as not compiling, or the
 * linter has no opinion. `interrupt` (may be NULL) is borrowed and ends a question.
 */
typedef struct AcrRefereeWorker AcrRefereeWorker;
AcrRefereeWorker *acr_referee_worker_new(const char *exe, const char *verb,
                                         const AcrInterrupt *interrupt);
/* Starts the process and returns at once; questions wait for it. */
void acr_referee_worker_start(AcrRefereeWorker *worker);
void acr_referee_worker_free(AcrRefereeWorker *worker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrRefereeWorker, acr_referee_worker_free)
/* The referee for native/: borrowed, valid as long as `worker`; any thread may call its
 * functions. */
const AcrReferee *acr_referee_worker_referee(AcrRefereeWorker *worker);

/* Asks MODULE.FUNCTION of the package in the worker; *out_answer: owned. Errors: ENVIRONMENT (it
 * cannot be started), TIMEOUT, LOST, INTERRUPTED, FAILED (an exception). */
bool acr_py_referee_ask(AcrRefereeWorker *worker, const char *function, GBytes *argument,
                        gint64 timeout_ms, GBytes **out_answer, GError **error) ACR_MUST_USE;

/* Appends a byte string to a list of them, as python/acr/byte_fields.py unpacks it. */
void acr_py_fields_add(GByteArray *fields, const void *data, gsize len);
void acr_py_fields_add_bytes(GByteArray *fields, GBytes *bytes);

#endif
