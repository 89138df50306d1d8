/*
 * Rows whose "log_parser" is one of the user's extensions: what that reads in a log is put into the row, for
 * the rules to find it there (python/acr/grading/parsers.py).
 */
#include "eval/eval_private.h"

#include <string.h>

#define OUTCOMES "log_outcomes"

/* The row, with what the parser is known by; NULL where no extension has its parser. */
static AcrJson *take_up(const AcrEvalOptions *options, const char *row, const char **out_name)
{
    g_autoptr(AcrJson) json = options->extensions ? acr_json_parse(row, strlen(row), NULL) : NULL;
    *out_name = acr_json_get_string(json, "log_parser");
    const char *digest = acr_extensions_parser(options->extensions, *out_name);
    if (!digest)
        return NULL;
    acr_json_set_string(json, "log_parser_digest", digest);
    acr_json_set(json, OUTCOMES, acr_json_new_object());
    return g_steal_pointer(&json);
}

char *acr_eval_row(const AcrEvalOptions *options, const char *row)
{
    const char *name;
    g_autoptr(AcrJson) json = take_up(options, row, &name);
    return json ? acr_json_print(json) : g_strdup(row);
}

char *acr_eval_row_with(const AcrEvalOptions *options, const char *row, GBytes *const *logs,
                        guint n, GError **error)
{
    const char *name;
    g_autoptr(AcrJson) json = take_up(options, row, &name);
    g_autoptr(AcrJson) all = acr_json_new_object();
    if (!json)
        return g_strdup(row);
    for (guint i = 0; i < n; i++) {
        g_autofree char *output = acr_grading_output(options->python, logs[i], error);
        g_autoptr(AcrJson) said = NULL;
        if (!output || !acr_extensions_parse(options->extensions, name, output, &said, error))
            return NULL;
        g_autoptr(GBytes) bytes = g_bytes_new(output, strlen(output));
        g_autofree char *digest = acr_sha256_bytes(bytes);
        if (said)
            acr_json_set(all, digest, g_steal_pointer(&said));
    }
    acr_json_set(json, OUTCOMES, g_steal_pointer(&all));
    return acr_json_print(json);
}
