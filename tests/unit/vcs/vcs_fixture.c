/* Helpers for the tests of vcs: make repositories with the git command; describe folders and
 * snapshots. */
#include "vcs_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const environment[] = {"GIT_CONFIG_GLOBAL=/dev/null",
                                          "GIT_CONFIG_NOSYSTEM=1",
                                          "GIT_AUTHOR_NAME=A",
                                          "GIT_AUTHOR_EMAIL=a@b.c",
                                          "GIT_COMMITTER_NAME=A",
                                          "GIT_COMMITTER_EMAIL=a@b.c",
                                          "GIT_AUTHOR_DATE=1600000000 +0000",
                                          "GIT_COMMITTER_DATE=1600000000 +0000",
                                          "LC_ALL=C",
                                          "PATH=/usr/local/bin:/usr/bin:/bin",
                                          "GIT_TERMINAL_PROMPT=0",
                                          "GIT_OPTIONAL_LOCKS=1",
                                          "GIT_CONFIG_COUNT=1",
                                          "GIT_CONFIG_KEY_0=maintenance.auto",
                                          "GIT_CONFIG_VALUE_0=false",
                                          "HOME=/nonexistent",
                                          NULL};

void sandbox_init(Sandbox *sandbox)
{
    g_autoptr(GError) error = NULL;
    sandbox->root = g_dir_make_tmp("acr-vcs-XXXXXX", &error);
    g_assert_no_error(error);
}

void sandbox_clear(Sandbox *sandbox)
{
    g_autoptr(GError) error = NULL;
    assert_ok(acr_dir_remove(sandbox->root, &error), error);
    g_clear_pointer(&sandbox->root, g_free);
}

char *sandbox_path(const Sandbox *sandbox, const char *name)
{
    return *name ? g_build_filename(sandbox->root, name, NULL) : g_strdup(sandbox->root);
}

int run_in(const Sandbox *sandbox, const char *dir, const char *const *argv, GBytes *input, GBytes **out_stdout)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *cwd = sandbox_path(sandbox, dir);
    gsize len = 0;
    AcrSpawn spawn = {.argv = argv, .envp = environment, .cwd = cwd, .timeout_ms = 60000};
    spawn.input = input ? g_bytes_get_data(input, &len) : NULL;
    spawn.input_len = len;
    g_auto(AcrSpawnResult) result = {0};
    assert_ok(acr_spawn_run(&spawn, &result, &error), error);
    if (result.exit_code != 0 && result.err && !out_stdout)
        g_test_message("%s: %.*s", argv[0], (int)g_bytes_get_size(result.err),
                       (const char *)g_bytes_get_data(result.err, NULL));
    if (out_stdout)
        *out_stdout = g_bytes_ref(result.out);
    return result.exit_code;
}

char *git_output(const Sandbox *sandbox, const char *dir, const char *arguments)
{
    g_autofree char *line = g_strconcat("git ", arguments, NULL);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    g_autoptr(GBytes) out = NULL;
    int code = run_in(sandbox, dir, (const char *const *)argv, NULL, &out);
    if (code != 0)
        g_test_message("failed: %s", line);
    g_assert_cmpint(code, ==, 0);
    return g_strndup(g_bytes_get_data(out, NULL), g_bytes_get_size(out));
}

void git(const Sandbox *sandbox, const char *dir, const char *arguments)
{
    g_autofree char *out = git_output(sandbox, dir, arguments);
}

void make_repo(const Sandbox *sandbox, const char *dir)
{
    g_autofree char *init = g_strdup_printf("init -q -b main %s", dir);
    git(sandbox, "", init);
}

void commit_all(const Sandbox *sandbox, const char *dir)
{
    git(sandbox, dir, "add -A");
    git(sandbox, dir, "commit -q --allow-empty -m x");
}

void stage_large_blob(const Sandbox *sandbox, const char *dir, const char *path)
{
    static const char object[] = "x\x01\x01\x0f\x00\xf0\xff"
                                 "blob 134217729\0\" \x03\x94"; /* zlib */
    G_STATIC_ASSERT(ACR_VCS_MAX_FILE_BYTES + 1 == 134217729);
    g_autofree char *file = g_strconcat(dir, "/.git/objects/12/34567890123456789012345678901234567890", NULL);
    g_autofree char *add =
        g_strconcat("update-index --add --cacheinfo 100644,", "1234567890123456789012345678901234567890,", path, NULL);
    put_bytes(sandbox, file, object, sizeof object - 1);
    git(sandbox, dir, add);
}

