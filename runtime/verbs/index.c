/* acr-host index: indexes a repository and prints counts and times. */
#include "verbs/verbs_private.h"

#include <sys/resource.h>

/* Returns the peak memory in KiB of this process or its largest child (`who`: see getrusage). */
static gint64 peak_memory_kib(int who)
{
    struct rusage usage;
    return getrusage(who, &usage) == 0 ? usage.ru_maxrss : 0;
}

static AcrJson *unparsed_files(const AcrIndex *index)
{
    AcrJson *list = acr_json_new_array();
    for (gsize i = 0; i < acr_index_n_files(index); i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        if (!file->unparsed)
            continue;
        acr_json_add(list, ACR_STRING("file", file->path), ACR_STRING("reason", file->unparsed));
    }
    return list;
}

static AcrJson *describe_index(const AcrWorkspace *workspace, bool verbose)
{
    AcrIndexStats stats;
    acr_index_stats(workspace->index, &stats);
    const struct {
        const char *name;
        gint64 value;
    } rows[] = {
        {"entries", (gint64)acr_snapshot_size(workspace->snapshot)},
        {"files", (gint64)stats.files},
        {"symbols", (gint64)stats.symbols},
        {"parsed", (gint64)stats.parsed},
        {"cached", (gint64)stats.cached},
        {"unparsable", (gint64)stats.unparsed},
        {"snapshot_ms", workspace->snapshot_ms},
        {"cache_ms", stats.cache_ms},
        {"outline_ms", stats.outline_ms},
        {"decode_ms", stats.decode_ms},
        {"index_ms", workspace->index_ms},
        {"peak_memory_kib", peak_memory_kib(RUSAGE_SELF)},
        {"worker_peak_memory_kib", peak_memory_kib(RUSAGE_CHILDREN)},
    };
    AcrJson *json = acr_json_new_object();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        acr_json_set_int(json, rows[i].name, rows[i].value);
    if (verbose)
        acr_json_set(json, "unparsable_files", unparsed_files(workspace->index));
    return json;
}

static AcrOut print_counts(const AcrJson *json)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (const AcrJson *at = acr_json_first(json); at; at = acr_json_next(at)) {
        g_autofree char *value = acr_json_print(at);
        g_string_append_printf(text, "%-22s %s\n", acr_json_key(at), value);
    }
    return acr_out_text(text->str);
}

/* Clears the cache of outlines. Does nothing else if no repository is given. */
static int clear_cache(AcrHost *host)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *cache = acr_host_default_cache(ACR_CACHE_OUTLINES);
    if (cache && !acr_index_cache_clear(cache, &error))
        return acr_verb_fail(host, error);
    return ACR_EXIT_OK;
}

static int run_index(AcrHost *host, AcrRunSpec *spec)
{
    int code = spec->clear ? clear_cache(host) : ACR_EXIT_OK;
    if (code != ACR_EXIT_OK || !spec->repo)
        return code;
    g_autoptr(GError) error = NULL;
    g_auto(AcrWorkspace) workspace = {0};
    if (!acr_repository_open(host, spec, &workspace, &error) ||
        !acr_repository_index(host, spec, &workspace, &error))
        return acr_verb_fail(host, error);
    g_autoptr(AcrJson) described = describe_index(&workspace, spec->verbose && spec->json);
    return acr_out_exit(spec->json ? acr_out_json(described) : print_counts(described),
                        ACR_EXIT_OK);
}

const AcrVerb acr_verb_index = {
    .name = "index",
    .summary = "Index a repository and print counts and times",
    .takes = ACR_FOR_INDEX,
    .examples = {{"Count what an index of a repository holds", "index --repo ~/project --json"}},
    .run = run_index,
};
