/*
 * Asks python/acr/project/ in the process that looks at foreign text.
 */
#include "py/project_files.h"

#include "py/py_private.h"

bool acr_project_files_ask(AcrRefereeWorker *worker, const char *function, GBytes *question,
                           gint64 timeout_ms, GBytes **out_answer, GError **error)
{
    g_autofree char *name = g_strconcat("project.service.", function, NULL);
    return acr_py_referee_ask(worker, name, question, timeout_ms, out_answer, error);
}
