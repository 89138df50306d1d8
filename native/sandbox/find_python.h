/* Private to sandbox: the search for the Python that a project is run with. */
#ifndef ACR_SANDBOX_FIND_PYTHON_H
#define ACR_SANDBOX_FIND_PYTHON_H

#include "sandbox/sandbox.h"

/* A Python and what must be visible for it to run. All owned. */
typedef struct {
    char *path;       /* its path in the sandbox; not resolved, so that it finds its environment */
    char *venv;       /* the folder of its virtual environment, or NULL */
    GPtrArray *roots; /* char *: folders outside /usr that must be visible, the venv first */
    GPtrArray *links; /* char *: pairs of link and target, on the way to the executable */
    char *remark;     /* which Python, and why */
    char *not_taken;  /* which Python was not used, and why; or NULL */
    char *stamp;      /* changes when the Python or its packages change */
} AcrSandboxPython;
void acr_sandbox_python_clear(AcrSandboxPython *python);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSandboxPython, acr_sandbox_python_clear)
/*
 * Finds the Python: `given` (a path, or a name in PATH), else `work_tree`/.venv if it is not part
 * of the snapshot, else that of the active environment (VIRTUAL_ENV, CONDA_PREFIX, a virtual
 * environment in PATH), else the system's. Executes nothing. Errors: UNAVAILABLE.
 */
bool acr_sandbox_python_find(const char *given, const char *work_tree, AcrSnapshot *snapshot,
                             AcrSandboxPython *out, GError **error) ACR_MUST_USE;

#endif
