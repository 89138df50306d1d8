/* Reads SWE-bench data sets: JSON arrays and JSON lines. For solving, takes only the fields that a
 * solver may see. */
#include "batch/batch.h"
#include "layout/layout.h"

#include <string.h>

G_DEFINE_QUARK(acr_batch_error_quark, acr_batch_error)

void acr_instance_free(AcrInstance *instance)
{
    if (!instance)
        return;
    ACR_FREE(instance->instance_id, instance->repo, instance->base_commit,
             instance->problem_statement, instance->fault, instance->lack, instance->row, instance);
}

#define MAX_NAME_BYTES 200u
#define MAX_SHOWN_REPOS 5u
#define MAX_SHOWN_FAULTS 5u

/* True if the batch itself uses the name for a file or folder. */
static bool is_own_name(const char *name)
{
    static const char *const own[] = {ACR_FILE_PREDICTIONS, ACR_FILE_SUMMARY,     ACR_DIR_SHARED,
                                      ACR_DIR_LOGS,         ACR_DIR_ENVIRONMENTS, NULL};
    g_autofree char *lower = g_ascii_strdown(name, -1);
    return g_strv_contains(own, lower);
}

bool acr_name_is_safe(const char *name, const char *also)
{
    bool is_safe = also ? g_ascii_isalnum(*name) || *name == '_'
                        : *name && *name != '.' && g_utf8_validate(name, -1, NULL);
    for (const char *at = name; is_safe && *at; at++)
        is_safe = also ? g_ascii_isalnum(*at) || strchr("_-.", *at) || strchr(also, *at)
                       : *at != '/' && !g_ascii_iscntrl(*at);
    return is_safe && strlen(name) <= MAX_NAME_BYTES && !(also && strstr(name, ".."));
}

typedef struct {
    const char *path;
    AcrDatasetUse use;
    GPtrArray *rows; /* array of AcrInstance */
    GHashTable *ids; /* set of the ids of `rows`, borrowed */
} Set;

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, __VA_ARGS__)

static AcrInstance *read_row(const Set *set, const AcrJson *row, guint number, GError **error)
{
    static const char *const keys[] = {"instance_id", "repo", "base_commit", "problem_statement"};
    const char *values[G_N_ELEMENTS(keys)], *path = set->path;
    g_autoptr(GString) missing = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
        values[i] = acr_json_get_string(row, keys[i]);
        if (!values[i] && (i < 2 || set->use == ACR_DATASET_SOLVE))
            g_string_append_printf(missing, "%s\"%s\"", missing->len ? ", " : "", keys[i]);
    }
    if (missing->len)
        return ACR_NULL(
            refuse(error, "row %u of '%s' lacks the string %s", number, path, missing->str));
    bool is_safe = acr_name_is_safe(values[0], "");
    if (!is_safe || !acr_name_is_safe(values[1], "/+"))
        return ACR_NULL(refuse(error, "row %u of '%s': the id '%s' cannot be used as a folder name",
                               number, path, is_safe ? values[1] : values[0]));
    if (is_own_name(values[0]))
        return ACR_NULL(
            refuse(error, "row %u of '%s': the id '%s' is the name of a file that the batch writes",
                   number, path, values[0]));
    AcrInstance *instance = g_new0(AcrInstance, 1);
    instance->instance_id = g_strdup(values[0]);
    instance->repo = g_strdup(values[1]);
    instance->base_commit = g_strdup(values[2]);
    instance->problem_statement = g_strdup(values[3]);
    instance->fault = g_strdup(acr_json_get_string(row, "fault"));
    for (guint i = 2; set->use == ACR_DATASET_SOLVE && i < G_N_ELEMENTS(keys); i++)
        if (!instance->fault && values[i][strspn(values[i], " \t\r\n")] == '\0')
            instance->fault =
                g_strdup_printf("row %u of '%s' has no \"%s\"", number, path, keys[i]);
    instance->row = set->use == ACR_DATASET_GRADE ? acr_json_print(row) : NULL;
    return instance;
}

static bool add_instance(void *ctx, const AcrJson *row, guint number, GError **error)
{
    Set *set = ctx;
    AcrInstance *instance = read_row(set, row, number, error);
    if (!instance)
        return false;
    g_ptr_array_add(set->rows, instance);
    return g_hash_table_add(set->ids, instance->instance_id) ||
           refuse(error, "row %u of '%s' repeats the instance '%s'", number, set->path,
                  instance->instance_id);
}

static bool read_list(Set *set, const char *text, gsize len, GError **error)
{
    g_autoptr(AcrJson) list = acr_json_parse(text, len, error);
    guint number = 0;
    if (!list)
        g_prefix_error(error, "'%s': ", set->path);
    for (const AcrJson *row = acr_json_first(list); row; row = acr_json_next(row))
        if (!add_instance(set, row, ++number, error))
            return false;
    return list != NULL;
}

char **acr_dataset_ids(const GPtrArray *rows)
{
    char **ids = rows ? g_new0(char *, rows->len + 1) : NULL;
    for (guint i = 0; rows && i < rows->len; i++)
        ids[i] = g_strdup(((const AcrInstance *)rows->pdata[i])->instance_id);
    return ids;
}

