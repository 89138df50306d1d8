/* acr-host help TOPIC|VERB: prints a guide of docs/ or, if a verb has no guide, its --help. The
 * topic `skill` is the file from which other agents learn to use the program; the rules of these
 * agents determine the file's name and folder. */
#include <string.h>

#include "search/search.h"
#include "verbs/verbs_private.h"

#define MAX_GUIDE_BYTES ((gsize)1024 * 1024)
#define ENDING ".md"
#define SKILL "skill"
#define SKILL_PATH "skills/acr-host/SKILL" ENDING

static gint compare_topics(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *acr_help_topics(const AcrHost *host)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *folder = g_build_filename(host->python_dir, "..", "docs", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (g_str_has_suffix(name, ENDING) && !g_str_has_prefix(name, "README"))
            g_ptr_array_add(names, g_strndup(name, strlen(name) - strlen(ENDING)));
    g_ptr_array_add(names, g_strdup(SKILL));
    g_ptr_array_sort(names, compare_topics);
    return names;
}

static AcrExit refuse_topic(const AcrHost *host, const char *name)
{
    g_autoptr(GPtrArray) topics = acr_help_topics(host);
    g_ptr_array_add(topics, NULL);
    char **names = (char **)topics->pdata;
    g_autofree char *list = g_strjoinv(", ", names);
    const char *topic = acr_nearest_name(name, (const char *const *)names),
               *nearest = topic ? topic : acr_verb_nearest(name);
    acr_verb_say("there is no topic '%s'%s%s%s; give a verb, or one of: %s", name,
                 nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "",
                 list);
    return ACR_EXIT_USAGE;
}

static int start_help(AcrHost *host, int argc, char **argv)
{
    g_autofree char *name = g_strjoinv(" ", argv + 1), *file = g_strconcat(name, ENDING, NULL),
                    *path = g_build_filename(host->python_dir, "..", "docs",
                                             strcmp(name, SKILL) == 0 ? SKILL_PATH : file, NULL);
    g_autoptr(GBytes) guide =
        !strchr(name, '/') ? acr_file_read(path, MAX_GUIDE_BYTES, NULL) : NULL;
    if (guide)
        return acr_out_exit(acr_out_bytes(guide), ACR_EXIT_OK);
    for (guint i = 0; acr_verbs[i]; i++)
        if (acr_verbs[i]->summary && strcmp(acr_verbs[i]->name, name) == 0) {
            g_autofree char *text = acr_help_text(acr_verbs[i], false);
            return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
        }
    return refuse_topic(host, name);
}

const AcrVerb acr_verb_help = {.name = "help", .start = start_help};
