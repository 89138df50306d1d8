/* The program that starts the processes of a container. It needs no library and no shell in the
 * image.
 *
 *   enter FILTER                  runs as the first process: waits, and reaps orphaned processes
 *   enter FILTER PROGRAM WORD...  executes the program in its place
 *
 * Both forms first install the system call filter from the file FILTER. If anything fails, the
 * program exits with 125. Other processes cannot read the memory of the first process. */
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#define FAILED 125
#define MAX_STEPS 4096
#define ANY_CHILD (-1)

/* name of the main function, which is called with the stack as the kernel sets it up */
#define BODY acr_enter
#define TEXT(word) #word
#define NAME(macro) TEXT(macro)

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall " NAME(BODY) "\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tbl " NAME(BODY) "\n");
#endif

static long ask_kernel(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    register long fourth __asm__("r10") = 0, fifth __asm__("r8") = 0;
    long result = number;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long call __asm__("x8") = number, result __asm__("x0") = a, second __asm__("x1") = b,
                       third __asm__("x2") = c, fourth __asm__("x3") = 0, fifth __asm__("x4") = 0;
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                     : "memory");
#endif
    return result;
}

static int install_filter(const char *path)
{
    static struct sock_filter code[MAX_STEPS];
    long fd = ask_kernel(__NR_openat, AT_FDCWD, (long)path, O_RDONLY);
    long size = fd < 0 ? fd : ask_kernel(__NR_read, fd, (long)code, sizeof code);
    struct sock_fprog program = {(unsigned short)(size / (long)sizeof *code), code};
    return fd >= 0 && size > 0 && ask_kernel(__NR_close, fd, 0, 0) == 0 &&
           ask_kernel(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) == 0 &&
           ask_kernel(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program) == 0;
}

/* Reaps child processes forever. If there are none, waits and tries again. */
static void reap(void)
{
    struct {
        long seconds, nanoseconds;
    } pause = {0, 100 * 1000 * 1000};
    for (;;)
        if (ask_kernel(__NR_wait4, ANY_CHILD, 0, 0) < 0)
            (void)ask_kernel(__NR_nanosleep, (long)&pause, 0, 0);
}

/* Main function of the program. `stack` contains argc, argv and the environment. */
__attribute__((noreturn)) void acr_enter(long *stack);
void acr_enter(long *stack)
{
    long argc = stack[0];
    char **argv = (char **)(stack + 1), **environment = argv + argc + 1;
    if (argc >= 2 && install_filter(argv[1])) {
        if (argc > 2)
            (void)ask_kernel(__NR_execve, (long)argv[2], (long)(argv + 2), (long)environment);
        else if (ask_kernel(__NR_prctl, PR_SET_DUMPABLE, 0, 0) == 0)
            reap();
    }
    for (;;)
        (void)ask_kernel(__NR_exit_group, FAILED, 0, 0);
}
