/* Checks a git folder before libgit2 opens it, because the folder may be untrusted (from an
 * archive).
 *
 * libgit2 would block on a FIFO. It would also follow git's references to other folders (a `.git`
 * that is a file or a link, commondir, alternates, links instead of folders) to any repository of
 * the user, and code of that repository would then be sent to a model. Therefore a reference out of
 * the folder is followed only if the target names this working tree in return. The targets of
 * linked worktrees, submodules and git folders with core.worktree do so; the author of an archive
 * cannot write such a name into a folder of the user. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "git_folder.h"
#include "vcs_private.h"

#define MAX_LINE_BYTES 8192u
#define MAX_CONFIG_BYTES (16u * 1024 * 1024)
#define MAX_INCLUDES 10u /* maximum number of nested includes, as in git */

static int trusts_links; /* set once for the whole process, like libgit2's options */

void acr_vcs_trust_links(void)
{
    g_atomic_int_set(&trusts_links, 1);
}

bool acr_vcs_trusts_links(void)
{
    return g_atomic_int_get(&trusts_links) != 0;
}

/* A working tree and the folders of its repository: resolved paths, owned. */
typedef struct {
    char *tree; /* NULL if the repository is bare */
    char *git;  /* git folder of the working tree */
    /* for a linked worktree, the git folder of the repository; otherwise the same as `git` */
    char *common;
} Family;

static void family_clear(Family *family)
{
    ACR_FREE(family->tree, family->git, family->common);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Family, family_clear)

/* True if a path belongs to the repository: after its links are resolved, it is in the working tree
 * or in a git folder. */
static bool is_own(const Family *family, const char *path)
{
    g_autofree char *real = acr_path_real(path);
    return acr_path_is_below(real, family->tree) || acr_path_is_below(real, family->git) ||
           acr_path_is_below(real, family->common);
}

bool acr_vcs_fail_outside(GError **error, const char *from, const char *to)
{
    return acr_vcs_fail(
        error, ACR_VCS_ERROR_FAILED,
        "'%s' points to '%s', which is outside this repository; use --trust-git-links "
        "to follow it, for example in a clone that git clone --shared made",
        from, to);
}

static bool fail_kind(GError **error, const char *path)
{
    return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED,
                        "git's file '%s' is a FIFO or a device; remove it", path);
}

char *acr_vcs_read_path(const char *folder, const char *name, const char *prefix)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_LINE_BYTES, NULL);
    g_autofree char *text = bytes ? g_strchomp(acr_bytes_text(bytes)) : NULL;
    if (!text || !g_str_has_prefix(text, prefix))
        return NULL;
    g_autofree char *named = g_canonicalize_filename(text + strlen(prefix), folder);
    return acr_path_real(named);
}

/* Returns the next value of `key` in the configuration text *at, in any section, and moves *at
 * behind the key; owned; NULL if there is none. Removes quotes and backslashes, which is sufficient
 * for paths. */
static char *next_value(const char **at, const char *key)
{
    for (const char *found; (found = strcasestr(*at, key));) {
        const char *equals = found + strlen(key);
        bool is_word = found == *at || strchr(" \t\n]", found[-1]);
        equals += strspn(equals, " \t");
        *at = equals;
        if (!is_word || *equals != '=')
            continue;
        const char *value = equals + 1 + strspn(equals + 1, " \t");
        GString *text = g_string_new_len(value, (gssize)strcspn(value, "\n"));
        g_string_replace(text, "\"", "", 0);
        g_string_replace(text, "\\", "", 0);
        return g_strchomp(g_string_free(text, FALSE));
    }
    return NULL;
}

static char *read_config(const char *path)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_CONFIG_BYTES, NULL);
    return bytes ? acr_bytes_text(bytes) : NULL;
}

static char *expand(const char *value, const char *folder)
{
    return g_str_has_prefix(value, "~/")
               ? g_build_filename(g_get_home_dir(), value + strlen("~/"), NULL)
               : g_canonicalize_filename(value, folder);
}

