/* acr-host outline-worker, referee-worker, extension-worker: processes in which Python handles a
 * repository's or the user's code for another process of this program (runtime/py/worker.c).
 * Hidden, because users never call them. */
#include "verbs/verbs_private.h"

static int work_as(AcrHost *host, AcrPythonWork what)
{
    g_autoptr(GError) error = NULL;
    return acr_python_work(what, host->python_dir, &error) ? ACR_EXIT_OK
                                                           : acr_verb_fail(host, error);
}

static int start_outlines(AcrHost *host, int argc, char **argv)
{
    return work_as(host, ACR_PYTHON_OUTLINES);
}

static int start_referee(AcrHost *host, int argc, char **argv)
{
    return work_as(host, ACR_PYTHON_REFEREE);
}

static int start_extension(AcrHost *host, int argc, char **argv)
{
    return work_as(host, ACR_PYTHON_EXTENSION);
}

const AcrVerb acr_verb_outline_worker = {.name = ACR_OUTLINE_VERB, .start = start_outlines};
const AcrVerb acr_verb_referee_worker = {.name = ACR_REFEREE_VERB, .start = start_referee};
const AcrVerb acr_verb_extension_worker = {.name = ACR_EXTENSION_VERB, .start = start_extension};