void put_bytes(const Sandbox *sandbox, const char *path, const void *data, gsize len)
{
    g_autofree char *whole = sandbox_path(sandbox, path);
    g_autofree char *folder = g_path_get_dirname(whole);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    FILE *file = fopen(whole, "wb");
    g_assert_nonnull(file);
    g_assert_cmpuint(fwrite(data ? data : "", 1, len, file), ==, len);
    g_assert_cmpint(fclose(file), ==, 0);
}

void put(const Sandbox *sandbox, const char *path, const char *text)
{
    put_bytes(sandbox, path, text, strlen(text));
}

char *get(const Sandbox *sandbox, const char *path)
{
    char *text = NULL;
    g_autofree char *whole = sandbox_path(sandbox, path);
    return g_file_get_contents(whole, &text, NULL, NULL) ? text : NULL;
}

AcrRepo *open_ok(const Sandbox *sandbox, const char *dir)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = sandbox_path(sandbox, dir);
    AcrRepo *repo = made(acr_repo_open(path, &error), error);
    g_assert_nonnull(repo);
    return repo;
}

AcrSnapshot *commit_ok(const Sandbox *sandbox, const char *dir, const char *rev)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrRepo) repo = open_ok(sandbox, dir);
    AcrSnapshot *snapshot = made(acr_snapshot_of_commit(repo, rev, &error), error);
    g_assert_nonnull(snapshot);
    return snapshot;
}

AcrSnapshot *worktree_ok(const Sandbox *sandbox, const char *dir)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrRepo) repo = open_ok(sandbox, dir);
    AcrSnapshot *snapshot = made(acr_snapshot_of_worktree(repo, &error), error);
    g_assert_nonnull(snapshot);
    return snapshot;
}

char *listing(const AcrSnapshot *snapshot)
{
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(snapshot, i);
        g_string_append_printf(out, "%o ", entry->mode);
        for (const guchar *p = (const guchar *)entry->path; *p; p++)
            g_string_append_printf(out, *p < 0x20 || *p >= 0x7f ? "\\x%02x" : "%c", *p);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

char *content(AcrSnapshot *snapshot, const char *path)
{
    g_autoptr(GError) error = NULL;
    gssize at = acr_snapshot_find(snapshot, path);
    g_assert_cmpint(at, >=, 0);
    g_autoptr(GBytes) bytes = made(acr_snapshot_read(snapshot, (gsize)at, &error), error);
    return g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

GBytes *bytes_of(const char *text)
{
    return g_bytes_new(text, strlen(text));
}

void write_ok(AcrOverlay *overlay, const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = bytes_of(text);
    assert_ok(acr_overlay_write(overlay, path, 0, bytes, &error), error);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_state(GChecksum *sum, const char *path)
{
    struct stat st;
    g_assert_cmpint(lstat(path, &st), ==, 0);
    g_autofree char *facts = g_strdup_printf("%s %o %ld %ld.%09ld %ld.%09ld\n", path, st.st_mode,
                                             S_ISDIR(st.st_mode) ? 0L : (long)st.st_size, (long)st.st_mtim.tv_sec,
                                             st.st_mtim.tv_nsec, (long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    g_checksum_update(sum, (const guchar *)facts, -1);
    if (S_ISREG(st.st_mode)) {
        g_autofree char *text = NULL;
        gsize len = 0;
        if (g_file_get_contents(path, &text, &len, NULL))
            g_checksum_update(sum, (const guchar *)text, (gssize)len);
    }
    DIR *dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    if (!dir)
        return;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            g_ptr_array_add(names, g_build_filename(path, entry->d_name, NULL));
    }
    closedir(dir);
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++)
        add_state(sum, g_ptr_array_index(names, i));
}

char *state_of(const Sandbox *sandbox, const char *dir)
{
    g_autofree char *path = sandbox_path(sandbox, dir);
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    add_state(sum, path);
    char *digest = g_strdup(g_checksum_get_string(sum));
    g_checksum_free(sum);
    return digest;
}

#ifdef ACR_SANITIZED
const char *__lsan_default_suppressions(void);
/* For repositories of format 1, libgit2 1.5 leaks the match of a regular expression for each
 * setting. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libpcre2-8.so\n";
}
#endif

int main(int argc, char **argv)
{
    g_setenv("HOME", "/nonexistent", TRUE);
    g_setenv("XDG_CONFIG_HOME", "/nonexistent", TRUE);
    return run_tests(argc, argv);
}
