/*
 * acr-host outline-worker: outlines files for another process of this program, over the socket that
 * is its standard input. It is never called by hand, so it is not listed. What a file makes it do
 * (crash, take all memory, hang) ends this process only; the other one kills it at a deadline.
 */
#include "base/peer.h"
#include "verbs/verbs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Of address space. A tree takes 140 times the bytes of its source, and of a table of numbers 470.
 */
#define MEMORY_LIMIT_BYTES (2560ull * 1024 * 1024)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY true /* which takes terabytes of address space */
#else
#define HAS_SHADOW_MEMORY false
#endif

static void limit_self(void)
{
    struct rlimit memory = {MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES}, core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &core);
    if (!HAS_SHADOW_MEMORY)
        (void)setrlimit(RLIMIT_AS, &memory);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The socket, away from where Python or a library might read or print; -1 with errno. */
static int take_socket(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return -1;
    close(null);
    return fd;
}

static int start(AcrHost *host, int argc, char **argv)
{
    g_autoptr(GError) error = NULL, started = NULL;
    limit_self();
    int fd = take_socket();
    if (fd < 0) {
        acr_verb_say("cannot use the socket: %s", g_strerror(errno));
        return ACR_EXIT_ENVIRONMENT;
    }
    g_autoptr(AcrPython) python = acr_python_new(host->python_dir, &started);
    bool ok = acr_peer_serve(fd, acr_python_outline, python, started, &error);
    close(fd);
    return ok ? ACR_EXIT_OK : acr_verb_fail(host, error);
}

const AcrVerb acr_verb_outline_worker = {.name = ACR_OUTLINE_VERB, .start = start};
