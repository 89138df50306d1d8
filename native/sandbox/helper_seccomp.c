/*
 * Calls of the kernel that nothing in the sandbox gets: those that no test of a project needs, and
 * that lead out of it or deep into the kernel. Namespaces do not divide keyrings: who has the same
 * user number outside, as an ordinary user's command has, could take keys from the host's by their
 * numbers. A refused call is one that this kernel does not have (ENOSYS).
 */
#include "sandbox/helper_steps.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define REFUSE (SECCOMP_RET_ERRNO | ENOSYS)

/* What a process that works alone needs none of: other processes, sockets. Whether `clone` is for a
 * thread is checked. */
static const guint32 refused_alone[] = {
    SYS_clone3,
    SYS_execve,
    SYS_execveat,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};
static const guint32 refused[] = {SYS_keyctl,          SYS_add_key,     SYS_request_key,   SYS_bpf,
                                  SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup};

/* The machine's own calls, and those of a narrower one that its kernel takes too; of others every
 * call is refused. */
#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define ARCH_NARROW AUDIT_ARCH_I386
#define MAX_CALL 0x3fffffffu /* above it are the same calls once more, with narrow pointers */
static const guint32 refused_narrow[] = {288, 286, 287, 357, 336, 374, 425};
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define ARCH_NARROW AUDIT_ARCH_ARM
#define MAX_CALL G_MAXUINT32
static const guint32 refused_narrow[] = {311, 309, 310, 386, 364, 388, 425};
#else
#error "the numbers of this machine's calls are not known"
#endif
G_STATIC_ASSERT(G_N_ELEMENTS(refused) == G_N_ELEMENTS(refused_narrow));

static void add(GArray *code, guint16 what, guint32 value, guint8 if_so, guint8 else_skip)
{
    struct sock_filter step = {what, if_so, else_skip, value};
    g_array_append_val(code, step);
}

/* Where the call is one of this architecture, what is to be done is decided here; else what stands
 * behind is reached. */
static void add_architecture(GArray *code, guint32 arch, const guint32 *numbers, guint n)
{
    add(code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(code, BPF_JMP | BPF_JEQ | BPF_K, arch, 0, (guint8)(2 * n + 4));
    add(code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    for (guint i = 0; i < n; i++) {
        add(code, BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1);
        add(code, BPF_RET | BPF_K, REFUSE, 0, 0);
    }
    add(code, BPF_JMP | BPF_JGT | BPF_K, MAX_CALL, 0, 1);
    add(code, BPF_RET | BPF_K, REFUSE, 0, 0);
    add(code, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* A new process is refused, a new thread is not; other calls are not looked at. */
static void add_clone(GArray *code)
{
    add(code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(code, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
    add(code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]), 0, 0);
    add(code, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    add(code, BPF_RET | BPF_K, REFUSE, 0, 0);
}

static bool install(const GArray *code)
{
    struct sock_fprog program = {(unsigned short)code->len,
                                 (struct sock_filter *)(void *)code->data};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool acr_helper_refuse_calls(GError **error)
{
    g_autoptr(GArray) code = g_array_new(FALSE, FALSE, sizeof(struct sock_filter));
    add_architecture(code, ARCH, refused, G_N_ELEMENTS(refused));
    add_architecture(code, ARCH_NARROW, refused_narrow, G_N_ELEMENTS(refused_narrow));
    add(code, BPF_RET | BPF_K, REFUSE, 0, 0);
    return install(code) ||
           acr_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE,
                         "cannot refuse calls of the kernel: %s", g_strerror(errno));
}

bool acr_seccomp_alone(void)
{
    g_autoptr(GArray) code = g_array_new(FALSE, FALSE, sizeof(struct sock_filter));
    add_clone(code);
    add_architecture(code, ARCH, refused_alone, G_N_ELEMENTS(refused_alone));
    add(code, BPF_RET | BPF_K, REFUSE, 0, 0);
    return acr_helper_refuse_calls(NULL) && install(code);
}
