/* The served repositories. Each repository is opened once, indexed when it is first needed, and
 * indexed again after a change. Whether a working tree has changed is determined by the file
 * system's data (acr_snapshot_is_current); whether a bare repository has changed, by its HEAD. One
 * check is valid for all requests that arrived before it. If the contents are the same, the index
 * is kept. */
#include "serve/serve_private.h"

#include <string.h>

typedef struct {
    char *name;
    AcrRepo *repo;
    /* the latest snapshot; if there is an index, it is the index of this snapshot */
    AcrSnapshot *latest;
    AcrWorkspace workspace; /* snapshot, index and search; empty until they are needed */
    gint64 looked_us;       /* monotonic time at which the last check for changes began */
    guint64 used;           /* number of the last request that used the repository */
    bool has_remarked;      /* the remarks of the workspace were already reported */
} Repository;

struct AcrServeRepositories {
    const AcrServeOptions *options;
    GArray *all; /* array of Repository */
    guint64 requests;
    /* number (from 1) of the repository that is being indexed; 0 if there is none; atomic */
    guint indexed;
    gsize files; /* number of Python files in the repository that is being indexed; atomic */
};

static void clear_repository(gpointer data)
{
    Repository *repository = data;
    acr_workspace_clear(&repository->workspace);
    g_clear_pointer(&repository->latest, acr_snapshot_unref);
    g_clear_pointer(&repository->repo, acr_repo_unref);
    g_clear_pointer(&repository->name, g_free);
}

static Repository *repository_at(const AcrServeRepositories *all, guint i)
{
    return &g_array_index(all->all, Repository, i);
}

void acr_serve_repositories_free(AcrServeRepositories *all)
{
    if (!all)
        return;
    g_array_unref(all->all);
    g_free(all);
}

/* Returns the name of a repository's folder (or of a link to it) as the user gave it, with other
 * characters than letters, digits and "._-" replaced by "-"; owned. */
static char *plain_name(const AcrRepo *repo, const char *given)
{
    const char *path = acr_repo_workdir(repo) ? acr_repo_workdir(repo) : acr_repo_path(repo);
    g_autofree char *real = acr_path_real(path), *given_real = acr_path_real(given),
                    *absolute =
                        g_canonicalize_filename(strcmp(real, given_real) == 0 ? given : real, NULL);
    char *name = g_path_get_basename(absolute);
    if (g_str_has_suffix(name, ".git") && strlen(name) > 4)
        name[strlen(name) - 4] = '\0';
    for (char *at = name; *at; at++)
        if (!g_ascii_isalnum(*at) && !strchr("._-", *at))
            *at = '-';
    return name;
}

static char *unique_name(const AcrServeRepositories *all, const AcrRepo *repo, const char *given)
{
    g_autofree char *plain = plain_name(repo, given);
    char *name = g_strdup(plain);
    for (guint n = 2; acr_serve_repository_find(all, name) >= 0; n++) {
        g_free(name);
        name = g_strdup_printf("%s-%u", plain, n);
    }
    return name;
}

AcrServeRepositories *acr_serve_repositories_open(const AcrServeOptions *options, GError **error)
{
    g_autoptr(AcrServeRepositories) all = g_new0(AcrServeRepositories, 1);
    all->options = options;
    all->all = g_array_new(FALSE, TRUE, sizeof(Repository));
    g_array_set_clear_func(all->all, clear_repository);
    for (guint i = 0; options->paths[i]; i++) {
        Repository repository = {.repo = acr_repo_open(options->paths[i], error)};
        if (!repository.repo)
            return NULL;
        repository.name = unique_name(all, repository.repo, options->paths[i]);
        g_array_append_val(all->all, repository);
    }
    return g_steal_pointer(&all);
}

guint acr_serve_repositories_n(const AcrServeRepositories *all)
{
    return all->all->len;
}

const char *acr_serve_repository_name(const AcrServeRepositories *all, guint i)
{
    return repository_at(all, i)->name;
}

int acr_serve_repository_find(const AcrServeRepositories *all, const char *name)
{
    for (guint i = 0; i < all->all->len; i++)
        if (strcmp(repository_at(all, i)->name, name) == 0)
            return (int)i;
    return -1;
}