bool acr_dataset_select(GPtrArray *rows, const char *path, const char *const *only, GError **error)
{
    g_auto(GStrv) ids = acr_dataset_ids(rows);
    const char *const *known = (const char *const *)ids;
    for (guint i = 0; only[i]; i++) {
        const char *near = acr_nearest_name(only[i], known);
        if (!g_strv_contains(known, only[i]))
            return refuse(error, "'%s' has no instance '%s'%s%s%s", path, only[i],
                          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    for (guint i = rows->len; i-- > 0;)
        if (!g_strv_contains(only, ((AcrInstance *)rows->pdata[i])->instance_id))
            g_ptr_array_remove_index(rows, i);
    return true;
}

GPtrArray *acr_dataset_parse(GBytes *bytes, const char *path, AcrDatasetUse use,
                             const char *const *only, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree char *text = acr_bytes_text(bytes);
    gsize len = g_bytes_get_size(bytes);
    Set set = {path, use, rows, ids};
    bool is_list = text[strspn(text, " \t\r\n")] == '[';
    bool ok = is_list ? read_list(&set, text, len, &reason)
                      : acr_json_lines(text, len, path, add_instance, &set, &reason);
    if (!ok)
        ok = refuse(error, "cannot use the data set: %s", reason->message);
    else if (rows->len == 0)
        ok = refuse(error, "the data set '%s' is empty", path);
    else if (only)
        ok = acr_dataset_select(rows, path, only, error);
    return ok ? g_steal_pointer(&rows) : NULL;
}

GPtrArray *acr_dataset_read(const char *path, AcrDatasetUse use, const char *const *only,
                            GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_DATASET_MAX_BYTES, &reason);
    if (bytes)
        return acr_dataset_parse(bytes, path, use, only, error);
    const char *slash = strchr(path, '/');
    bool is_name = g_ascii_isalnum(*path) && slash && slash[1] && !strpbrk(slash + 1, "/.") &&
                   g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND);
    return ACR_NULL(refuse(error, "cannot use the data set: %s%s%s%s", reason->message,
                           is_name ? "; to download a data set of Hugging Face: hf download " : "",
                           is_name ? path : "",
                           is_name ? " --repo-type dataset --local-dir FOLDER" : ""));
}

char *acr_dataset_faults(const GPtrArray *instances)
{
    g_autoptr(GString) shown = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; i < instances->len; i++) {
        const AcrInstance *task = instances->pdata[i];
        if ((task->fault || task->lack) && n++ < MAX_SHOWN_FAULTS)
            g_string_append_printf(shown, "%s%s%s%s", n > 1 ? "; " : "",
                                   task->fault ? "" : task->instance_id, task->fault ? "" : ": ",
                                   task->fault ? task->fault : task->lack);
    }
    if (n > MAX_SHOWN_FAULTS)
        g_string_append_printf(shown, "; and %u more", n - MAX_SHOWN_FAULTS);
    return n ? g_strdup_printf("%u task%s cannot run: %s", n, n == 1 ? "" : "s", shown->str) : NULL;
}

bool acr_dataset_check_faults(const GPtrArray *instances, GError **error)
{
    for (guint i = 0; i < instances->len; i++)
        if (!((const AcrInstance *)instances->pdata[i])->fault)
            return true;
    g_autofree char *faults = acr_dataset_faults(instances);
    return !faults || acr_task_refuse(error, "%s; nothing was run", faults);
}

char *acr_dataset_repo(const char *dir, const char *name)
{
    static const char *const joints[] = {"/", "+", "__"};
    static const char *const endings[] = {"", ".git"};
    g_auto(GStrv) parts = g_strsplit(name, "/", 2);
    for (guint j = 0; j < G_N_ELEMENTS(joints); j++) {
        for (guint e = 0; e < G_N_ELEMENTS(endings); e++) {
            g_autofree char *joined = g_strjoinv(joints[j], parts),
                            *path = g_strconcat(dir, "/", joined, endings[e], NULL);
            if (g_file_test(path, G_FILE_TEST_IS_DIR))
                return g_steal_pointer(&path);
        }
    }
    return NULL;
}

bool acr_dataset_check_repos(const char *dir, const GPtrArray *instances, GError **error)
{
    g_autoptr(GHashTable) missing = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) commands = g_string_new(NULL);
    const char *first = NULL;
    for (guint i = 0; i < instances->len; i++) {
        const AcrInstance *instance = instances->pdata[i];
        const char *name = instance->repo;
        g_autofree char *path = acr_dataset_repo(dir, name);
        if (path || instance->fault || !g_hash_table_add(missing, (char *)name))
            continue;
        g_autofree char *place = g_build_filename(dir, name, NULL), *word = g_shell_quote(place);
        first = first ? first : name;
        if (g_hash_table_size(missing) <= MAX_SHOWN_REPOS)
            g_string_append_printf(commands, "\ngit clone https://github.com/%s.git %s", name,
                                   word);
    }
    guint others = g_hash_table_size(missing);
    g_autofree char *also = others > 1 ? g_strdup_printf(" and %u more", others - 1) : g_strdup("");
    return !others ||
           acr_task_refuse(error,
                           "cannot find a repository of '%s'%s in '%s' (accepted names: "
                           "owner/name, owner+name, owner__name, each also with .git)%s%s",
                           first, also, dir, others > 1 ? "; clone them:" : "; ",
                           commands->str + (others == 1));
}

void acr_dataset_find_commits(const char *dir, const char *out, const GPtrArray *instances)
{
    g_autoptr(GHashTable) repos =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)acr_repo_unref);
    for (guint i = 0; i < instances->len; i++) {
        AcrInstance *task = instances->pdata[i];
        g_autoptr(GError) error = NULL;
        g_autofree char *path = acr_dataset_repo(dir, task->repo),
                        *folder = g_build_filename(out ? out : "", task->instance_id, NULL);
        AcrRepo *repo = path ? g_hash_table_lookup(repos, path) : NULL;
        if (task->fault || !path || (out && g_file_test(folder, G_FILE_TEST_EXISTS)))
            continue;
        if (!repo && (repo = acr_repo_open(path, &error)))
            g_hash_table_insert(repos, g_strdup(path), repo);
        if (!repo || !acr_repo_has_commit(repo, task->base_commit, &error))
            task->lack = g_strdup(error->message);
    }
}
