/* Restricts the rights of this process: Landlock restricts access to files, seccomp restricts
 * system calls. Neither needs privileges or namespaces, so both work where bubblewrap does not. If
 * the kernel supports only one of the two, only that one is used. */
#include "sandbox/confine.h"
#include "sandbox/sandbox_private.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* rights to files only, not to folders */
#define OF_FILES                                                                                   \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE)
#define RUN (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE)

/* Returns the rights to files that this version of Landlock can forbid: 13 in version 1, and one
 * more in each of the next two versions. */
static guint64 all_rights(long version)
{
    return (1ull << (12 + MIN(version, 3))) - 1;
}

static void allow(int rules, const char *path, guint64 rights)
{
    struct stat status;
    ACR_AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);
    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rights &= OF_FILES;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* Allows `program` to be run, and also the dynamic loader that the kernel starts for it. `program`
 * is assumed to use the same loader as the current process. */
static void allow_program(int rules, const char *program)
{
    Dl_info loader;
    allow(rules, program, RUN);
    if (dladdr((void *)getauxval(AT_BASE), &loader))
        allow(rules, loader.dli_fname, RUN);
}

static void confine_files(const char *const *readable, const char *writable, const char *program)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return;
    struct landlock_ruleset_attr all = {.handled_access_fs = all_rights(version)};
    ACR_AUTO_FD rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0)
        return;
    for (gsize i = 0; readable[i]; i++)
        allow(rules, readable[i], READ);
    if (program)
        allow_program(rules, program);
    allow(rules, "/dev/null", OF_FILES);
    if (writable)
        allow(rules, writable, all.handled_access_fs & ~(guint64)LANDLOCK_ACCESS_FS_EXECUTE);
    (void)syscall(SYS_landlock_restrict_self, rules, 0);
}

void acr_confine(const char *const *readable, const char *writable, const char *program)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    confine_files(readable, writable, program);
    (void)acr_seccomp_alone(program != NULL);
}
