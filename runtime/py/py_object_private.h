/* Shared by the files that handle Python's objects. The caller of each function must hold the
 * GIL. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "py/py_private.h"

/* Returns the class acr.deadline.Deadline as a new reference; NULL with the exception set. */
PyObject *acr_py_deadline(void) ACR_MUST_USE;
/* Converts the current exception to a GError and clears it. The message of a timeout mentions
 * `deadline_ms`. */
void acr_py_error_take(gint64 deadline_ms, GError **error);
/* Converts a failed PyStatus to one line; always returns false. */
bool acr_py_error_status(PyStatus status, GError **error);

/* Calls acr.MODULE.FUNCTION(argument). Returns a new reference to bytes; NULL with the exception
 * set. */
PyObject *acr_py_call(const char *module, const char *function, GBytes *argument) ACR_MUST_USE;
