/* Shared inside the library, without Python's types (they are in py_object_private.h), so that
 * tests can include this header, too. */
#pragma once

#include "py/py.h"

/* stack size of the worker thread; an expression that is nested 2,900 levels deep needs more than
 * 256 KiB */
#define ACR_PY_STACK_BYTES (16u * 1024 * 1024)
/* time in milliseconds after its deadline at which a job that has not ended is given up */
#define ACR_PY_GRACE_MS 5000
#define ACR_PY_AGAIN_MS 200 /* interval in milliseconds between two Deadlines raised in one job */
#define ACR_PY_COMPILE_TIMEOUT_MS 20000
#define ACR_PY_LINT_TIMEOUT_MS 20000
#define ACR_PY_BIND_TIMEOUT_MS 10000
#define ACR_PY_DOUBTS_TIMEOUT_MS 10000
#define ACR_PY_VERDICT_TIMEOUT_MS 60000
#define ACR_PY_MAX_CALL_TEXT (256u * 1024) /* maximum size of the text of one call in bytes */
#define ACR_PY_MAX_MESSAGE 1000            /* maximum size of the text of an exception in bytes */
/* Modules that are disabled, so that their codecs are unknown to Python. These codecs take
 * quadratic time or worse: 300 KiB of text that names one of these codecs as its encoding take
 * minutes. Source code never uses them. */
#define ACR_PY_SLOW_CODECS "encodings.idna encodings.punycode"

/* Initialises the interpreter on the calling thread, checks its version, and imports the package.
 * Errors: ENVIRONMENT. */
bool acr_py_start(const char *package_dir, GError **error) ACR_MUST_USE;
/* True if a program built for version `built` ("3.11.2") can use a libpython of version `running`
 * ("3.11.2 (main, …"). */
bool acr_py_version_fits(const char *built, const char *running);
/* Returns the version that Py_GetVersion reports, "3.11.2 (main, …"; needs no interpreter. Must be
 * called once before an interpreter starts; after that, any thread may call it. */
const char *acr_py_version(void);
/* Returns the version of the libpython in this process, "3.11.2"; needs no interpreter; owned
 * (g_free). */
char *acr_py_running_version(void) ACR_MUST_USE;
/* Return the folder in which the embedded Python is installed (its prefix), and the path of its
 * interpreter; borrowed. */
const char *acr_py_prefix(void);
const char *acr_py_executable(void);

/* ---- Lists of byte strings, in the format of python/acr/byte_fields.py -------- */

/* Returns an owned array of the fields (GBytes, freed with the array); NULL if `data` is not a list
 * of fields. */
GPtrArray *acr_py_fields_split(GBytes *data) ACR_MUST_USE;
/* Returns an owned array of the fields as strings (char *, valid UTF-8, freed with the array); NULL
 * if `data` is not a list of fields. */
GPtrArray *acr_py_texts_split(GBytes *data) ACR_MUST_USE;
