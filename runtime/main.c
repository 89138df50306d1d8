/* acr-host: handles signals, finds the program's own files, looks up the verb in its table, and
 * returns the exit code. The verbs do everything else. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs/screen.h"
#include "verbs/verbs.h"

/* This file's only global state; it must be global because a signal handler uses it. */
static AcrInterrupt interrupt_state;

/* Ends the status line of a verb, so that the shell's prompt begins on a new line. */
static void leave_status_line(void)
{
    ssize_t ignored = isatty(STDERR_FILENO) ? write(STDERR_FILENO, "\n", 1) : 0;
    (void)ignored;
}

static void on_signal(int number)
{
    if (interrupt_state.signal) {
        leave_status_line();
        _exit(ACR_EXIT_INTERRUPTED); /* a second signal ends the program immediately */
    }
    interrupt_state.signal = number;
    alarm(ACR_GRACE_S);
}

/* Ends the program if it does not end by itself after a signal or a timeout, for example because a
 * library hangs while it reads an untrusted file. Ending it is safe, because our files survive a
 * kill at any moment. */
static void on_alarm(int number)
{
    static const char late[] = "acr-host: --max-time reached, and the run did not stop by itself; "
                               "rerun the same command to resume\n",
                      stuck[] = "acr-host: interrupted, and the run did not stop by itself; rerun "
                                "the same command to resume\n";
    bool is_interrupted = interrupt_state.signal != 0 && interrupt_state.signal != SIGALRM;
    if (interrupt_state.ends_at_alarm && interrupt_state.signal == 0) {
        interrupt_state.signal = number;
        alarm(ACR_GRACE_S);
        return;
    }
    leave_status_line();
    ssize_t ignored = is_interrupted ? write(STDERR_FILENO, stuck, sizeof stuck - 1)
                                     : write(STDERR_FILENO, late, sizeof late - 1);
    (void)ignored;
    _exit(is_interrupted ? ACR_EXIT_INTERRUPTED : ACR_EXIT_CEILING);
}

static void set_signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal}, late = {.sa_handler = on_alarm},
                     ignore = {.sa_handler = SIG_IGN}, normal = {.sa_handler = SIG_DFL};
    sigaction(SIGALRM, &late, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    /* a write that exceeds the limit of file sizes then fails */
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(SIGCHLD, &normal, NULL);
}

/* If a standard stream is closed, the next file that is opened gets the stream's number, and
 * progress could be printed into a journal. So we occupy the number with a descriptor that can
 * neither be read nor written. */
static bool take_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode) != fd)
            return false;
    }
    return true;
}

/* The maximum number of files that walks through nested folders, workers and Python have open at a
 * time. With a lower limit, some file cannot be opened and seems to be missing. */
#define NEEDED_FILES 100

static bool can_open_files(void)
{
    int fds[NEEDED_FILES], n = 0;
    while (n < NEEDED_FILES && (fds[n] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        close(fds[i]);
    return n == NEEDED_FILES;
}

/* A stack of NEEDED_STACK_BYTES bytes suffices for the buffers of nested calls. The threads that we
 * start get a stack of this size. */
#define NEEDED_STACK_BYTES (256ul * 1024)

static bool has_stack(void)
{
    struct rlimit stack;
    return getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= NEEDED_STACK_BYTES;
}

/* Returns the folder of the program's own files: beside an installed binary, or in the source tree
 * of the build. */
static char *find_data(const char *exe)
{
    g_autofree char *bin = g_path_get_dirname(exe);
    g_autofree char *installed = g_build_filename(bin, "..", "share", "acr-host", NULL);
    g_autofree char *package = g_build_filename(installed, "python", "acr", NULL);
    return g_strdup(g_file_test(package, G_FILE_TEST_IS_DIR) ? installed : ACR_SOURCE_DIR);
}

static const char first_words[] =
    "acr-host reads an issue, lets a language model find the code and write a patch, and proves "
    "the patch\nby running it in a sandbox. The first two commands need no key:\n\n"
    "  acr-host demo             # fix the issue of the bundled sample\n"
    "  acr-host search Session   # look at the code of the current repository\n"
    "  acr-host run --issue issue.md --model openai/gpt-4.1\n"
    "  acr-host run --issue https://github.com/OWNER/NAME/issues/1 --model openai/gpt-4.1 --apply\n"
    "\n"
    "acr-host --help lists the verbs and the guides; acr-host VERB --help describes a verb.\n";

static int run_verb(const char *name, int argc, char **argv)
{
    g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *data = find_data(exe ? exe : argv[0]);
    g_autofree char *python_dir = g_build_filename(data, "python", NULL),
                    *prompts_dir = g_build_filename(data, "prompts", NULL);
    AcrHost host = {.exe = exe ? exe : argv[0],
                    .python_dir = python_dir,
                    .prompts_dir = prompts_dir,
                    .interrupt = &interrupt_state};
    const AcrVerb *verb = acr_verb_find(name);
    if (verb)
        return acr_verb_start(&host, verb, argc, argv);
    g_autofree char *whole = acr_utf8_repair(name, strlen(name)),
                    *shown = g_strdelimit(acr_text_visible(whole), "\n\t", ' ');
    const char *nearest = acr_verb_nearest(shown);
    fprintf(stderr, "acr-host: there is no verb '%s'%s%s%s (acr-host --help lists them)\n", shown,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return ACR_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    set_signals();
    if (!take_closed_streams()) {
        fputs("acr-host: cannot open '/dev/null' for a standard stream that is closed\n", stderr);
        return ACR_EXIT_ENVIRONMENT;
    }
    g_autoptr(GError) error = NULL;
    if (!acr_forbid_cores(&error)) {
        fprintf(stderr, "acr-host: %s\n", error->message);
        return ACR_EXIT_ENVIRONMENT;
    }
    if (argc < 2) {
        g_autofree char *text = acr_text_wrapped(first_words, acr_screen_width(STDERR_FILENO));
        fputs(text, stderr);
        return ACR_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return run_verb("help", 1, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        return acr_version_print(argc > 2 && strcmp(argv[2], "--json") == 0);
    }
    if (!has_stack()) {
        fprintf(stderr,
                "acr-host: cannot start: the stack is too small; raise it to at least %lu KiB "
                "(ulimit -s)\n",
                NEEDED_STACK_BYTES / 1024);
        return ACR_EXIT_ENVIRONMENT;
    }
    if (!can_open_files()) {
        fprintf(stderr,
                "acr-host: cannot start: the limit of open files is too low; raise it by at least "
                "%d (ulimit -n)\n",
                NEEDED_FILES);
        return ACR_EXIT_ENVIRONMENT;
    }
    return run_verb(argv[1], argc - 1, argv + 1);
}