char *acr_serve_repository_names(const AcrServeRepositories *all)
{
    GString *names = g_string_new(NULL);
    for (guint i = 0; i < all->all->len; i++)
        g_string_append_printf(names, "%s%s", i ? ", " : "", repository_at(all, i)->name);
    return g_string_free(names, FALSE);
}

char *acr_serve_repositories_doing(AcrServeRepositories *all)
{
    guint i = __atomic_load_n(&all->indexed, __ATOMIC_ACQUIRE);
    return i ? g_strdup_printf("indexing %s: %" G_GSIZE_FORMAT " Python files",
                               acr_serve_repository_name(all, i - 1),
                               __atomic_load_n(&all->files, __ATOMIC_RELAXED))
             : NULL;
}

static void say_remarks(const AcrServeOptions *options, Repository *repository)
{
    const char *left_out = acr_snapshot_remarks(repository->workspace.snapshot);
    if (!repository->has_remarked && left_out)
        options->say("%s", left_out);
    if (!repository->has_remarked && repository->workspace.remark)
        options->say("%s", repository->workspace.remark);
    repository->has_remarked = true;
}

/* Drops the least recently used index to make room for another index, but never the index of
 * `kept`. */
static void forget_oldest(AcrServeRepositories *all, const Repository *kept)
{
    guint n = 0;
    Repository *oldest = NULL;
    for (guint i = 0; i < all->all->len; i++) {
        Repository *other = repository_at(all, i);
        if (other == kept || !other->workspace.search)
            continue;
        n++;
        if (!oldest || other->used < oldest->used)
            oldest = other;
    }
    if (n >= ACR_SERVE_MAX_INDEXED)
        acr_workspace_clear(&oldest->workspace);
}

static bool look_again(AcrServeRepositories *all, Repository *repository,
                       const AcrInterrupt *interrupt, GError **error)
{
    bool is_bare = acr_repo_is_bare(repository->repo);
    g_autoptr(AcrSnapshot) snapshot =
        is_bare ? acr_snapshot_of_commit(repository->repo, "HEAD", error)
                : acr_snapshot_of_worktree_marked(repository->repo, error);
    if (!snapshot)
        return false;
    if (!acr_workspace_has_tree(&repository->workspace, snapshot)) {
        g_auto(AcrWorkspace) fresh = {.snapshot = acr_snapshot_ref(snapshot)};
        AcrHost host = *all->options->host;
        host.interrupt = (AcrInterrupt *)interrupt;
        forget_oldest(all, repository);
        guint i = (guint)(repository - repository_at(all, 0));
        __atomic_store_n(&all->files, acr_workspace_n_code_files(snapshot), __ATOMIC_RELAXED);
        __atomic_store_n(&all->indexed, i + 1, __ATOMIC_RELEASE);
        bool ok = acr_workspace_index_alone(&fresh, &host, NULL, error);
        __atomic_store_n(&all->indexed, 0, __ATOMIC_RELEASE);
        if (!ok)
            return false;
        acr_workspace_clear(&repository->workspace);
        repository->workspace = fresh;
        fresh = (AcrWorkspace){0};
        acr_search_set_mode(repository->workspace.search,
                            (AcrSearchMode){.tests = all->options->tests});
        say_remarks(all->options, repository);
    }
    acr_snapshot_unref(repository->latest);
    repository->latest = g_steal_pointer(&snapshot);
    return true;
}

bool acr_serve_repository_view(AcrServeRepositories *all, guint i, gint64 since_us,
                               const AcrInterrupt *interrupt, AcrServeView *out, GError **error)
{
    Repository *repository = repository_at(all, i);
    gint64 now_us = g_get_monotonic_time();
    bool was_seen = repository->workspace.search && repository->looked_us >= since_us;
    bool is_current =
        was_seen || (repository->workspace.search && acr_snapshot_is_current(repository->latest));
    if (!is_current && !look_again(all, repository, interrupt, error))
        return false;
    if (!was_seen)
        repository->looked_us = now_us;
    repository->used = ++all->requests;
    *out = (AcrServeView){repository->workspace.snapshot, repository->workspace.index,
                          repository->workspace.search};
    return true;
}
