/*
 * The module `_acr`, by which the embedded Python files know the host: its version, its search
 * calls, and the exception that ends a job whose deadline has passed. Multi-phase, with per-module
 * state; described in python/acr/_acr.pyi.
 */
#include "py/py_object_private.h"

typedef struct {
    PyObject *deadline; /* class Deadline(BaseException) */
} ModuleState;

static ModuleState *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* (("class_name", "str"), …) */
static PyObject *params_of(const AcrCallSpec *spec)
{
    Py_ssize_t n = 0;
    while (n < ACR_CALL_MAX_PARAMS && spec->params[n].name)
        n++;
    PyObject *params = PyTuple_New(n);
    for (Py_ssize_t i = 0; params && i < n; i++) {
        const AcrParam *param = &spec->params[i];
        PyObject *pair =
            Py_BuildValue("(ss)", param->name, param->type == ACR_PARAM_INTEGER ? "int" : "str");
        if (!pair) {
            Py_CLEAR(params);
            break;
        }
        PyTuple_SET_ITEM(params, i, pair);
    }
    return params;
}

static PyObject *module_calls(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    gsize n;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    PyObject *calls = PyTuple_New((Py_ssize_t)n);
    for (gsize i = 0; calls && i < n; i++) {
        PyObject *params = params_of(&specs[i]);
        /* N takes the reference, also on failure; a NULL makes it fail. */
        PyObject *call = Py_BuildValue("(sNs)", specs[i].name, params, specs[i].summary);
        if (!call) {
            Py_CLEAR(calls);
            break;
        }
        PyTuple_SET_ITEM(calls, (Py_ssize_t)i, call);
    }
    return calls;
}

static int module_exec(PyObject *module)
{
    ModuleState *state = state_of(module);
    state->deadline = PyErr_NewExceptionWithDoc("_acr.Deadline", "The job's deadline has passed.",
                                                PyExc_BaseException, NULL);
    if (!state->deadline)
        return -1;
    Py_INCREF(state->deadline); /* the module's, taken only on success */
    if (PyModule_AddObject(module, "Deadline", state->deadline) < 0) {
        Py_DECREF(state->deadline);
        return -1;
    }
    return PyModule_AddStringConstant(module, "version", ACR_VERSION);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    Py_VISIT(state_of(module)->deadline);
    return 0;
}

static int module_clear(PyObject *module)
{
    Py_CLEAR(state_of(module)->deadline);
    return 0;
}

static PyMethodDef METHODS[] = {
    {"calls", module_calls, METH_NOARGS, "The registered search calls."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef DEFINITION = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_acr",
    .m_doc = "What the host offers to its embedded interpreter.",
    .m_size = sizeof(ModuleState),
    .m_methods = METHODS,
    .m_slots = SLOTS,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC acr_py_module_init(void)
{
    return PyModuleDef_Init(&DEFINITION);
}
