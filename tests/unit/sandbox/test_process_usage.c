/* Tests of measuring the memory and processes of real process trees. */
#include "base/peer.h"
#include "test_sandbox.h"

#include <signal.h>
#include <unistd.h>

#define MIB ((gint64)1024 * 1024)

/* Polls until there are this many processes below `pid`, for a few seconds. */
static void wait_for(pid_t pid, guint processes, AcrUsage *out)
{
    for (int i = 0; i < 1000; i++) {
        acr_process_usage(pid, 0, false, out);
        if (out->processes == processes)
            return;
        g_usleep(10000);
    }
    g_assert_cmpuint(out->processes, ==, processes);
}

TEST("/sandbox/process_usage", descendants_are_counted_in_sessions_of_their_own_too)
{
    g_autoptr(GError) error = NULL;
    AcrPeer peer;
    AcrUsage use = {0}, exact = {0};
    const char *const argv[] = {"sh", "-c", "sleep 100 & setsid sh -c 'echo $$; sleep 100; :' & wait", NULL};
    char own_session[16] = "";
    g_assert_true(acr_peer_start(argv, NULL, NULL, &peer, &error));
    wait_for(peer.pid, 3, &use);
    g_assert_cmpint(read(peer.fd, own_session, sizeof own_session - 1), >, 0);
    g_assert_cmpint(use.bytes, >, 100 * 1024);
    g_assert_cmpint(use.bytes, <, 1024 * MIB);
    /* above the limit, shared pages are counted only once */
    acr_process_usage(peer.pid, 1, false, &exact);
    g_assert_cmpuint(exact.processes, ==, 3);
    g_assert_cmpint(exact.bytes, >, 0);
    g_assert_cmpint(exact.bytes, <=, use.bytes + MIB);
    /* The peer itself is a descendant of this process. */
    acr_process_usage(getpid(), 0, false, &use);
    g_assert_cmpuint(use.processes, >=, 4);
    g_autofree char *how = acr_peer_end(&peer, 0);
    g_assert_cmpint(kill(-(pid_t)g_ascii_strtoll(own_session, NULL, 10), SIGKILL), ==, 0);
}

/* The peer is a descendant of this process, and holds one file by two descriptors. */
TEST("/sandbox/process_usage", files_in_memory_are_counted_once)
{
    g_autoptr(GError) error = NULL;
    AcrPeer peer;
    AcrUsage use = {0}, exact = {0};
    const char *const argv[] = {"python3", "-c",
                                "import os, time; f = os.memfd_create('x'); os.write(f, "
                                "bytes(64 << 20)); os.dup(f); time.sleep(100)",
                                NULL};
    g_assert_true(acr_peer_start(argv, NULL, NULL, &peer, &error));
    for (int i = 0; i < 1000 && use.file_bytes < 64 * MIB; i++) {
        acr_process_usage(getpid(), 0, true, &use);
        g_usleep(10000);
    }
    g_assert_cmpint(use.file_bytes, >=, 64 * MIB);
    g_assert_cmpint(use.file_bytes, <, 66 * MIB);
    acr_process_usage(getpid(), 0, false, &use); /* those of the previous sample */
    acr_process_usage(getpid(), 1, true, &exact);
    g_assert_cmpint(use.bytes, >=, 64 * MIB);
    g_assert_cmpint(exact.bytes, >=, 64 * MIB);
    g_autofree char *how = acr_peer_end(&peer, 0);
    acr_process_usage(getpid(), 0, true, &use);
    g_assert_cmpint(use.file_bytes, ==, 0);
}

TEST("/sandbox/process_usage", a_process_that_is_gone_takes_nothing)
{
    g_autoptr(GError) error = NULL;
    AcrPeer peer;
    AcrUsage use = {.bytes = 1, .processes = 1};
    g_assert_true(acr_peer_start((const char *const[]){"true", NULL}, NULL, NULL, &peer, &error));
    pid_t pid = peer.pid;
    g_autofree char *how = acr_peer_end(&peer, 5000);
    acr_process_usage(pid, 1, false, &use);
    g_assert_cmpint(use.bytes, ==, 0);
    g_assert_cmpuint(use.processes, ==, 0);
}
