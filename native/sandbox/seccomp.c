/* Creates system call filters. They refuse calls that no project's test needs and with which a
 * command could leave the sandbox, control process 1, or attack the kernel. Tables list refused
 * calls, calls that are refused with one value of an argument, and allowed kinds of sockets. A call
 * that is newer than the tables fails as if this kernel did not have it.
 *
 * Namespaces do not separate keyrings: a command of an ordinary user has the same user id outside,
 * so it could read keys in the host's keyrings by their numbers. Namespaces do not separate vsock
 * either, through which a virtual machine reaches its host. */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define MAX_CALL 462u /* number of mseal (Linux 6.10); calls with higher numbers are refused */
#define NEW_NAMESPACE                                                                              \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
/* mask of the socket type; the argument may also contain SOCK_CLOEXEC and SOCK_NONBLOCK */
#define KINDS_OF_SOCKET 0xfu
#define INIT 1 /* process 1, which belongs to the sandbox */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "acr-host does not know the system calls of this architecture"
#endif

/* Numbers of system calls that older headers do not define. The numbers are the same on all
 * architectures. */
enum {
    CALL_OPEN_TREE = 428,
    CALL_MOVE_MOUNT = 429,
    CALL_FSOPEN = 430,
    CALL_FSCONFIG = 431,
    CALL_FSMOUNT = 432,
    CALL_FSPICK = 433,
    CALL_MOUNT_SETATTR = 442,
    CALL_QUOTACTL_FD = 443,
    CALL_MEMFD_SECRET = 447,
    CALL_STATMOUNT = 457,
    CALL_LSM_MODULES = 461,
};

/* Calls that are refused with ENOSYS, as if the kernel did not have them. */
static const guint32 missing[] = {
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_clone3,
    SYS_kcmp,
    SYS_lookup_dcookie,
    SYS_nfsservctl,
    CALL_MEMFD_SECRET,
#ifdef SYS_uselib
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
    SYS_modify_ldt,
#endif
};

/* Calls that are refused with EPERM, as if the process lacked the rights: namespaces, mounts,
 * files by handle, settings of the machine. */
