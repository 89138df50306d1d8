/*
 * acr-host report: a run folder, or a folder of many runs, as a page or in another format.
 */
#include <string.h>

#include "task/report_files.h"
#include "verbs/verbs_private.h"

static const char *form_of(const AcrRunSpec *spec)
{
    static const char *const forms[] = {"html", "text", "markdown", "json", "junit", "sarif"};
    return spec->json ? "json" : forms[spec->report_form];
}

static GBytes *render_run(const AcrRunSpec *spec, AcrPython *python, GError **error)
{
    g_auto(AcrReportFiles) files = {0};
    return acr_report_files_of_run(spec->arguments[0], &files, error)
               ? acr_report_of_run(python, form_of(spec), &files, error)
               : NULL;
}

static GBytes *render_many(const AcrRunSpec *spec, AcrPython *python, GError **error)
{
    g_auto(AcrReportFiles) files = {0}, others = {0};
    if (strcmp(form_of(spec), "sarif") == 0)
        return ACR_NULL(acr_task_refuse(error, "--format sarif is for one run folder"));
    if (!acr_report_files_of_many(spec->arguments[0], &files, error) ||
        (spec->compare && !acr_report_files_of_many(spec->compare, &others, error)))
        return NULL;
    return acr_report_of_tasks(python, form_of(spec), &files, spec->compare ? &others : NULL,
                               error);
}

static GBytes *render(const AcrHost *host, const AcrRunSpec *spec, GError **error)
{
    bool is_run = acr_report_is_run(spec->arguments[0]);
    if (is_run && spec->compare)
        return ACR_NULL(acr_task_refuse(error, "--compare is for folders of many runs"));
    g_autoptr(AcrPython) python = acr_python_new(host->python_dir, error);
    if (!python)
        return NULL;
    return is_run ? render_run(spec, python, error) : render_many(spec, python, error);
}

/* Where the report goes; owned; NULL: to standard output. A page goes into the folder. */
static char *place_of(const AcrRunSpec *spec)
{
    if (spec->report_file)
        return strcmp(spec->report_file, "-") == 0 ? NULL : g_strdup(spec->report_file);
    return strcmp(form_of(spec), "html") == 0
               ? g_build_filename(spec->arguments[0], ACR_FILE_REPORT, NULL)
               : NULL;
}

static int run(AcrHost *host, AcrRunSpec *spec)
{
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_usage("give one folder");
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) report = render(host, spec, &error);
    if (!report)
        return acr_verb_fail(host, error);
    g_autofree char *place = place_of(spec);
    if (!place)
        return acr_out_exit(acr_out_bytes(report), ACR_EXIT_OK);
    gsize len = 0;
    const void *data = g_bytes_get_data(report, &len);
    if (!acr_file_write_atomic(place, data, len, 0600, &error))
        return acr_verb_fail(host, error);
    g_autofree char *line = g_strconcat(place, "\n", NULL);
    return acr_out_exit(acr_out_text(line), ACR_EXIT_OK);
}

const AcrVerb acr_verb_report = {
    .name = "report",
    .summary = "Make a page of a run, or of many runs, or write it in another format",
    .takes = ACR_FOR_REPORT,
    .arguments = "OUT",
    .run = run,
};
