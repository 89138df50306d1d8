/* acr-host report: writes a run folder, or a folder of many runs, as a page or in another format.
 */
#include <string.h>

#include "batch/batch.h"
#include "layout/layout.h"
#include "report/report.h"
#include "verbs/verbs_private.h"

static const char *const forms[] = {"html",  "text",  "markdown", "json",
                                    "junit", "sarif", "atif",     "csv"};

static const char *form_of(const AcrRunSpec *spec)
{
    return spec->json ? "json" : forms[spec->report_form];
}

/* Returns the path of the report; owned; NULL means standard output. By default, a page is written
 * to the folder. */
static char *report_place(const AcrRunSpec *spec)
{
    if (spec->report_file)
        return strcmp(spec->report_file, "-") == 0 ? NULL : g_strdup(spec->report_file);
    return strcmp(form_of(spec), "html") == 0
               ? g_build_filename(spec->arguments[0],
                                  spec->compare ? ACR_FILE_COMPARISON : ACR_FILE_REPORT, NULL)
               : NULL;
}

static int run_report(AcrHost *host, AcrRunSpec *spec)
{
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_refuse_runs(host, spec);
    if (spec->json && spec->report_form && strcmp(forms[spec->report_form], "json") != 0)
        return acr_verb_usage(host, "give --json or --format %s, not both",
                              forms[spec->report_form]);
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) only =
        spec->instance_set ? acr_dataset_read_names(spec->instance_set, &error) : NULL;
    g_autoptr(AcrPython) python = error ? NULL : acr_python_new(host->python_dir, &error);
    g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *run_id = NULL, *model = NULL,
                    *dir = acr_report_folder_of(spec->arguments[0], &run_id, &model);
    if (dir) { /* the user named an evaluation */
        g_free(spec->arguments[0]);
        spec->arguments[0] = g_steal_pointer(&dir);
        spec->run_id = spec->run_id ? spec->run_id : g_steal_pointer(&run_id);
    }
    const AcrReportOptions options = {.dir = spec->arguments[0],
                                      .form = form_of(spec),
                                      .compare = spec->compare,
                                      .only = (const char *const *)only,
                                      .run_id = spec->run_id,
                                      .model = model};
    g_autoptr(GBytes) report = python ? acr_report_make(python, &options, notes, &error) : NULL;
    if (!report)
        return acr_verb_fail(host, error);
    for (guint i = 0; i < notes->len; i++)
        acr_verb_say("%s", (const char *)notes->pdata[i]);
    g_autofree char *place = report_place(spec);
    if (place && !spec->report_file &&
        !acr_report_write_pages(python, spec->arguments[0], host->interrupt, &error))
        return acr_verb_fail(host, error);
    g_autofree char *text = place || strcmp(options.form, "text") ? NULL : acr_bytes_text(report);
    if (!place)
        return acr_out_exit(text ? acr_out_text(text) : acr_out_bytes(report), ACR_EXIT_OK);
    gsize len = 0;
    const void *data = g_bytes_get_data(report, &len);
    if (!acr_file_write_atomic(place, data, len, 0600, &error))
        return acr_verb_fail(host, error);
    g_autofree char *line = g_strconcat(place, "\n", NULL);
    return acr_out_exit(acr_out_text(line), ACR_EXIT_OK);
}

const AcrVerb acr_verb_report = {
    .name = "report",
    .summary = "Write a report of a run or of many runs, as a page or in another format",
    .takes = ACR_FOR_REPORT,
    .arguments = "[OUT]",
    .examples = {{"Print the report of a run", "report out --format text"}},
    .run = run_report,
};
