/* Finds what a report says of a run besides its results: the note of a running run, and the models,
 * the repository and the time of a run that belongs to no batch, which has them in its summary. */
#include "report/report_private.h"

#include <string.h>

#include "layout/layout.h"
#include "task/live.h"

#define MAX_JOURNAL ((gsize)128 * 1024 * 1024)
#define TIME "\"time\":{\"wall_ms\":" /* inside a JSON text, the quotation marks are escaped */

/* Returns the time of all steps in a run's journal, in milliseconds. */
static gint64 journal_ms(const AcrFolder *folder)
{
    g_autoptr(GBytes) bytes = acr_folder_read_file(folder, ACR_FILE_JOURNAL, MAX_JOURNAL, NULL);
    gint64 sum = 0;
    gsize len = 0;
    const char *at = bytes ? g_bytes_get_data(bytes, &len) : NULL, *end = at ? at + len : NULL;
    while (at < end) {
        const char *newline = memchr(at, '\n', (gsize)(end - at)), *stop = newline ? newline : end;
        const char *time = g_strrstr_len(at, stop - at, TIME);
        g_autofree char *digits = time ? g_strndup(time + strlen(TIME), 15) : NULL;
        sum += digits ? g_ascii_strtoll(digits, NULL, 10) : 0;
        at = newline ? newline + 1 : end;
    }
    return sum;
}

bool acr_report_is_running(const AcrFolder *folder)
{
    AcrLiveRun run = {0};
    acr_live_run_read(folder->path, NULL, &run);
    acr_doing_clear(&run.doing);
    return run.process.state == ACR_LIVE_RUNS;
}

char *acr_report_run_facts(const AcrFolder *folder)
{
    g_autofree char *summary = g_build_filename(folder->path, "..", ACR_FILE_SUMMARY, NULL);
    if (g_file_test(summary, G_FILE_TEST_EXISTS))
        return NULL;
    g_autoptr(AcrJson) meta = acr_folder_read_json(folder, ACR_FILE_META, NULL);
    const AcrJson *options = acr_json_get(meta, "options"),
                  *models = acr_json_get(options, "model");
    g_autoptr(AcrJson) facts = acr_json_of(ACR_STRING("repo", acr_json_get_string(options, "repo")),
                                           ACR_INT("ms", journal_ms(folder)), NULL);
    if (models)
        acr_json_set(facts, "models", acr_json_copy(models));
    return acr_json_print(facts);
}
