/* Code shared by all backends: options and defaults, the environment in the sandbox, changed files,
 * and the cache key of a set-up's result. */
#include "base/trace.h"
#include "sandbox/backend.h"
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_WALL_MS (120 * 1000)
#define DEFAULT_MEMORY_BYTES ((gint64)2 * 1024 * 1024 * 1024)
#define DEFAULT_DISK_BYTES ((gint64)1024 * 1024 * 1024)
#define DEFAULT_PROCESSES 256u
#define DEFAULT_OUTPUT_BYTES ((gsize)1024 * 1024)
#define FORMAT "4" /* version of the cache's contents */
/* name of a file beside the cached tree that contains the remark about skipped files */
#define LEFT_OUT "left-out"
#define MAX_LEFT_OUT 65536u

static const AcrSandboxBackend *const backends[] = {&acr_sandbox_bubblewrap, &acr_sandbox_container,
                                                    &acr_sandbox_plain};

static const char *const limit_names[] = {
    [ACR_LIMIT_NONE] = NULL,
    [ACR_LIMIT_WALL] = "wall",
    [ACR_LIMIT_CPU] = "cpu",
    [ACR_LIMIT_MEMORY] = "memory",
    [ACR_LIMIT_OUTPUT] = "output",
    [ACR_LIMIT_FILES] = "files",
    [ACR_LIMIT_PROCESSES] = "processes",
};

const char *acr_sandbox_limit_name(AcrSandboxLimit limit)
{
    g_assert(limit < G_N_ELEMENTS(limit_names));
    return limit_names[limit];
}

const char *acr_sandbox_limit_words(AcrSandboxLimit limit)
{
    return limit == ACR_LIMIT_WALL    ? "wall-clock time"
           : limit == ACR_LIMIT_CPU   ? "processor time"
           : limit == ACR_LIMIT_FILES ? "written files"
                                      : acr_sandbox_limit_name(limit);
}

bool acr_sandbox_limit_from_name(const char *name, AcrSandboxLimit *out)
{
    for (guint i = 0; i < G_N_ELEMENTS(limit_names); i++) {
        if (g_strcmp0(name, limit_names[i]) == 0) {
            *out = (AcrSandboxLimit)i;
            return true;
        }
    }
    return false;
}

