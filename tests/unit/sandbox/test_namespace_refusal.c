/* Tests of the reasons given for refused user namespaces, in folders that imitate machines. */
#include "sandbox/sandbox_private.h"
#include "test_sandbox.h"

#include <errno.h>

typedef struct {
    int err;
    const char *files[5]; /* pairs of path and text; NULL-terminated */
    const char *cause, *remedy;
} Machine;

static const Machine machines[] = {
    {ENOSPC, {NULL}, "the limit of user namespaces is reached", "user.max_user_namespaces=15000"},
    {EPERM, {NULL}, "Operation not permitted", "a security module or the kernel"},
    {ENOSPC,
     {"proc/sys/user/max_user_namespaces", "0\n"},
     "user.max_user_namespaces is 0",
     "sysctl -w user.max_user_namespaces=15000"},
    {EPERM,
     {"proc/sys/user/max_user_namespaces", "10\n", "proc/sys/kernel/unprivileged_userns_clone", "0\n"},
     "kernel.unprivileged_userns_clone is 0",
     "sysctl -w kernel.unprivileged_userns_clone=1"},
    {EPERM,
     {"proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n",
      "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"},
     "a system call filter",
     "--security-opt seccomp=unconfined"},
    {EACCES,
     {"proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n",
      "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"},
     "AppArmor allows them only to programs with a profile",
     "/usr/share/acr-host/apparmor/acr-host"},
    {EACCES,
     {"proc/self/attr/current", "docker-default (enforce)\n"},
     "Docker's AppArmor profile",
     "--security-opt apparmor=unconfined"},
    {EACCES, {"sys/fs/selinux/enforce", "1"}, "SELinux", "policy"}};

static void write_file(const char *root, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(root, name, NULL);
    g_autofree char *folder = g_path_get_dirname(path);
    g_assert_true(acr_dir_make(folder, NULL));
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

TEST("/sandbox/namespace_refusal", cause_and_remedy_are_named)
{
    for (guint i = 0; i < G_N_ELEMENTS(machines); i++) {
        const Machine *machine = &machines[i];
        g_autofree char *root = g_dir_make_tmp("acr-host-XXXXXX", NULL);
        for (guint k = 0; machine->files[k]; k += 2)
            write_file(root, machine->files[k], machine->files[k + 1]);
        g_autofree char *said = acr_namespace_refusal(root, machine->err);
        g_assert_true(g_str_has_prefix(said, "user namespaces are refused here: "));
        g_assert_nonnull(strstr(said, machine->cause));
        g_assert_nonnull(strstr(said, machine->remedy));
        g_assert_nonnull(strstr(said, "--image NAME"));
        g_assert_null(strchr(said, '\n'));
        g_assert_true(acr_dir_remove(root, NULL));
    }
}
