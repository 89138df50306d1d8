/* Shows a long text in the user's pager ($PAGER; default: less), but only on a terminal. Prints a
 * text that fits on the screen directly. */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts the pager in the process group of acr-host, because the pager reads keys from the
 * terminal. Returns false if it cannot be started. */
static bool start_pager(int input, pid_t *out)
{
    const char *command = g_getenv("PAGER");
    g_auto(GStrv) argv = NULL;
    command = command ? command : "less";
    if (!*command || strcmp(command, "cat") == 0 || !g_shell_parse_argv(command, NULL, &argv, NULL))
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    (void)g_setenv("LESS", "FRX", FALSE);
    bool ok = posix_spawnp(out, argv[0], &actions, &attributes, argv, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return ok;
}

AcrOut acr_out_paged(const char *text)
{
    int fds[2];
    pid_t pid = 0;
    bool has_keys = isatty(STDIN_FILENO); /* without a keyboard, the pager could not be left */
    if (!has_keys || pipe2(fds, O_CLOEXEC) != 0)
        return acr_out_safe(text);
    bool ok = start_pager(fds[0], &pid);
    close(fds[0]);
    /* ignore errors, because the user may quit before the whole text is written */
    if (ok)
        (void)!acr_fd_write_all(fds[1], text, strlen(text));
    close(fds[1]);
    while (ok && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return ok ? ACR_OUT_WRITTEN : acr_out_safe(text);
}
