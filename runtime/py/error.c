/* Converts Python's exceptions to GError. PyErr_Print must not be called, because it ends the
 * process on SystemExit. */
#include "py/py_object_private.h"

#include <string.h>

G_DEFINE_QUARK(acr_py_error, acr_py_error)

/* Returns the text of an object in one line, shortened; owned (g_free); "" if the object has no
 * text. */
static char *text_of(PyObject *object)
{
    PyObject *text = object ? PyObject_Str(object) : NULL;
    Py_ssize_t len = 0;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    char *copy = utf8 ? acr_utf8_repair(utf8, (gsize)MIN(len, ACR_PY_MAX_MESSAGE)) : g_strdup("");
    Py_XDECREF(text);
    PyErr_Clear();
    g_strdelimit(copy, "\t\r\n", ' ');
    return g_strstrip(copy);
}

PyObject *acr_py_deadline(void)
{
    PyObject *module = PyImport_ImportModule("acr.deadline");
    PyObject *deadline = module ? PyObject_GetAttrString(module, "Deadline") : NULL;
    Py_XDECREF(module);
    return deadline;
}

static bool is_deadline(PyObject *type)
{
    PyObject *deadline = acr_py_deadline();
    bool is = deadline && PyErr_GivenExceptionMatches(type, deadline);
    Py_XDECREF(deadline);
    PyErr_Clear();
    return is;
}

static AcrPyError code_of(PyObject *type)
{
    if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError))
        return ACR_PY_ERROR_MEMORY;
    if (PyErr_GivenExceptionMatches(type, PyExc_SystemExit))
        return ACR_PY_ERROR_EXIT;
    if (PyErr_GivenExceptionMatches(type, PyExc_ImportError))
        return ACR_PY_ERROR_ENVIRONMENT;
    return ACR_PY_ERROR_FAILED;
}

/* Returns the current exception as a new reference and clears it; NULL if there is none. */
static PyObject *fetch(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    if (type)
        PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

void acr_py_error_take(gint64 deadline_ms, GError **error)
{
    PyObject *value = fetch();
    if (!value) {
        g_set_error_literal(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                            "Python failed without an exception");
        return;
    }
    PyObject *type = (PyObject *)Py_TYPE(value);
    if (is_deadline(type)) {
        g_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT,
                    "Python took longer than %" G_GINT64_FORMAT " ms", deadline_ms);
    } else {
        g_autofree char *text = text_of(value);
        const char *name = Py_TYPE(value)->tp_name;
        const char *dot = strrchr(name, '.');
        g_set_error(error, ACR_PY_ERROR, code_of(type), "%s%s%s", dot ? dot + 1 : name,
                    *text ? ": " : "", text);
    }
    Py_DECREF(value);
}

bool acr_py_error_status(PyStatus status, GError **error)
{
    return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT,
                         "cannot start Python: %s: %s", status.func ? status.func : "?",
                         status.err_msg ? status.err_msg : "?");
}
