/* Finds out why user namespaces are refused. The kernel's EPERM, EACCES or ENOSPC do not name the
 * cause, which may be a setting of the distribution, the seccomp filter of a container, or a
 * security module. Each cause can be recognised in a different file. The first row of the table
 * that applies is the cause. */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <string.h>

#define MAX_TEXT 16384u
#define ELSEWHERE ", or use --image NAME, or --sandbox plain, which isolates nothing"
#define IN_CONTAINER                                                                               \
    "start the container with --security-opt seccomp=unconfined --security-opt "                   \
    "apparmor=unconfined --security-opt systempaths=unconfined" ELSEWHERE

typedef struct {
    int err;          /* errno of the failed step for which the row applies; 0: any errno */
    const char *file; /* the file that shows the cause, in a line that begins with `line` */
    const char *line, *cause, *remedy;
} Row;

static const Row rows[] = {
    {0, "/proc/sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces is 0",
     "run 'sysctl -w user.max_user_namespaces=15000' as root" ELSEWHERE},
    {0, "/proc/sys/kernel/unprivileged_userns_clone", "0\n",
     "kernel.unprivileged_userns_clone is 0",
     "run 'sysctl -w kernel.unprivileged_userns_clone=1' as root" ELSEWHERE},
    {EPERM, "/proc/self/status", "Seccomp:\t2\n",
     "a system call filter forbids them, as in containers", IN_CONTAINER},
    {0, "/proc/self/attr/current", "docker-default", "Docker's AppArmor profile forbids them",
     IN_CONTAINER},
    {0, "/proc/self/attr/current", "containers-default", "podman's AppArmor profile forbids them",
     IN_CONTAINER},
    {0, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n",
     "AppArmor allows them only to programs with a profile",
     "copy acr-host's profile /usr/share/acr-host/apparmor/acr-host to /etc/apparmor.d and run "
     "'apparmor_parser -r /etc/apparmor.d/acr-host' as root, or run 'sysctl -w "
     "kernel.apparmor_restrict_unprivileged_userns=0'" ELSEWHERE},
    {EACCES, "/sys/fs/selinux/enforce", "1",
     "SELinux forbids them ('ausearch -m avc' shows the refusal)",
     "allow acr-host to create them in the SELinux policy" ELSEWHERE},
};

static bool applies(const char *root, const Row *row)
{
    g_autofree char *path = g_strconcat(root, row->file, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_TEXT, NULL);
    g_autofree char *text = acr_bytes_text(bytes);
    const char *at = strstr(text, row->line);
    return at && (at == text || at[-1] == '\n');
}

char *acr_namespace_refusal(const char *root, int err)
{
    /* in a container, the limit that was reached may be the machine's, which the container cannot
     * see */
    bool is_full = err == ENOSPC;
    const char *cause = is_full ? "the limit of user namespaces is reached" : g_strerror(err),
               *remedy = is_full ? "raise it by 'sysctl -w user.max_user_namespaces=15000' as root "
                                   "(in a container: on its host)" ELSEWHERE
                                 : "a security module or the kernel forbids them; allow acr-host "
                                   "to create them" ELSEWHERE;
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        if ((rows[i].err && rows[i].err != err) || !applies(root, &rows[i]))
            continue;
        cause = rows[i].cause;
        remedy = rows[i].remedy;
        break;
    }
    return g_strdup_printf("user namespaces are refused here: %s; %s", cause, remedy);
}