void acr_sandbox_remark(AcrSandbox *sandbox, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_ptr_array_insert(sandbox->remarks, (gint)sandbox->remarks->len - 1,
                       g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

static const AcrSandboxBackend *find_backend(const AcrSandboxOptions *options, GError **error)
{
    const char *name = options->backend ? options->backend
                       : options->image ? acr_sandbox_container.name
                                        : acr_sandbox_bubblewrap.name;
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(backends); i++) {
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
        g_string_append_printf(names, "%s%s", i ? ", " : "", backends[i]->name);
    }
    return ACR_NULL(acr_sandbox_fail(error, ACR_SANDBOX_ERROR_USAGE,
                                     "there is no sandbox '%s'; choose one of: %s", name,
                                     names->str));
}

bool acr_sandbox_check_name(const char *name, GError **error)
{
    return find_backend(&(AcrSandboxOptions){.backend = name}, error) != NULL;
}

static void take_options(AcrSandbox *sandbox, const AcrSandboxOptions *options)
{
    const char *tree = options->image ? NULL : options->work_tree;
    sandbox->options = *options;
    sandbox->dir = tree ? tree : ACR_SANDBOX_IMAGE_DIR;
    sandbox->tree_uid = -1;
    sandbox->remarks = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(sandbox->remarks, NULL);
}

/* Returns a hex digest of all inputs by which environments can differ. Each part is preceded by its
 * length, so that different lists never give the same bytes. */
static char *make_digest(const AcrSandbox *sandbox)
{
    const AcrSandboxOptions *options = &sandbox->options;
    /* include the state of git, because a set-up may read the version from git */
    bool may_ask = options->setup && !options->image && options->snapshot;
    g_autofree char *git = may_ask ? acr_snapshot_git_digest(options->snapshot, NULL) : NULL;
    g_auto(GStrv) given = acr_sandbox_setup_variables(options, NULL);
    g_autofree char *addresses = g_strjoinv("\n", given),
                    *network = options->setup_network ? g_strconcat("network", addresses, NULL)
                                                      : g_strdup("");
    const char *const parts[] = {
        FORMAT, sandbox->backend->name,
        sandbox->python.path ? sandbox->python.path : options->python, options->image,
        options->setup, network, sandbox->dir,
        /* without isolation, the set-up itself changes the packages of the Python */
        sandbox->backend == &acr_sandbox_plain ? NULL : sandbox->python.stamp, git};
    g_autoptr(GString) all = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        g_string_append_printf(all, "%zu:%s\n", parts[i] ? strlen(parts[i]) : 0,
                               parts[i] ? parts[i] : "");
    return acr_sha256_hex(all->str, all->len);
}

/* Opens the cache folder of the options, or a temporary cache if there is none or it cannot be
 * used. */
static bool open_cache(AcrSandbox *sandbox, GError **error)
{
    const AcrSandboxOptions *options = &sandbox->options;
    const char *cache = options->cache;
    g_autoptr(GError) reason = NULL;
    sandbox->cache =
        cache ? acr_tree_cache_open(cache, options->interrupt, options->deadline_us, &reason)
              : NULL;
    if (sandbox->cache)
        return true;
    if (cache)
        acr_sandbox_remark(sandbox, "the cache cannot be used: %s", reason->message);
    sandbox->cache = acr_tree_cache_open(NULL, options->interrupt, options->deadline_us, error);
    return sandbox->cache != NULL;
}

AcrSandbox *acr_sandbox_open(const AcrSandboxOptions *options, GError **error)
{
    const AcrSandboxBackend *backend = find_backend(options, error);
    if (!backend)
        return NULL;
    if (backend == &acr_sandbox_container && !options->image)
        return ACR_NULL(acr_sandbox_fail(error, ACR_SANDBOX_ERROR_USAGE,
                                         "the sandbox 'container' needs --image NAME"));
    g_autoptr(AcrSandbox) sandbox = g_new0(AcrSandbox, 1);
    take_options(sandbox, options);
    sandbox->backend = backend;
    if (!open_cache(sandbox, error) || !backend->open(sandbox, error))
        return NULL;
    sandbox->digest = make_digest(sandbox);
    if (sandbox->python.not_taken)
        acr_sandbox_remark(sandbox, "%s", sandbox->python.not_taken);
    return g_steal_pointer(&sandbox);
}

void acr_sandbox_free(AcrSandbox *sandbox)
{
    if (!sandbox)
        return;
    if (sandbox->state)
        sandbox->backend->close(sandbox);
    acr_tree_cache_free(sandbox->cache);
    acr_sandbox_python_clear(&sandbox->python);
    ACR_FREE(sandbox->digest, sandbox->base, sandbox->git);
    if (sandbox->remarks)
        g_ptr_array_unref(sandbox->remarks);
    g_free(sandbox);
}

const char *acr_sandbox_backend(const AcrSandbox *sandbox)
{
    return sandbox->backend->name;
}

const char *acr_sandbox_python(AcrSandbox *sandbox, GError **error)
{
    if (!sandbox->python.path && !sandbox->backend->find_python(sandbox, error))
        return NULL;
    return sandbox->python.path;
}

const char *acr_sandbox_choice(const AcrSandbox *sandbox)
{
    return sandbox->python.remark;
}

const char *acr_sandbox_dir(const AcrSandbox *sandbox)
{
    return sandbox->dir;
}

const char *const *acr_sandbox_remarks(const AcrSandbox *sandbox)
{
    return (const char *const *)sandbox->remarks->pdata;
}

void acr_sandbox_env(const AcrSandbox *sandbox, const char *home, const AcrExecution *execution,
                     GPtrArray *out)
{
    const AcrSandboxPython *python = &sandbox->python;
    g_autofree char *bin = python->path ? g_path_get_dirname(python->path) : g_strdup("/usr/bin");
    g_ptr_array_add(
        out, g_strdup_printf("PATH=%s:/usr/local/bin:/usr/bin:/bin:" ACR_SANDBOX_PROGRAMS, bin));
    g_ptr_array_add(out, g_strdup_printf("HOME=%s", home));
    acr_helper_words(out, "LANG=C.UTF-8", "TMPDIR=/tmp", "USER=sandbox",
                     "PIP_BREAK_SYSTEM_PACKAGES=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", NULL);
    if (python->venv)
        g_ptr_array_add(out, g_strdup_printf("VIRTUAL_ENV=%s", python->venv));
    for (gsize i = 0; execution && execution->env && execution->env[i]; i++)
        g_ptr_array_add(out, g_strdup(execution->env[i]));
}

static bool add_changed(const AcrOverlay *overlay, const char *path, GPtrArray *out, GError **error)
{
    if (!acr_overlay_has(overlay, path)) {
        acr_helper_file(out, path, 0, NULL);
        return true;
    }
    guint32 mode = acr_overlay_mode(overlay, path);
    g_autoptr(GBytes) content = acr_overlay_read(overlay, path, error);
    if (content)
        acr_helper_file(out, path, mode, content);
    return content != NULL;
}

bool acr_sandbox_changes(const AcrExecution *execution, GPtrArray *out, GError **error)
{
    g_auto(GStrv) changed = execution->overlay ? acr_overlay_changed(execution->overlay) : NULL;
    for (gsize i = 0; changed && changed[i]; i++)
        if (!add_changed(execution->overlay, changed[i], out, error))
            return false;
    return true;
}

/* A sandbox whose tree is being created, and the generated files that are not in its snapshot. */
typedef struct {
    AcrSandbox *sandbox;
    GPtrArray *generated; /* array of AcrHelperFile, sorted by path */
} Base;

static gint by_helper_path(gconstpointer a, gconstpointer b)
{
    return strcmp((*(const AcrHelperFile *const *)a)->path,
                  (*(const AcrHelperFile *const *)b)->path);
}

static GPtrArray *find_generated(const AcrSnapshot *snapshot)
{
    GHashTableIter iter;
    gpointer path, content;
    GPtrArray *files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    g_autoptr(GHashTable) found = acr_snapshot_generated(snapshot);
    g_hash_table_iter_init(&iter, found);
    while (g_hash_table_iter_next(&iter, &path, &content))
        acr_helper_file(files, path, ACR_MODE_FILE, content);
    g_ptr_array_sort(files, by_helper_path);
    return files;
}

/* Returns the key of the tree in the cache; owned. */
static char *base_key(const AcrSandbox *sandbox, const GPtrArray *generated)
{
    g_autofree char *digest = acr_snapshot_digest(sandbox->options.snapshot);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
    for (guint i = 0; i < generated->len; i++) {
        const AcrHelperFile *file = generated->pdata[i];
        gsize len;
        const guchar *data = g_bytes_get_data(file->content, &len);
        g_checksum_update(sum, (const guchar *)file->path, (gssize)strlen(file->path) + 1);
        g_checksum_update(sum, data ? data : (const guchar *)"", (gssize)len);
    }
    return g_strdup_printf("tree-%s%s%s-%u%s", digest, generated->len ? "-" : "",
                           generated->len ? g_checksum_get_string(sum) : "", geteuid(),
                           sandbox->tree_uid < 0 ? "" : "-given");
}

static bool write_generated(const Base *base, const char *tree, GError **error)
{
    ACR_AUTO_FD root = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? acr_sandbox_fail_errno(error, errno, "cannot use the folder", tree)
                    : acr_tree_write(root, base->generated, base->sandbox->tree_uid, error);
}

/* Fills the cache entry `dir` with the snapshot's files, and with the remark about skipped
 * files. */
static bool make_base(void *ctx, const char *dir, GError **error)
{
    const Base *base = ctx;
    AcrSandbox *sandbox = base->sandbox;
    g_autofree char *tree = g_build_filename(dir, ACR_SANDBOX_TREE, NULL), *left_out = NULL,
                    *note = g_build_filename(dir, LEFT_OUT, NULL);
    return acr_tree_folder(tree, 0755, error) &&
           acr_tree_export(sandbox->options.snapshot, tree, sandbox->tree_uid, &left_out, error) &&
           write_generated(base, tree, error) &&
           (!left_out || acr_file_write_atomic(note, left_out, strlen(left_out), 0, error));
}

static void remark_left_out(AcrSandbox *sandbox)
{
    g_autofree char *note = g_build_filename(sandbox->base, LEFT_OUT, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(note, MAX_LEFT_OUT, NULL);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    if (data)
        acr_sandbox_remark(sandbox, "%.*s", (int)len, data);
}

bool acr_sandbox_need_base(AcrSandbox *sandbox, GError **error)
{
    if (sandbox->base)
        return true;
    g_autoptr(GPtrArray) generated = find_generated(sandbox->options.snapshot);
    g_autofree char *key = base_key(sandbox, generated);
    Base base = {sandbox, generated};
    sandbox->base = acr_tree_cache_get(sandbox->cache, key, make_base, &base, error);
    if (sandbox->base)
        remark_left_out(sandbox);
    return sandbox->base != NULL;
}

static bool make_git(void *ctx, const char *dir, GError **error)
{
    AcrSandbox *sandbox = ctx;
    g_autofree char *git = g_build_filename(dir, ACR_SANDBOX_GIT, NULL);
    return acr_snapshot_write_git(sandbox->options.snapshot, git, error) &&
           (sandbox->tree_uid < 0 || acr_tree_give(git, sandbox->tree_uid, error));
}

void acr_sandbox_need_git(AcrSandbox *sandbox)
{
    AcrSnapshot *snapshot = sandbox->options.snapshot;
    if (sandbox->git || sandbox->has_no_git || !snapshot || sandbox->options.image)
        return;
    bool has_all_tags = true;
    g_autoptr(GError) reason = NULL;
    g_autofree char *digest = acr_snapshot_git_digest(snapshot, &has_all_tags);
    g_autofree char *key = g_strdup_printf("git-%s-%u%s", digest ? digest : "", geteuid(),
                                           sandbox->tree_uid < 0 ? "" : "-given");
    if (digest)
        sandbox->git = acr_tree_cache_get(sandbox->cache, key, make_git, sandbox, &reason);
    sandbox->has_no_git = !sandbox->git;
    if (reason)
        acr_sandbox_remark(sandbox, "the sandbox has no '.git': %s", reason->message);
    else if (!has_all_tags)
        acr_sandbox_remark(
            sandbox,
            "the '.git' in the sandbox may lack the nearest tag: acr-host copies at most %u tags",
            ACR_VCS_MAX_TAGS);
}

bool acr_sandbox_is_as_laid(void *tree, const AcrHelperFile *file)
{
    g_autofree char *path = g_build_filename(tree, file->path, NULL);
    if (!file->content)
        return !g_file_test(path, G_FILE_TEST_IS_REGULAR);
    g_autoptr(GBytes) now = g_file_test(path, G_FILE_TEST_IS_SYMLINK)
                                ? NULL
                                : acr_file_read(path, g_bytes_get_size(file->content), NULL);
    return file->mode == ACR_MODE_LINK || (now && g_bytes_equal(now, file->content));
}

char **acr_sandbox_changed(GHashTable *paths, const GPtrArray *laid, AcrIsAsLaid *is_as_laid,
                           void *ctx)
{
    g_autoptr(GHashTable) files = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) changed = g_ptr_array_new();
    GHashTableIter iter;
    gpointer path;
    for (guint i = 0; i < laid->len; i++)
        g_hash_table_insert(files, ((AcrHelperFile *)laid->pdata[i])->path, laid->pdata[i]);
    g_hash_table_iter_init(&iter, paths);
    while (changed->len < ACR_SANDBOX_MAX_CHANGED && g_hash_table_iter_next(&iter, &path, NULL)) {
        const AcrHelperFile *file = g_hash_table_lookup(files, path);
        if (!file || !is_as_laid(ctx, file))
            g_ptr_array_add(changed, g_strdup(path));
    }
    g_ptr_array_sort(changed, acr_compare_names);
    g_ptr_array_add(changed, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&changed), FALSE);
}