static bool is_waiting(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

/* Fails if a file that the configuration `path` includes, directly or indirectly, is a FIFO or a
 * device. */
static bool check_includes(const char *path, guint depth, GError **error)
{
    g_autofree char *text = read_config(path), *folder = g_path_get_dirname(path);
    const char *at = text ? text : "";
    for (char *value; depth < MAX_INCLUDES && (value = next_value(&at, "path"));) {
        g_autofree char *named = expand(value, folder);
        g_free(value);
        if (is_waiting(named))
            return fail_kind(error, named);
        if (!check_includes(named, depth + 1, error))
            return false;
    }
    return true;
}

/* True if the configuration of the git folder `git` names the working tree `tree`. The
 * configurations of submodules and separate git folders do so. */
static bool names_tree(const char *git, const char *tree)
{
    g_autofree char *path = g_build_filename(git, "config", NULL);
    g_autofree char *text = read_config(path);
    const char *at = text ? text : "";
    for (char *value; (value = next_value(&at, "worktree"));) {
        g_autofree char *named = expand(value, git);
        g_autofree char *real = acr_path_real(named);
        g_free(value);
        if (g_strcmp0(real, tree) == 0)
            return true;
    }
    return false;
}

/* True if `git` is the git folder of a linked worktree of the repository `common`. */
static bool is_linked(const char *git, const char *common)
{
    g_autofree char *worktrees = g_build_filename(common, "worktrees", NULL),
                    *above = g_path_get_dirname(git);
    return strcmp(above, worktrees) == 0;
}

/* Sets family->git to the git folder of the working tree. Fails if the git folder does not belong
 * to this working tree. */
static bool resolve_link(Family *family, GError **error)
{
    g_autofree char *dot_git = g_build_filename(family->tree, ".git", NULL);
    struct stat st;
    if (lstat(dot_git, &st) == 0 && is_waiting(dot_git))
        return fail_kind(error, dot_git);
    family->git = acr_vcs_read_path(family->tree, ".git", ACR_VCS_GIT_FILE);
    if (!family->git)
        family->git = acr_path_real(dot_git);
    g_autofree char *back = acr_vcs_read_path(family->git, "gitdir", "");
    bool is_ours = acr_path_is_below(family->git, family->tree) || g_strcmp0(back, dot_git) == 0 ||
                   names_tree(family->git, family->tree);
    return is_ours || acr_vcs_trusts_links() || acr_vcs_fail_outside(error, dot_git, family->git);
}

static bool resolve_common(Family *family, GError **error)
{
    g_autofree char *name = g_build_filename(family->git, "commondir", NULL);
    if (is_waiting(name))
        return fail_kind(error, name);
    family->common = acr_vcs_read_path(family->git, "commondir", "");
    if (!family->common)
        family->common = g_strdup(family->git);
    return is_own(&(Family){family->tree, family->git, NULL}, family->common) ||
           is_linked(family->git, family->common) || acr_vcs_trusts_links() ||
           acr_vcs_fail_outside(error, name, family->common);
}

static bool check_entry(const Family *family, const char *path, unsigned char type, GError **error)
{
    if (type == DT_REG || type == DT_DIR)
        return true;
    if (is_waiting(path))
        return fail_kind(error, path);
    struct stat st;
    bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    if (!is_link || is_own(family, path) || acr_vcs_trusts_links())
        return true;
    g_autofree char *real = acr_path_real(path);
    return acr_vcs_fail_outside(error, path, real);
}

/* Checks the contents of a folder and, if `depth` is not 0, of its subfolders. The folder may be
 * missing. */
static bool check_git_folder(const Family *family, const char *folder, guint depth, GError **error)
{
    bool ok = true;
    DIR *list = opendir(folder);
    for (struct dirent *entry; ok && list && (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        g_autofree char *path = g_build_filename(folder, entry->d_name, NULL);
        ok = check_entry(family, path, entry->d_type, error);
        if (!ok || !depth || !g_file_test(path, G_FILE_TEST_IS_DIR))
            continue;
        ok = entry->d_type == DT_LNK ? acr_vcs_fail(error, ACR_VCS_ERROR_FAILED,
                                                    "git's folder '%s' is a symbolic link", path)
                                     : check_git_folder(family, path, depth - 1, error);
    }
    if (list)
        closedir(list);
    return ok;
}

static bool check_git(const Family *family, const char *git, GError **error)
{
    static const struct {
        const char *name;
        guint depth;
    } folders[] = {{"", 0},
                   {"info", 0},
                   {"refs", ACR_VCS_MAX_DEPTH},
                   {"logs", ACR_VCS_MAX_DEPTH},
                   {"objects", 0},
                   {"objects/info", 0},
                   {"objects/pack", 0}};
    for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *folder = g_build_filename(git, folders[i].name, NULL);
        if (!check_git_folder(family, folder, folders[i].depth, error))
            return false;
    }
    g_autofree char *config = g_build_filename(git, "config", NULL),
                    *own = g_build_filename(git, "config.worktree", NULL);
    return check_includes(config, 0, error) && check_includes(own, 0, error);
}

static bool has_entry(const char *folder, const char *name)
{
    struct stat st;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return lstat(path, &st) == 0;
}

bool acr_vcs_check_git_folder(const char *path, GError **error)
{
    g_auto(Family) family = {0};
    for (g_autofree char *at = acr_path_real(path);;) {
        if (has_entry(at, ".git")) {
            family.tree = g_steal_pointer(&at);
            break;
        }
        if (has_entry(at, "HEAD") && has_entry(at, "objects") && has_entry(at, "refs")) {
            family.git = g_steal_pointer(&at);
            break;
        }
        char *above = g_path_get_dirname(at);
        bool is_root = strcmp(above, at) == 0;
        g_free(at);
        at = above;
        if (is_root)
            return true;
    }
    if ((family.tree && !resolve_link(&family, error)) || !resolve_common(&family, error))
        return false;
    return check_git(&family, family.git, error) &&
           (strcmp(family.git, family.common) == 0 || check_git(&family, family.common, error));
}
