/* Opens a repository: finds out what kind of folder a path is, and creates the libgit2 handle.
 *
 * No hook or filter is run, so the owner of a repository and extensions that concern only writers
 * do not matter. If libgit2 cannot read the kind of object ids or of ref storage, the repository is
 * rejected with a message that names the kind. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "git_folder.h"
#include "vcs_private.h"

/* libgit2's options apply to the whole process and cannot be set thread-safely, so pthread_once
 * sets them. The variables here are the only global state of vcs besides `trusts_links`. */
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static _Thread_local bool is_starting;
static GError *init_error; /* why libgit2 cannot be used; NULL if libgit2 can be used */

/* Overrides the function of mbedTLS with this name, because the linker finds this definition first.
 * If libgit2 was built with mbedTLS, libgit2 calls the function when it starts, to decode every
 * certificate of the system. This takes half the time of a search, and acr-host makes no
 * connections with libgit2. While libgit2 starts, this function skips the certificates; for all
 * other callers it calls mbedTLS's function. */
int mbedtls_x509_crt_parse_file(void *chain, const char *path);
int mbedtls_x509_crt_parse_file(void *chain, const char *path)
{
    static const int none = -0x3E00; /* MBEDTLS_ERR_PK_FILE_IO_ERROR */
    int (*library)(void *, const char *) = NULL;
    if (!is_starting)
        *(void **)&library = dlsym(RTLD_NEXT, "mbedtls_x509_crt_parse_file");
    return library ? library(chain, path) : none;
}

static AcrGit table;

static bool load_libgit2(GError **error)
{
    static const AcrLibraryFunction functions[] = {
#define ROW(name) {"git_" #name, G_STRUCT_OFFSET(AcrGit, name)},
        ACR_GIT_FUNCTIONS(ROW)
#undef ROW
    };
    AcrLibrary library = {
        .file = "libgit2.so." LIBGIT2_SOVERSION,
        .package = "libgit2-" LIBGIT2_SOVERSION,
        .functions = functions,
        .n = G_N_ELEMENTS(functions),
        /* so that RTLD_NEXT in mbedtls_x509_crt_parse_file finds the library */
        .scope = RTLD_GLOBAL,
        .domain = ACR_VCS_ERROR,
        .code = ACR_VCS_ERROR_FAILED,
    };
    return acr_library_load(&library, &table, error);
}

static void init_libgit2(void)
{
    static const char *const extensions[] = {
        "noop",         "noop-v1",        "preciousobjects",
        "partialclone", "worktreeconfig", "relativeworktrees",
        "objectformat", "refstorage", /* the values of these two are checked after opening */
    };
    if (!load_libgit2(&init_error))
        return;
    is_starting = true;
    int starts = table.libgit2_init();
    is_starting = false;
    if (starts < 1) {
        acr_vcs_fail(&init_error, ACR_VCS_ERROR_FAILED, "cannot initialise libgit2");
        return;
    }
    table.libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, G_N_ELEMENTS(extensions));
    table.libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    table.libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION,
                       0); /* snapshot_read.c checks ids if its caller requests the check */
    table.libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION,
                       0); /* a tree of a partial clone refers to missing files */
}

bool acr_vcs_init(GError **error)
{
    pthread_once(&init_once, init_libgit2);
    if (init_error && error)
        *error = g_error_copy(init_error);
    return !init_error;
}

const AcrGit *acr_git_functions(void)
{
    g_autoptr(GError) error = NULL;
    if (!acr_vcs_init(&error))
        g_error("%s", error->message);
    return &table;
}

bool acr_vcs_memory_open(git_repository **out)
{
    git_odb *odb = NULL;
    git_odb_backend *backend = NULL;
    if (acr_git.odb_new(&odb) < 0)
        return false;
    bool done = acr_git.mempack_new(&backend) == 0 &&
                acr_git.odb_add_backend(odb, backend, 1) == 0 &&
                acr_git.repository_wrap_odb(out, odb) == 0;
    acr_git.odb_free(odb);
    return done;
}

