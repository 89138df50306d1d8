/*
 * acr-host help TOPIC|VERB: a guide of docs/; a verb without a guide: what its --help prints.
 */
#include <string.h>

#include "verbs/verbs_private.h"

#define MAX_GUIDE_BYTES ((gsize)1024 * 1024)
#define ENDING ".md"

static gint compare_topics(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The guides' names, joined; owned. */
static char *list_topics(const char *folder)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (g_str_has_suffix(name, ENDING) && !g_str_has_prefix(name, "README"))
            g_ptr_array_add(names, g_strndup(name, strlen(name) - strlen(ENDING)));
    g_ptr_array_sort(names, compare_topics);
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

static int start_help(AcrHost *host, int argc, char **argv)
{
    const char *name = argc == 2 ? argv[1] : "";
    g_autofree char *folder = g_build_filename(host->python_dir, "..", "docs", NULL),
                    *file = g_strconcat(name, ENDING, NULL),
                    *path = g_build_filename(folder, file, NULL), *topics = list_topics(folder);
    g_autoptr(GBytes) guide =
        *name && !strchr(name, '/') ? acr_file_read(path, MAX_GUIDE_BYTES, NULL) : NULL;
    if (guide)
        return acr_out_exit(acr_out_bytes(guide), ACR_EXIT_OK);
    for (guint i = 0; acr_verbs[i]; i++)
        if (acr_verbs[i]->summary && strcmp(acr_verbs[i]->name, name) == 0) {
            g_autofree char *text = acr_help_text(acr_verbs[i], false);
            return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
        }
    acr_verb_say("help: give a verb, or one of these topics: %s", topics);
    return ACR_EXIT_USAGE;
}

const AcrVerb acr_verb_help = {.name = "help", .start = start_help};