static void fill_limits(AcrSandboxLimits *limits)
{
    limits->wall_ms = limits->wall_ms > 0 ? limits->wall_ms : DEFAULT_WALL_MS;
    if (limits->cpu_s <= 0)
        limits->cpu_s = (limits->wall_ms + 999) / 1000;
    if (limits->memory_bytes <= 0)
        limits->memory_bytes = DEFAULT_MEMORY_BYTES;
    if (limits->disk_bytes <= 0)
        limits->disk_bytes = DEFAULT_DISK_BYTES;
    limits->processes = limits->processes ? limits->processes : DEFAULT_PROCESSES;
    limits->output_bytes = limits->output_bytes ? limits->output_bytes : DEFAULT_OUTPUT_BYTES;
}

bool acr_sandbox_set_up(AcrSandbox *sandbox, GError **error)
{
    if (!sandbox->is_set_up && sandbox->options.setup && !sandbox->backend->set_up(sandbox, error))
        return false;
    sandbox->is_set_up = true;
    return true;
}

bool acr_sandbox_run(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                     GError **error)
{
    g_assert(execution->argv && execution->argv[0]);
    AcrExecution filled = *execution;
    fill_limits(&filled.limits);
    if (filled.has_git)
        acr_sandbox_need_git(sandbox);
    if (!acr_sandbox_set_up(sandbox, error) || !sandbox->backend->run(sandbox, &filled, out, error))
        return false;
    acr_trace("sandbox", "%s ran '%s': exit %d, signal %d, limit %s, %d ms",
              acr_sandbox_backend(sandbox), execution->argv[0], out->exit_code, out->signal,
              out->limit ? acr_sandbox_limit_name(out->limit) : "none", (int)out->wall_ms);
    return true;
}

