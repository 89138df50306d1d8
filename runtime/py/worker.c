/* A worker: a process of this program in which Python reads code of a repository or a model. It
 * gives up its rights before Python starts, and can import only installed modules. A worker for an
 * extension keeps the rights that the user's own code needs, but gets no environment variables of
 * the program. If a file makes the worker crash, hang or use all memory, only the worker ends. The
 * main process kills a worker that exceeds its deadline. */
#include "base/peer.h"
#include "py/py_private.h"
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Limit of the address space. A syntax tree takes 140 times the size of its source, and the tree of
 * a table of numbers 470 times. If a file (of 1 MB or more) exceeds the limit, it is searched only
 * as plain text. */
#define MEMORY_LIMIT_MIB(work) ((work) == ACR_PYTHON_OUTLINES ? 512u : 2560u)
#define KEPT_BYTES 33554432 /* number of bytes of freed memory that the process keeps */
#define FILE_LIMIT_BYTES (64ull * 1024 * 1024)
/* processor time in seconds for one question; longer than the longest deadline */
#define CPU_LIMIT_S (ACR_PY_VERDICT_TIMEOUT_MS / 1000 + 5)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY true /* the sanitizers reserve terabytes of address space */
#else
#define HAS_SHADOW_MEMORY false
#endif

static void limit(int what, rlim_t most)
{
    struct rlimit both = {most, most};
    (void)setrlimit(what, &both);
}

static void limit_self(AcrPythonWork work)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, FILE_LIMIT_BYTES);
    if (!HAS_SHADOW_MEMORY)
        limit(RLIMIT_AS, (rlim_t)MEMORY_LIMIT_MIB(work) << 20);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Keeps freed memory for the next file, because returning it to the system would take a tenth of
 * the time. */
static void keep_memory(void)
{
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
}

/* Limits the processor time of the next question. */
static void limit_question(void)
{
    struct rusage used;
    struct rlimit cpu;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &cpu) != 0)
        return;
    rlim_t wanted = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + CPU_LIMIT_S);
    cpu.rlim_cur = MIN(wanted, cpu.rlim_max);
    (void)setrlimit(RLIMIT_CPU, &cpu);
}

/* Restricts reading to Python and the packages installed with it, writing to `writable` (NULL:
 * nothing), and execve to `program` (NULL: nothing). */
static void confine(const char *package_dir, const char *writable, const char *program)
{
    g_autofree char *bin = g_path_get_dirname(acr_py_executable());
    g_autofree char *prefix = g_path_get_dirname(bin);
    const char *const readable[] = {package_dir, acr_py_prefix(), strcmp(prefix, "/") ? prefix : "",
                                    "/usr/lib",  "/usr/lib64",    "/usr/local/lib",
                                    "/lib",      "/lib64",        "/etc/ld.so.cache",
                                    "/dev/null", "/dev/urandom",  NULL};
    acr_confine(readable, writable, program);
}

/* Executes the interpreter's own program in place of this one, because distributions optimise it by
 * profiles and at link time: it outlines files with a fifth fewer instructions than libpython.
 * Returns only on failure. */
static void become_interpreter(const char *package_dir, int fd)
{
    static const char code[] =
        "import sys; sys.path.insert(0, sys.argv[2]); "
        "sys.modules.update(dict.fromkeys('" ACR_PY_SLOW_CODECS "'.split())); "
        "from acr.outline_worker import serve; "
        "serve(int(sys.argv[3]), sys.argv[4])";
    g_autofree char *version = acr_py_running_version(), *number = g_strdup_printf("%d", fd);
    const char *const argv[] = {acr_py_executable(), "-ISBc", code,    "outline-worker",
                                package_dir,         number,  version, NULL};
    struct rlimit stack = {ACR_PY_STACK_BYTES, ACR_PY_STACK_BYTES};
    if (HAS_SHADOW_MEMORY || setrlimit(RLIMIT_STACK, &stack) != 0 || fcntl(fd, F_SETFD, 0) != 0)
        return;
    /* the same setting as in keep_memory */
    g_setenv("MALLOC_TRIM_THRESHOLD_", G_STRINGIFY(KEPT_BYTES), TRUE);
    g_setenv("MALLOC_MMAP_THRESHOLD_", G_STRINGIFY(KEPT_BYTES), TRUE);
    execv(argv[0], (char *const *)argv);
}

