"""Runs a command as if the machine refused user namespaces: python3 refusing.py calls|map|module COMMAND...

calls   a seccomp filter, as in containers: unshare() with a user namespace fails with EPERM
map     the namespace is created, but its map of users cannot be written: EPERM
module  the namespace is created, but a security module (here Landlock) denies it the files of /proc: EACCES
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_ACCESS_FS_WRITE_FILE = 1 << 1
CLONE_NEWUSER = 0x10000000
UNSHARE, WRITE = (272, 1) if os.uname().machine == "x86_64" else (97, 64)
MAP_LENGTH = len("64711 64711 1")  # for the user that root's commands become
LOAD, EQUALS, HAS_BITS, ABOVE, RETURN = 0x20, 0x15, 0x45, 0x25, 0x06
NUMBER, FIRST, THIRD = (
    0,
    16,
    32,
)  # offsets of a call's number and of the low words of its arguments, as the kernel stores them
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM

#: (operation, steps to skip if true, if false, value)
FILTERS = {
    "calls": [
        (LOAD, 0, 0, NUMBER), (EQUALS, 0, 3, UNSHARE), (LOAD, 0, 0, FIRST), (HAS_BITS, 0, 1, CLONE_NEWUSER),
        (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW),
    ],
    "map": [
        (LOAD, 0, 0, NUMBER), (EQUALS, 0, 5, WRITE), (LOAD, 0, 0, THIRD), (EQUALS, 0, 3, MAP_LENGTH),
        (LOAD, 0, 0, FIRST), (ABOVE, 0, 1, 2), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW),
    ],
}  # fmt: skip

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def install_filter(steps: list[tuple[int, int, int, int]]) -> None:
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(steps), ctypes.addressof(held))
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(program)))


def deny_writing() -> None:
    """Deny writing, except in the folders that tests use; /proc is not writable."""
    handled = struct.pack("Q", LANDLOCK_ACCESS_FS_WRITE_FILE)
    rules = check(libc.syscall(LANDLOCK_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0))
    for folder in os.scandir("/"):
        if folder.is_dir() and folder.name not in ("proc", "sys"):
            beneath = struct.pack("=Qi", LANDLOCK_ACCESS_FS_WRITE_FILE, os.open(folder.path, os.O_PATH))
            check(libc.syscall(LANDLOCK_ADD_RULE, rules, 1, beneath, 0))
    check(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))


check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
if sys.argv[1] == "module":
    deny_writing()
else:
    install_filter(FILTERS[sys.argv[1]])
os.execvp(sys.argv[2], sys.argv[2:])
