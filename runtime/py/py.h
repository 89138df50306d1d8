/* py: the only library that uses Python's API. One thread owns the interpreter. It initialises and
 * finalises Python, and runs one job at a time; other threads wait for their jobs. */
#pragma once

#include "base/base.h"
#include "index/index.h"
#include "patch/patch.h"
#include "search/search.h"

typedef enum {
    ACR_PY_ERROR_FAILED, /* Python raised an exception; the message has the type and the text of the
                          * exception */
    /* the interpreter or the program's Python files are not those of the build */
    ACR_PY_ERROR_ENVIRONMENT,
    ACR_PY_ERROR_TIMEOUT, /* the deadline has passed, and the job was stopped */
    ACR_PY_ERROR_MEMORY,
    ACR_PY_ERROR_EXIT, /* code called sys.exit */
    /* from acr_python_bind_call: the text is not a call, the name is unknown, or the arguments
     * are wrong */
    ACR_PY_ERROR_BAD_CALL,
    ACR_PY_ERROR_LOST, /* the worker died during the job */
    ACR_PY_ERROR_INTERRUPTED,
} AcrPyError;
#define ACR_PY_ERROR acr_py_error_quark()
GQuark acr_py_error_quark(void);

typedef struct AcrPython AcrPython;

/* Starts the interpreter and returns immediately; calls wait for the start. `package_dir` is the
 * folder that contains the package `acr` (python/ of the source or installed tree). Errors:
 * ENVIRONMENT. A process can have only one interpreter. */
AcrPython *acr_python_start(const char *package_dir, GError **error) ACR_MUST_USE;
/* Waits until the interpreter has started. Errors: ENVIRONMENT; all later calls then fail with
 * the same error. */
bool acr_python_await(AcrPython *python, GError **error) ACR_MUST_USE;
/* Starts the interpreter and waits for the start. Owned; NULL with an error (ENVIRONMENT). */
AcrPython *acr_python_new(const char *package_dir, GError **error) ACR_MUST_USE;
void acr_python_free(AcrPython *python); /* ends the thread and finalises Python */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPython, acr_python_free)

/* Outlines one file with Python's ast in this process. `python` is an AcrPython, so the function
 * can be used as an AcrOutlineOne. */
bool acr_python_outline(void *python, const char *path, GBytes *source, GBytes **out_rows,
                        GError **error) ACR_MUST_USE;
/* Returns a string made of all inputs, besides the file, on which outline rows depend: row format,
 * version of Python, and outline.py in `package_dir`. Needs no interpreter. Owned (g_free). Errors:
 * ENVIRONMENT (outline.py cannot be read). */
char *acr_python_outline_version(const char *package_dir, GError **error) ACR_MUST_USE;

/* Parses the text of one call with Python's ast and binds its (literal) arguments to the signature
 * in the registry. Python handles quotes, keyword arguments and white space; a string of digits is
 * accepted as an integer. Errors: BAD_CALL, with a message that a model can act on (it shows the
 * call's signature); those of acr_python_call. */
bool acr_python_bind_call(AcrPython *python, const AcrCalls *calls, const char *text, AcrCall *out,
                          GError **error) ACR_MUST_USE;

/* Adds to `doubts` (array of owned char *) reasons to check a reproducer by hand: it exits by
 * os._exit, swallows errors, depends on the clock, … (python/acr/reproducer_doubts.py). A script
 * that cannot be parsed is also a reason. Errors: ENVIRONMENT, FAILED. */
bool acr_python_doubts(AcrPython *python, const char *script, GPtrArray *doubts,
                       GError **error) ACR_MUST_USE;

/* Adds to `files` a file that a patch adds, changes or removes. `before` or `after` is NULL if
 * the file does not exist on that side. */
void acr_python_patched_add(GByteArray *files, const char *path, GBytes *before, GBytes *after);
/* Adds to `told` (array of owned char *) each construct in `files` that is not plain code; with
 * `reaching_only`, only constructs that could influence any check of the patch. `packages` is a
 * JSON array of the top-level names of the project. */
bool acr_python_not_plain(AcrPython *python, bool reaching_only, const char *packages,
                          GByteArray *files, GPtrArray *told, GError **error) ACR_MUST_USE;
/* Sets *out to the script with its last assertion inverted, owned; "" if it has no assertion that
 * can be inverted (python/acr/experiments/inverted.py). */
bool acr_python_invert(AcrPython *python, const char *script, char **out,
                       GError **error) ACR_MUST_USE;
/* Sets *out to a digest that is equal for patches that differ only in whitespace and comments;
 * owned. `files` are the files that the patch changes (python/acr/same_change.py). */