/* Moves the socket to another descriptor than the standard streams, because Python or a library
 * might read from them or print to them. Returns the descriptor; -1 and sets errno on failure. */
static int take_socket(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return -1;
    close(null);
    return fd;
}

static AcrPython *start_worker_process(const char *package_dir, GError **error)
{
    g_autoptr(AcrPython) python = acr_python_new(package_dir, error);
    g_autoptr(GBytes) nothing = NULL;
    if (!python || !acr_python_call(python, "imports", "freeze", NULL, 0, &nothing, error))
        return NULL;
    /* all threads already exist; for root, this limit has no effect, but seccomp forbids new
     * processes */
    limit(RLIMIT_NPROC, 0);
    return g_steal_pointer(&python);
}

static bool outline(void *python, const char *path, GBytes *source, GBytes **out, GError **error)
{
    limit_question();
    return acr_python_outline(python, path, source, out, error);
}

/* Calls the function `name` (MODULE.FUNCTION of the package `acr`). */
static bool call_worker(void *python, const char *name, GBytes *argument, GBytes **out,
                        GError **error)
{
    const char *dot = strrchr(name, '.');
    if (!dot)
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                             "'%s' is not MODULE.FUNCTION", name);
    g_autofree char *module = g_strndup(name, (gsize)(dot - name));
    limit_question();
    return acr_python_call(python, module, dot + 1, argument, 0, out, error);
}

/* Calls the function `name`, "load" or "ask", of extension_worker. */
static bool extension(void *python, const char *name, GBytes *argument, GBytes **out,
                      GError **error)
{
    return acr_python_call(python, "extension_worker", name, argument, 0, out, error);
}

static AcrPython *start_extension(const char *package_dir, int fd, GError **error)
{
    g_autoptr(AcrPython) python = acr_python_new(package_dir, error);
    g_autofree char *number = g_strdup_printf("%d", fd);
    g_autoptr(GBytes) argument = g_bytes_new(number, strlen(number)), nothing = NULL;
    if (!python ||
        !acr_python_call(python, "extension_worker", "begin", argument, 0, &nothing, error))
        return NULL;
    return g_steal_pointer(&python);
}

bool acr_python_work(AcrPythonWork what, const char *package_dir, GError **error)
{
    g_autoptr(GError) failed = NULL;
    g_autofree char *folder = g_get_current_dir();
    limit_self(what);
    keep_memory();
    ACR_AUTO_FD fd = take_socket();
    if (fd < 0)
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT,
                             "cannot use the socket: %s", g_strerror(errno));
    if (what == ACR_PYTHON_EXTENSION) {
        g_autoptr(AcrPython) python = start_extension(package_dir, fd, &failed);
        return acr_peer_serve(fd, extension, python, failed, error);
    }
    g_setenv("TMPDIR", folder, TRUE);
    /* without HOME, Python looks up the home folder in files that it cannot read */
    g_setenv("HOME", folder, TRUE);
    bool outlines = what == ACR_PYTHON_OUTLINES;
    const char *program = outlines ? acr_py_executable() : NULL;
    confine(package_dir, strcmp(folder, "/") != 0 ? folder : NULL, program);
    if (outlines)
        become_interpreter(package_dir, fd);
    AcrPython *python = start_worker_process(
        package_dir, &failed); /* not freed, because the end of the process frees the memory
                                * faster */
    return acr_peer_serve(fd, outlines ? outline : call_worker, python, failed, error);
}