bool acr_vcs_memory_add(git_repository *git, git_index *index, const char *path, guint32 mode,
                        GBytes *content)
{
    gsize len;
    const void *data = g_bytes_get_data(content, &len);
    git_index_entry entry = {.path = path, .mode = mode};
    return acr_git.blob_create_from_buffer(&entry.id, git, data ? data : "", len) == 0 &&
           acr_git.index_add(index, &entry) == 0;
}

static char *without_slash(const char *path)
{
    gsize len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    return g_strndup(path, len);
}

static AcrRepo *repo_new(git_repository *git, const char *path, const char *workdir)
{
    AcrRepo *repo = g_new0(AcrRepo, 1);
    g_atomic_ref_count_init(&repo->refs);
    repo->git = git;
    repo->path = without_slash(path);
    repo->workdir = workdir ? without_slash(workdir) : NULL;
    pthread_mutex_init(&repo->lock, NULL);
    return repo;
}

AcrRepo *acr_repo_ref(AcrRepo *repo)
{
    g_atomic_ref_count_inc(&repo->refs);
    return repo;
}

void acr_repo_unref(AcrRepo *repo)
{
    if (!repo || !g_atomic_ref_count_dec(&repo->refs))
        return;
    acr_git.repository_free(repo->git);
    pthread_mutex_destroy(&repo->lock);
    ACR_FREE(repo->path, repo->workdir, repo->note, repo);
}

bool acr_repo_is_git(const AcrRepo *repo)
{
    return repo->git != NULL;
}

bool acr_repo_is_bare(const AcrRepo *repo)
{
    return repo->git && !repo->workdir;
}

const char *acr_repo_workdir(const AcrRepo *repo)
{
    return repo->workdir;
}

const char *acr_repo_path(const AcrRepo *repo)
{
    return repo->path;
}

static bool check_repository_folder(const char *path, GError **error)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ||
               acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "'%s' is not a folder", path);
    if (errno == ENOENT || errno == ENOTDIR)
        return acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND, "no such folder '%s'", path);
    return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "cannot open '%s': %s", path,
                        g_strerror(errno));
}

/* Opens a folder that is not in a repository. Fails if the folder has a `.git` that libgit2 did not
 * recognise. */
static AcrRepo *open_plain(const char *path, GError **error)
{
    struct stat st;
    g_autofree char *dot_git = g_build_filename(path, ".git", NULL);
    if (lstat(dot_git, &st) == 0)
        return ACR_NULL(
            acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "'%s' is not a git repository", dot_git));
    g_autofree char *whole = realpath(path, NULL);
    if (!whole)
        return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "cannot open '%s': %s", path,
                                     g_strerror(errno)));
    return repo_new(NULL, whole, whole);
}

/* Adds the settings of one linked worktree (extensions.worktreeConfig), which libgit2 1.5 does not
 * read. */
static void add_worktree_config(git_repository *git, git_config *config)
{
    int enabled = 0;
    if (acr_git.config_get_bool(&enabled, config, "extensions.worktreeconfig") < 0 || !enabled)
        return;
    g_autofree char *file = g_build_filename(acr_git.repository_path(git), "config.worktree", NULL);
    if (acr_git.config_add_file_ondisk(config, file, GIT_CONFIG_LEVEL_APP, git, 0) < 0)
        acr_git.error_clear();
}

static bool value_is(git_config *config, const char *name, const char *expected)
{
    git_buf value = GIT_BUF_INIT;
    bool same = acr_git.config_get_string_buf(&value, config, name) < 0 ||
                !g_ascii_strcasecmp(value.ptr, expected);
    acr_git.buf_dispose(&value);
    return same;
}

#define SHA256 "'%s' uses SHA-256 object ids, which acr-host cannot read"

/* Opens the working tree of a repository with unreadable objects as a folder without git. Fails if
 * there is no working tree. */
static AcrRepo *open_tree_only(const char *path, const char *workdir, GError **error)
{
    if (!workdir)
        return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_UNSUPPORTED, SHA256, path));
    AcrRepo *repo = repo_new(NULL, workdir, workdir);
    repo->note = g_strdup_printf(SHA256 "; its working tree is read as a folder without git", path);
    return repo;
}