bool acr_python_change_key(AcrPython *python, GByteArray *files, char **out,
                           GError **error) ACR_MUST_USE;
/* Sets *out to a script made from the interactive sessions in an issue, which asserts that the
 * outputs are as shown; owned; "" if the issue has none. If `line` is not 0, keeps only the
 * assertion at that line (python/acr/issue_draft.py). */
bool acr_python_issue_draft(AcrPython *python, const char *issue, guint line, char **out,
                            GError **error) ACR_MUST_USE;
/* Sets *out to a script that runs the issue's examples and prints their results; owned; "" if the
 * issue has none (python/acr/issue_examples.py). */
bool acr_python_issue_examples(AcrPython *python, const char *issue, char **out,
                               GError **error) ACR_MUST_USE;
/* Returns the next experiment of a verdict, or the verdict (python/acr/experiments/service.py). The
 * result depends only on the arguments. `state` and `streams` (array of GBytes) contain the results
 * of the runs so far. Returns an owned array of GBytes: JSON, the script, and alternately path and
 * content of files. Errors: those of acr_python_call. */
GPtrArray *acr_python_experiment(AcrPython *python, const AcrJson *state, const char *script,
                                 GByteArray *files, const GPtrArray *streams,
                                 GError **error) ACR_MUST_USE;

/* Runs `module.function(argument)` of the package `acr`; the function takes and returns bytes
 * (owned). `deadline_ms` is counted from the start of the job; 0: none. At the deadline,
 * acr.deadline.Deadline is raised in the job, and the result is TIMEOUT even if the job catches the
 * exception. If the job has not ended some seconds later (because it hangs in C code), the
 * interpreter is lost: this call and all later calls return TIMEOUT, and acr_python_free does not
 * end the thread. */
bool acr_python_call(AcrPython *python, const char *module, const char *function, GBytes *argument,
                     gint64 deadline_ms, GBytes **out, GError **error) ACR_MUST_USE;

/* Calls a function that takes and returns JSON. Returns the result, owned; NULL with an error. */
AcrJson *acr_python_json(AcrPython *python, const char *module, const char *function,
                         const AcrJson *argument, gint64 deadline_ms, GError **error) ACR_MUST_USE;

/* Returns the version of libpython; owned (g_free). */
char *acr_python_library(void) ACR_MUST_USE;

/* ---- Workers: processes of this program in which Python reads untrusted code ------- */

typedef enum { ACR_PYTHON_OUTLINES, ACR_PYTHON_REFEREE, ACR_PYTHON_EXTENSION } AcrPythonWork;
/* The main function of a worker process: gives up its rights, starts Python, and answers questions
 * on its standard input, a socket (base/peer.h), until the socket is closed. A worker may write
 * only to its working folder, and nowhere if that is `/`. A worker for an extension, which is the
 * user's own code, keeps its rights to files and processes; only its memory is limited. Errors:
 * ENVIRONMENT, and FAILED of base (the socket). */
bool acr_python_work(AcrPythonWork what, const char *package_dir, GError **error) ACR_MUST_USE;

/* A referee in a worker process, `EXE VERB`, which must call acr_python_work. The process is
 * started for the first question, and kept. If the process crashes, only one answer is lost: a file
 * counts as not compiling, or the linter has no result. `interrupt` (may be NULL) is borrowed and
 * ends a question. */
typedef struct AcrRefereeWorker AcrRefereeWorker;
AcrRefereeWorker *acr_referee_worker_new(const char *exe, const char *verb,
                                         const AcrInterrupt *interrupt);
/* Starts the worker process and returns immediately; questions wait for the start. */
void acr_referee_worker_start(AcrRefereeWorker *worker);
void acr_referee_worker_free(AcrRefereeWorker *worker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrRefereeWorker, acr_referee_worker_free)
/* Returns the referee for native/, borrowed from `worker`. Any thread may call its functions. */
const AcrReferee *acr_referee_worker_referee(AcrRefereeWorker *worker);

/* Calls `function` (MODULE.FUNCTION of the package `acr`) in the worker; *out_answer is owned.
 * Errors: ENVIRONMENT (the worker cannot be started), TIMEOUT, LOST, INTERRUPTED, FAILED (an
 * exception). */
bool acr_py_referee_ask(AcrRefereeWorker *worker, const char *function, GBytes *argument,
                        gint64 timeout_ms, GBytes **out_answer, GError **error) ACR_MUST_USE;

/* Appends a byte string to a packed list, which python/acr/byte_fields.py unpacks. */
void acr_py_fields_add(GByteArray *fields, const void *data, gsize len);
void acr_py_fields_add_bytes(GByteArray *fields, GBytes *bytes);