bool acr_sandbox_add_layer(AcrSandbox *sandbox, const AcrExecution *execution, GError **error)
{
    AcrExecution filled = *execution;
    fill_limits(&filled.limits);
    return !sandbox->backend->add_layer || (acr_sandbox_set_up(sandbox, error) &&
                                            sandbox->backend->add_layer(sandbox, &filled, error));
}

static GBytes *join_ends(GBytes *kept, guint64 total)
{
    gsize len;
    const guint8 *data = g_bytes_get_data(kept, &len);
    if (total <= len)
        return g_bytes_ref(kept);
    gsize head = len - len / 2;
    GByteArray *joined = g_byte_array_new();
    g_autofree char *said =
        g_strdup_printf("\n[... %" G_GUINT64_FORMAT " bytes left out ...]\n", total - (guint64)len);
    g_byte_array_append(joined, data, (guint)head);
    g_byte_array_append(joined, (const guint8 *)said, (guint)strlen(said));
    g_byte_array_append(joined, data + head, (guint)(len - head));
    return g_byte_array_free_to_bytes(joined);
}

static AcrSandboxLimit limit_of(const AcrSpawnResult *spawned, const AcrSandboxLimits *limits,
                                AcrSandboxLimit seen, int signal)
{
    if (spawned->timed_out)
        return ACR_LIMIT_WALL;
    if (spawned->flooded)
        return ACR_LIMIT_OUTPUT;
    if (signal == SIGXCPU)
        return ACR_LIMIT_CPU;
    if (signal == SIGXFSZ)
        return ACR_LIMIT_FILES;
    if (seen)
        return seen;
    return MAX(spawned->out_total, spawned->err_total) > limits->output_bytes ? ACR_LIMIT_OUTPUT
                                                                              : ACR_LIMIT_NONE;
}

void acr_sandbox_take_result(const AcrSpawnResult *spawned, const AcrSandboxLimits *limits,
                             AcrSandboxLimit seen, AcrExecuted *out)
{
    out->out = join_ends(spawned->out, spawned->out_total);
    out->err = join_ends(spawned->err, spawned->err_total);
    out->out_total = spawned->out_total;
    out->err_total = spawned->err_total;
    out->wall_ms = spawned->wall_ms;
    out->limit = limit_of(spawned, limits, seen, out->signal);
}

void acr_executed_clear(AcrExecuted *executed)
{
    g_clear_pointer(&executed->out, g_bytes_unref);
    g_clear_pointer(&executed->err, g_bytes_unref);
    g_clear_pointer(&executed->changed, g_strfreev);
    g_clear_pointer(&executed->dir, g_free);
}
