/* acr-host verify: a run without model and attempts, whose only candidate is the user's patch. */
#include "verbs/verbs_private.h"

static bool load_script(AcrRunSpec *spec, GError **error)
{
    g_autoptr(GBytes) bytes = acr_file_read(spec->script_file, ACR_ISSUE_MAX_BYTES, error);
    g_autofree char *name = g_filename_display_basename(spec->script_file);
    if (!bytes)
        return false;
    if (!acr_utf8_is_text(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)))
        return acr_task_refuse(error, "--script: '%s' is not UTF-8 text", spec->script_file);
    spec->script_text = acr_bytes_text(bytes);
    if (!spec->issue_file && !spec->issue_text) /* the title of the run in lists */
        spec->issue_text = g_strdup_printf("Verify a patch with %s", name);
    return true;
}

static int verify_patch(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    if (!load_script(spec, &error))
        return acr_verb_usage(host, "%s", error->message);
    return acr_run_and_report(host, spec);
}

const AcrVerb acr_verb_verify = {
    .name = "verify",
    .summary = "Prove your own patch with your own script; no model is used",
    .takes = ACR_FOR_VERIFY,
    .uses_network = true,
    .examples = {{"Prove your uncommitted changes by a script that fails without them",
                  "verify --script reproduce.py"},
                 {"Prove a patch", "verify --script reproduce.py --patch fix.diff"}},
    .exits = "0 the script proves the patch, or --validate accepts it, 1 otherwise",
    .run = verify_patch,
};
