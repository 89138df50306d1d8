/*
 * acr-host index: indexes a repository and prints counts and times.
 */
#include "verbs/verbs_private.h"

#include <sys/resource.h>

static gint64 peak_memory_kib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static AcrJson *describe(const AcrWorkspace *workspace, bool verbose)
{
    AcrIndexStats stats;
    acr_index_stats(workspace->index, &stats);
    AcrJson *json = acr_json_new_object(), *unparsed = acr_json_new_array();
    acr_json_set_int(json, "entries", (gint64)acr_snapshot_size(workspace->snapshot));
    acr_json_set_int(json, "files", (gint64)stats.files);
    acr_json_set_int(json, "symbols", (gint64)stats.symbols);
    acr_json_set_int(json, "unparsable", (gint64)stats.unparsed);
    acr_json_set_int(json, "snapshot_ms", workspace->snapshot_ms);
    acr_json_set_int(json, "python_ms", workspace->python_ms);
    acr_json_set_int(json, "index_ms", workspace->index_ms);
    acr_json_set_int(json, "peak_memory_kib", peak_memory_kib());
    for (gsize i = 0; verbose && i < acr_index_n_files(workspace->index); i++) {
        const AcrIndexFile *file = acr_index_file(workspace->index, i);
        if (file->unparsed) {
            AcrJson *row = acr_json_new_object();
            acr_json_set_string(row, "file", file->path);
            acr_json_set_string(row, "reason", file->unparsed);
            acr_json_append(unparsed, row);
        }
    }
    if (verbose)
        acr_json_set(json, "unparsable_files", g_steal_pointer(&unparsed));
    acr_json_free(unparsed);
    return json;
}

static AcrOut print_text(const AcrJson *json)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (const AcrJson *at = acr_json_first(json); at; at = acr_json_next(at)) {
        g_autofree char *value = acr_json_print(at);
        g_string_append_printf(text, "%-16s %s\n", acr_json_key(at), value);
    }
    return acr_out_text(text->str);
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    g_auto(AcrRepoOptions) options = {0};
    int code;
    if (!acr_repo_options_parse(&acr_verb_index, "", &options, &argc, &argv, &code))
        return code;
    if (argc > 1)
        return acr_verb_usage(acr_verb_index.name, "unexpected argument '%s'", argv[1]);
    g_autoptr(GError) error = NULL;
    g_auto(AcrWorkspace) workspace = {0};
    if (!acr_repo_options_open(program, &acr_verb_index, &options, &workspace, &error))
        return acr_verb_fail(program, acr_verb_index.name, error);
    g_autoptr(AcrJson) described = describe(&workspace, options.verbose && options.json);
    return acr_out_exit(options.json ? acr_out_json(described) : print_text(described),
                        ACR_EXIT_OK);
}

const AcrVerb acr_verb_index = {"index", "Index a repository; prints counts and times", run};