static bool check_refs_format(git_config *config, const char *path, GError **error)
{
    return value_is(config, "extensions.refstorage", "files") ||
           acr_vcs_fail(error, ACR_VCS_ERROR_UNSUPPORTED,
                        "'%s' does not store its refs as files, and acr-host reads no other format",
                        path);
}

static bool is_same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISDIR(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* True if the `.git` of `folder` is the git folder `git_folder`, or is a file that names it (in a
 * submodule, in a linked worktree, or with a separate git folder). */
static bool leads_to(const char *folder, const char *git_folder)
{
    g_autofree char *dot_git = g_build_filename(folder, ".git", NULL);
    if (is_same_folder(dot_git, git_folder))
        return true;
    g_autofree char *named = acr_vcs_read_path(folder, ".git", ACR_VCS_GIT_FILE);
    return named && is_same_folder(named, git_folder);
}

/* Returns the working tree: the nearest folder at or above `path` whose `.git` leads to the opened
 * git folder. The git folder's own settings (core.worktree, a linked worktree's gitdir) are
 * ignored, because they could name any folder of the user. Owned; NULL if the repository is
 * bare. */
static char *find_worktree(git_repository *git, git_config *config, const char *path)
{
    int bare = 0;
    if (!acr_git.repository_is_worktree(git) &&
        acr_git.config_get_bool(&bare, config, "core.bare") == 0 && bare)
        return NULL;
    g_autofree char *at = acr_path_real(path);
    for (;;) {
        if (leads_to(at, acr_git.repository_path(git)))
            return g_steal_pointer(&at);
        char *above = g_path_get_dirname(at);
        bool is_root = strcmp(above, at) == 0;
        g_free(at);
        at = above;
        if (is_root)
            return NULL;
    }
}

static bool set_objects(git_repository *git, const char *tree, GError **error)
{
    git_buf path = GIT_BUF_INIT;
    if (acr_git.repository_item_path(&path, git, GIT_REPOSITORY_ITEM_OBJECTS) < 0)
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot use the objects of '%s'",
                                acr_git.repository_path(git));
    g_autoptr(git_odb) odb = acr_vcs_odb_open(path.ptr, tree, error);
    acr_git.buf_dispose(&path);
    return odb && (acr_git.repository_set_odb(git, odb) == 0 ||
                   acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot use the objects of '%s'",
                                    acr_git.repository_path(git)));
}

static AcrRepo *open_git(git_repository *git, const char *path, GError **error)
{
    g_autoptr(git_repository) mine = git;
    g_autoptr(git_config) config = NULL;
    if (acr_git.repository_config(&config, git) < 0)
        return ACR_NULL(acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED,
                                         "cannot read the configuration of '%s'", path));
    add_worktree_config(git, config);
    g_autofree char *workdir = find_worktree(git, config, path);
    if (!value_is(config, "extensions.objectformat", "sha1"))
        return open_tree_only(path, workdir, error);
    if (!check_refs_format(config, path, error) || !set_objects(git, workdir, error))
        return NULL;
    return repo_new(g_steal_pointer(&mine), acr_git.repository_path(git), workdir);
}

AcrRepo *acr_repo_open(const char *path, GError **error)
{
    if (!acr_vcs_init(error) || !check_repository_folder(path, error) ||
        !acr_vcs_check_git_folder(path, error))
        return NULL;
    git_repository *git = NULL;
    int rc = acr_git.repository_open_ext(&git, path, 0, NULL);
    if (rc == GIT_ENOTFOUND)
        return open_plain(path, error);
    if (rc < 0) {
        const git_error *last = acr_git.error_last();
        bool unsupported = last && last->message && strstr(last->message, "unsupported");
        return ACR_NULL(
            acr_vcs_fail_git(error, unsupported ? ACR_VCS_ERROR_UNSUPPORTED : ACR_VCS_ERROR_FAILED,
                             "cannot open repository '%s'", path));
    }
    return open_git(git, path, error);
}

char *acr_vcs_library(void)
{
    int major = 0, minor = 0, patch = 0;
    if (!acr_vcs_init(NULL))
        return NULL;
    acr_git.libgit2_version(&major, &minor, &patch);
    return g_strdup_printf("%d.%d.%d", major, minor, patch);
}