static const guint32 forbidden[] = {
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    CALL_OPEN_TREE,
    CALL_MOVE_MOUNT,
    CALL_FSOPEN,
    CALL_FSCONFIG,
    CALL_FSMOUNT,
    CALL_FSPICK,
    CALL_MOUNT_SETATTR,
    CALL_QUOTACTL_FD,
    SYS_quotactl,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_pidfd_getfd,
    SYS_process_madvise,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

/* Calls that allocate memory that no process maps and that only a control group counts: System V's
 * shared memory, and files in memory that are in a socket's queue. */
static const guint32 unmapped[] = {SYS_shmget, SYS_msgget, SYS_semget, SYS_memfd_create};

/* A system call that is refused if an argument has one value (or, with any_bit, one of its
 * bits). */
typedef struct {
    guint32 call;
    guint8 argument;
    bool any_bit;
    guint32 value;
} Refusal;
static const Refusal refusals[] = {
    {SYS_clone, 0, true, NEW_NAMESPACE},    {SYS_ptrace, 1, false, INIT},
    {SYS_process_vm_readv, 0, false, INIT}, {SYS_process_vm_writev, 0, false, INIT},
    {SYS_pidfd_open, 0, false, INIT},       {SYS_prlimit64, 0, false, INIT},
    {SYS_ioctl, 1, false, 0x5412}, /* TIOCSTI types characters into a terminal */
    {SYS_ioctl, 1, false, 0x541c}, /* TIOCLINUX does the same on a console */
};
static const guint32 personalities[] = {
    PER_LINUX, PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32, ADDR_NO_RANDOMIZE, G_MAXUINT32,
};

/* Calls that a process does not need if it starts no processes and opens no sockets. `clone` is
 * allowed for threads only. */
static const guint32 refused_alone[] = {
    SYS_execve, /* must be first, because acr_seccomp_alone skips it if `may_exec` is set */
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
    SYS_pidfd_send_signal,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

static void add_instruction(GArray *code, guint16 what, guint32 value, guint8 if_so,
                            guint8 else_skip)
{
    struct sock_filter step = {what, if_so, else_skip, value};
    g_array_append_val(code, step);
}

static void load_filter(GArray *code, gsize offset)
{
    add_instruction(code, BPF_LD | BPF_W | BPF_ABS, (guint32)offset, 0, 0);
}

static void load_call(GArray *code)
{
    load_filter(code, offsetof(struct seccomp_data, nr));
}

/* Loads the lower half of an argument. The kernel uses only the lower half of the arguments that
 * the filter checks. */
static void load_argument(GArray *code, guint8 number)
{
    load_filter(code, offsetof(struct seccomp_data, args) + number * sizeof(guint64) +
                          (G_BYTE_ORDER == G_BIG_ENDIAN ? sizeof(guint32) : 0));
}

static void answer_notification(GArray *code, int err)
{
    add_instruction(code, BPF_RET | BPF_K,
                    err ? SECCOMP_RET_ERRNO | (guint32)err : SECCOMP_RET_ALLOW, 0, 0);
}

static void answer_if(GArray *code, guint32 value, int err)
{
    add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    answer_notification(code, err);
}

/* Skips the next `n` instructions unless the system call is `call`. */
static void skip_unless(GArray *code, guint32 call, guint8 n)
{
    add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, call, 0, n);
}

static void refuse_all(GArray *code, const guint32 *calls, gsize n, int err)
{
    for (gsize i = 0; i < n; i++)
        answer_if(code, calls[i], err);
}

/* Kills a program of another architecture, because its system calls have other numbers. Refuses
 * calls that are newer than MAX_CALL, and the calls from statmount to lsm_list_modules. */
static void add_architecture(GArray *code)
{
    load_filter(code, offsetof(struct seccomp_data, arch));
    add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    add_instruction(code, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    load_call(code);
    add_instruction(code, BPF_JMP | BPF_JGT | BPF_K, MAX_CALL, 0, 1);
    answer_notification(code, ENOSYS);
    add_instruction(code, BPF_JMP | BPF_JGE | BPF_K, CALL_STATMOUNT, 0,
                    2); /* skips the refusal below */
    add_instruction(code, BPF_JMP | BPF_JGT | BPF_K, CALL_LSM_MODULES, 1, 0);
    answer_notification(code, ENOSYS);
}

static void add_refusals(GArray *code)
{
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        const Refusal *row = &refusals[i];
        skip_unless(code, row->call, 4);
        load_argument(code, row->argument);
        add_instruction(code, BPF_JMP | BPF_K | (row->any_bit ? BPF_JSET : BPF_JEQ), row->value, 0,
                        1);
        answer_notification(code, EPERM);
        load_call(code);
    }
}

static void add_personalities(GArray *code)
{
    skip_unless(code, SYS_personality, 2 + 2 * G_N_ELEMENTS(personalities));
    load_argument(code, 0);
    refuse_all(code, personalities, G_N_ELEMENTS(personalities), 0);
    answer_notification(code, EPERM);
}

/* Allows three kinds of sockets: Unix sockets, sockets of the common internet protocols, and the
 * netlink protocol with which the C library lists network addresses. */
static void add_sockets(GArray *code)
{
    static const guint32 protocols[] = {IPPROTO_IP,  IPPROTO_ICMP,   IPPROTO_TCP,
                                        IPPROTO_UDP, IPPROTO_ICMPV6, IPPROTO_RAW};
    add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0);
    skip_unless(code, SYS_socketpair, 17 + 2 * G_N_ELEMENTS(protocols));
    load_argument(code, 0);
    answer_if(code, AF_UNIX, 0);
    add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 7, 0);
    add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 6, 0);
    add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
    answer_notification(code, EAFNOSUPPORT);
    load_argument(code, 2);
    answer_if(code, 0 /* NETLINK_ROUTE */, 0);
    answer_notification(code, EPROTONOSUPPORT);
    load_argument(code, 1);
    add_instruction(code, BPF_ALU | BPF_AND | BPF_K, KINDS_OF_SOCKET, 0, 0);
    add_instruction(code, BPF_JMP | BPF_JGT | BPF_K, SOCK_RAW, 0, 1);
    answer_notification(code, ESOCKTNOSUPPORT);
    load_argument(code, 2);
    refuse_all(code, protocols, G_N_ELEMENTS(protocols), 0);
    answer_notification(code, EPROTONOSUPPORT);
}

GBytes *acr_seccomp_walls(bool refuses_unmapped)
{
    GArray *code = g_array_new(FALSE, FALSE, sizeof(struct sock_filter));
    add_architecture(code);
    refuse_all(code, missing, G_N_ELEMENTS(missing), ENOSYS);
    refuse_all(code, forbidden, G_N_ELEMENTS(forbidden), EPERM);
    if (refuses_unmapped)
        refuse_all(code, unmapped, G_N_ELEMENTS(unmapped), ENOSYS);
    add_refusals(code);
    add_personalities(code);
    add_sockets(code);
    answer_notification(code, 0);
    gsize len = code->len * sizeof(struct sock_filter);
    return g_bytes_new_take(g_array_free(code, FALSE), len);
}

static bool install_seccomp(const void *code, gsize len)
{
    struct sock_fprog program = {(unsigned short)(len / sizeof(struct sock_filter)),
                                 (struct sock_filter *)code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool acr_seccomp_alone(bool may_exec)
{
    g_autoptr(GBytes) walls = acr_seccomp_walls(false);
    g_autoptr(GArray) code = g_array_new(FALSE, FALSE, sizeof(struct sock_filter));
    gsize len;
    const void *data = g_bytes_get_data(walls, &len);
    load_call(code);
    refuse_all(code, refused_alone + may_exec, G_N_ELEMENTS(refused_alone) - may_exec, ENOSYS);
    skip_unless(code, SYS_clone, 3);
    load_argument(code, 0);
    add_instruction(code, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    answer_notification(code, ENOSYS);
    answer_notification(code, 0);
    return install_seccomp(data, len) &&
           install_seccomp(code->data, code->len * sizeof(struct sock_filter));
}
