"""The kernel's interfaces in every sandbox: system calls, sockets, /proc, memory, processes that outlive a command."""

from __future__ import annotations

import errno
import functools
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from conformance import (  # noqa: F401
    PLAIN,
    engines,
    image,
    limit_of,
    orphans,
    repo,
    sandbox,
    tmp_path,
    tree_repo,
    untouched,
    usually_in,
    wait_for,
)
from fewer import usually
from host import SLOWNESS
from sandboxes import LOCAL, Sandbox

MACHINE = os.uname().machine
PLAIN_PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
FEW_RIGHTS = 1 << 0 | 1 << 1 | 1 << 3  # CHOWN, DAC_OVERRIDE, FOWNER: for containers, whose files have several owners
CALL = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return errno.errorcode[ctypes.get_errno()] if got == -1 else "done"
"""


@pytest.fixture(scope="session")
def calls() -> str:
    """The engine's own filter, which must apply together with ours."""
    return "usual"


def _isolated(sandbox: Sandbox) -> None:
    limit_of(sandbox, "plain", why=PLAIN)


def python(sandbox: Sandbox, repo: Path, script: str, *options: str) -> str:
    """The output of a script that is run to its end."""
    row = sandbox.json(repo, *options, "--", "python3", "-c", script)
    assert row["exit"] == 0, row
    return row["stdout"]


# ---- Rights ----------------------------------------------------------------------------------------


def test_rights_are_few_and_no_more_can_be_won(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    text = sandbox.json(repo, "--", "cat", "/proc/self/status")["stdout"]
    status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    rights = FEW_RIGHTS if sandbox.is_engine else 0
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(status[name], 16) == rights, text
    for name in ("CapInh", "CapAmb"):
        assert int(status[name], 16) & ~rights == 0, text
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), text
    if sandbox.is_engine and "Seccomp_filters" in status:
        assert int(status["Seccomp_filters"]) >= 2, text  # the engine's own filter is kept


# ---- Sockets ---------------------------------------------------------------------------------------

FAMILIES = """
import errno, socket
made = set()
for family in range(64):
    for kind in range(1, 11):
        for protocol in range(64) if family in (2, 10, 16) else range(4):
            for make in (socket.socket, socket.socketpair):
                try:
                    for one in [made_one] if isinstance(made_one := make(family, kind, protocol), socket.socket) else made_one:
                        one.close()
                    made.add((family, protocol if family in (2, 10, 16) else 0))
                except (OSError, ValueError):
                    pass
print(sorted(made))
"""


@usually_in("bubblewrap", "bubblewrap-user")
def test_sockets_are_those_of_this_machine_and_the_internet(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    made = set(eval(python(sandbox, repo, FAMILIES)))
    internet = {(family, protocol) for family in (2, 10) for protocol in (0, 6, 17, 1, 58)}
    assert {(1, 0), (2, 0), (2, 6), (2, 17), (16, 0)} <= made <= {(1, 0), (16, 0), *internet}, made


# ---- Calls -----------------------------------------------------------------------------------------

#: name -> (its number on x86-64, on others, arguments, allowed results).
CALLS: dict[str, tuple[int, int, str, set[int]]] = {
    "keyctl": (250, 219, "0, -4, 0", {errno.ENOSYS}),
    "add_key": (248, 217, "b'user', b'x', b'x', 1, -4", {errno.ENOSYS}),
    "request_key": (249, 218, "b'user', b'x', 0, -4", {errno.ENOSYS}),
    "bpf": (321, 280, "0, 0, 0", {errno.ENOSYS, errno.EPERM}),
    "perf_event_open": (298, 241, "0, 0, -1, -1, 0", {errno.ENOSYS, errno.EPERM}),
    "userfaultfd": (323, 282, "1", {errno.ENOSYS, errno.EPERM}),
    "io_uring_setup": (425, 425, "1, bytes(120)", {errno.ENOSYS, errno.EPERM}),
    "clone3": (435, 435, "bytes(64), 64", {errno.ENOSYS}),
    "kcmp": (312, 272, "os.getpid(), os.getpid(), 0, 0, 1", {errno.ENOSYS, errno.EPERM}),
    "pidfd_getfd": (438, 438, "0, 0, 0", {errno.EPERM, errno.ENOSYS}),
    "memfd_secret": (447, 447, "0", {errno.ENOSYS, errno.EPERM}),
    "open_by_handle_at": (304, 265, "-100, bytes(64), 0", {errno.EPERM}),
    "name_to_handle_at": (303, 264, "-100, b'/', bytes(128), bytes(8), 0", {errno.EPERM}),
    "mount": (165, 40, "b'x', b'/tmp', b'tmpfs', 0, 0", {errno.EPERM}),
    "umount2": (166, 39, "b'/tmp', 0", {errno.EPERM}),
    "pivot_root": (155, 41, "b'/tmp', b'/tmp'", {errno.EPERM}),
    "chroot": (161, 51, "b'/tmp'", {errno.EPERM}),
    "fsopen": (430, 430, "b'tmpfs', 0", {errno.EPERM, errno.ENOSYS}),
    "open_tree": (428, 428, "-100, b'/', 0", {errno.EPERM, errno.ENOSYS}),
    "move_mount": (429, 429, "-100, b'/tmp', -100, b'/', 0", {errno.EPERM, errno.ENOSYS}),
    "mount_setattr": (442, 442, "-100, b'/', 0, bytes(32), 32", {errno.EPERM, errno.ENOSYS}),
    "statmount": (457, 457, "0, 0, 0, 0", {errno.ENOSYS, errno.EPERM}),
    "setns": (308, 268, "0, 0", {errno.EPERM}),
    "syslog": (103, 116, "3, bytes(100), 100", {errno.EPERM}),
    "reboot": (169, 142, "0, 0, 0", {errno.EPERM}),
    "finit_module": (313, 273, "0, b'', 0", {errno.EPERM}),
    "a flag of persona": (135, 92, "0x0400000", {errno.EPERM}),
    "a call of later kernels": (500, 500, "0", {errno.ENOSYS, errno.EPERM}),
    "typing into a terminal": (16, 29, "0, 0x5412, b'x'", {errno.EPERM}),
    "tracing the first process": (101, 117, "16, 1, 0, 0", {errno.EPERM}),
    "seizing the first process": (101, 117, "0x4206, 1, 0, 0", {errno.EPERM}),
    "reading the first process": (310, 270, "1, bytes(16), 1, bytes(16), 1, 0", {errno.EPERM}),
    "writing to the first process": (311, 271, "1, bytes(16), 1, bytes(16), 1, 0", {errno.EPERM}),
    "a handle of the first process": (434, 434, "1, 0", {errno.EPERM}),
    "limits of the first process": (302, 261, "1, 0, 0, bytes(16)", {errno.EPERM}),
}


def test_calls_that_nobody_needs_are_refused(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    rows = {name: (row[0] if MACHINE == "x86_64" else row[1], row[2]) for name, row in CALLS.items()}
    body = "\n".join(f"print({name!r}, call({number}, {words}), sep='=')" for name, (number, words) in rows.items())
    told = dict(line.split("=") for line in python(sandbox, repo, CALL + body).splitlines())
    wrong = {name: got for name, got in told.items() if got not in {errno.errorcode[e] for e in CALLS[name][3]}}
    assert told.keys() == CALLS.keys() and wrong == {}


def test_no_namespace_can_be_made(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    kinds = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000}
    kinds |= {"process": 0x20000000, "net": 0x40000000, "time": 0x80}
    numbers = (272, 56) if MACHINE == "x86_64" else (97, 220)
    script = f"""
for name, flag in {kinds!r}.items():
    print(name, call({numbers[0]}, flag), end=" ")
    if name != "time":  # of clone a signal's number
        pid = os.getpid()
        said = call({numbers[1]}, flag | 17, 0, 0, 0, 0)
        if os.getpid() != pid:
            os._exit(0)
        print(said, end=" ")
"""
    assert set(python(sandbox, repo, CALL + script).split()) == {*kinds, "EPERM"}


CODE = """
import ctypes, mmap, os
def run(code):
    pid = os.fork()
    if pid == 0:
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(code)
        got = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        os._exit(0 if got >= 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""
#: getpid through the 32-bit interface, and with the numbers of x32.
OTHER_GATES = {"int 0x80": "b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3'", "x32": "b'\\xb8\\x27\\0\\0\\x40\\x0f\\x05\\xc3'"}


@pytest.mark.skipif(MACHINE != "x86_64", reason="the code is of x86-64")
def test_calls_by_other_gates_are_not_let_through(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    own = "b'\\xb8\\x27\\0\\0\\0\\x0f\\x05\\xc3'"  # the trial itself must work
    body = "".join(f"print({gate!r}, run({code}), sep='=')\n" for gate, code in (OTHER_GATES | {"own": own}).items())
    told = dict(line.split("=") for line in python(sandbox, repo, CODE + body).splitlines())
    assert told.pop("own") == "0" and told.keys() == OTHER_GATES.keys() and "0" not in told.values(), told


def test_keys_of_the_host_are_not_seen(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    row = sandbox.json(repo, "--", "sh", "-c", "cat /proc/keys 2>/dev/null; true")
    assert row["stdout"] == ""


# ---- The first process, and /proc ------------------------------------------------------------------


@usually_in("bubblewrap", "bubblewrap-user")
def test_the_first_process_is_closed(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    script = """
import os
for name in ("mem", "maps", "environ", "auxv", "fd/0", "fd/1", "root/etc", "cwd/etc", "exe", "task/1/mem"):
    for mode in (os.O_RDONLY, os.O_RDWR):
        try:
            text = os.read(os.open(f"/proc/1/{name}", mode), 100)
        except OSError:
            continue
        if text:
            print(name, mode)
"""
    assert python(sandbox, repo, script) == ""


@usually_in("bubblewrap", "bubblewrap-user")
def test_proc_takes_nothing(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    limit_of(sandbox, "podman", "dockerd", why="what a process says of itself in /proc can be written to")
    script = """
import os
for top in ("/proc/sys", "/proc/self", "/proc/thread-self", "/sys"):
    for folder, folders, names in os.walk(top):
        folders[:] = [at for at in folders if at not in ("task", "fd", "cwd", "root", "map_files")]
        for name in names:
            path = os.path.join(folder, name)
            try:
                if not os.path.islink(path):
                    os.close(os.open(path, os.O_WRONLY))
                    print(path)
            except OSError:
                pass
"""
    assert python(sandbox, repo, script) == ""


@usually_in("bubblewrap", "bubblewrap-user")
def test_when_memory_is_short_it_stays_the_first_to_go(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    limit_of(sandbox, "podman", "dockerd", why="its memory is bounded by the kernel, whatever it writes there")
    script = "for f in /proc/self /proc/$$ /proc/thread-self; do echo 0 >$f/oom_score_adj; done; cat /proc/self/oom_score_adj"
    assert sandbox.json(repo, "--", "sh", "-c", script)["stdout"] == "1000\n"


@usually_in("bubblewrap", "bubblewrap-user")
def test_the_log_of_the_kernel_is_not_seen(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    row = sandbox.json(repo, "--", "sh", "-c", "head -c 9 /dev/kmsg; head -c 9 /proc/kmsg; head -c 9 /proc/kcore; true")
    assert row["stdout"] == ""


def test_no_setting_of_the_machine_can_be_changed(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    files = "vm/drop_caches net/ipv4/ip_forward kernel/core_pattern kernel/hostname kernel/shmmax fs/mqueue/queues_max"
    script = f"for f in {files}; do echo 1 >/proc/sys/$f && echo $f; done; cd /sys/fs/cgroup && "
    script += (
        "for f in memory/memory.limit_in_bytes pids/pids.max memory.max pids.max cgroup.procs memory/cgroup.procs; do "
    )
    script += "[ -e $f ] && echo 1 >$f && echo $f; done; mkdir memory/x && echo made; true"
    assert sandbox.json(repo, "--", "sh", "-c", script)["stdout"] == ""


def test_an_engine_that_does_not_see_our_files_gets_the_walls_all_the_same(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, *LOCAL, why="it has no engine")
    cache = sandbox.host.home / "cache"
    cache.mkdir(exist_ok=True)
    sandbox.wrapper = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs x {cache} && exec "$@"', "sh"]
    script = "grep Seccomp /proc/self/status; ls /.acr-host"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert row["stdout"].split() == ["Seccomp:", "2", "Seccomp_filters:", "2", "enter", "filter"], row


def test_a_set_up_cannot_lower_the_walls(sandbox: Sandbox, repo: Path) -> None:
    """The set-up's shell runs only without the walls, but the user's image decides."""
    limit_of(sandbox, *LOCAL, why="it has no image")
    shell = '#!/bin/busybox sh\\ngrep -q "filters:.1" /proc/self/status || exit 3\\nexec /bin/busybox sh "$@"\\n'
    setup = f"rm /bin/sh; printf '{shell}' >/bin/sh; chmod 755 /bin/sh"
    result = sandbox.run(repo, "--setup", setup, "--", "grep", "Seccomp_filters", "/proc/self/status")
    assert result.exit != 0 and result.out == "", result.told()  # the shell that begins each command
    sandbox.run(repo, "--setup", setup, "--", "true").one_line(125, "/bin/sh")
    sandbox.options += ["--setup", "true"]
    assert sandbox.json(repo, "--", "grep", "-c", "filters:.2", "/proc/self/status")["stdout"] == "1\n"


def test_a_container_cannot_change_its_walls(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, *LOCAL, why="it has no folder for them")
    script = """
cd /.acr-host || exit 1
for f in enter filter; do echo x >$f && echo written; rm -f $f; mv $f x; ln -s /bin/busybox $f; done
cd / && mv /.acr-host /x && echo moved; rm -rf /.acr-host; touch /.acr-host/new && echo new; ls /.acr-host
"""
    assert sandbox.json(repo, "--", "sh", "-c", script)["stdout"] == "enter\nfilter\n"


# ---- Memory ----------------------------------------------------------------------------------------

HOLD = "import time\ntime.sleep(3)\nprint('had it')\n"
#: Each takes 600 MiB that no process maps, or prints that it is not allowed to.
HOARDS = {
    "System V": """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(6):
    number = libc.shmget(0, ctypes.c_size_t(100 << 20), 0o1600)
    if number < 0:
        sys.exit("refused")
    at = libc.shmat(number, None, 0)
    ctypes.memset(at, 1, 100 << 20)
    libc.shmdt(ctypes.c_void_p(at))
""",
    "the queue of a socket": """
import os, socket, sys
one, other = socket.socketpair()
for _ in range(6):
    try:
        file = os.memfd_create("x")
    except OSError:
        sys.exit("refused")
    for _ in range(100):
        os.write(file, bytes(1 << 20))
    socket.send_fds(one, [b"x"], [file])
    os.close(file)
""",
    "the rest of a mapping": """
import ctypes, mmap
libc = ctypes.CDLL(None)
kept = []
for _ in range(6):
    page = mmap.mmap(-1, 100 << 20)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.memset(at, 1, len(page))
    libc.munmap(ctypes.c_void_p(at + 4096), ctypes.c_size_t(len(page) - 4096))
    kept.append(page)
""",
}


def _is_counted(sandbox: Sandbox, repo: Path) -> bool:
    """Whether the kernel counts all memory; if not, files in memory are refused."""
    return (
        python(sandbox, repo, "import os\ntry: os.memfd_create('x'); print('yes')\nexcept OSError: print('no')")
        == "yes\n"
    )


@pytest.mark.parametrize("how", HOARDS)
def test_memory_is_also_what_nobody_has_mapped(sandbox: Sandbox, repo: Path, how: str) -> None:
    _isolated(sandbox)
    if how == "the rest of a mapping" and not _is_counted(sandbox, repo):
        pytest.skip(f"a limit of {sandbox.name}: there is no control group, and this call is needed")
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", HOARDS[how] + HOLD)
    assert "had it" not in row["stdout"], row
    assert row["limit"] == "memory" or row["stderr"] == "refused\n", row


#: Fills sockets, in one process after another, until they hold as many MiB as the first argument says.
HOARD_IN_SOCKETS = """
import os, resource, signal, socket, sys
goal, held, kept = int(sys.argv[1]) << 20, 0, []
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

def fill():
    filled = 0
    try:
        while True:
            pair = socket.socketpair()
            kept.append(pair)
            for end in pair:
                end.setblocking(False)
                try:
                    while True:
                        filled += end.send(bytes(1 << 16))
                except BlockingIOError:
                    pass
    except OSError:  # no descriptor, or no memory, is left
        return filled

while held < goal:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, b"%d" % fill())
        signal.pause()
    os.close(writer)
    told = os.read(reader, 20)
    if not told:  # the kernel has ended it
        break
    held += int(told)
print("had it" if held >= goal else "stopped")
"""
FILES_MB = 1024  # the limit of written files, which the kernel counts with its own memory


@usually_in("bubblewrap", "bubblewrap-user", "plain")
def test_memory_of_the_kernel_for_a_command_has_an_end(sandbox: Sandbox, repo: Path) -> None:
    """The kernel's memory counts together with written files: both may not exceed the sum of the limits."""
    _isolated(sandbox)
    if not sandbox.is_engine and not _is_counted(sandbox, repo):
        pytest.skip(f"a limit of {sandbox.name}: there is no control group")
    goal = str(100 + FILES_MB + 100)
    row = sandbox.json(repo, "--memory", "100", "--", "python3", "-c", HOARD_IN_SOCKETS, goal)
    assert row["limit"] == "memory" and "had it" not in row["stdout"], row


def _groups(pid: int) -> list[Path]:
    """The control groups that a process of the program has made."""
    own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    paths = {names: path.lstrip("/") for _, names, path in own}
    root = Path("/sys/fs/cgroup")
    folder = root / "memory" / paths["memory"] if "memory" in paths else (root / paths.get("", "")).parent
    return list(folder.glob(f"acr-host.{pid}.*"))


def test_no_control_group_is_left(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", "podman", "dockerd", why="it makes none")
    if not _is_counted(sandbox, repo):
        pytest.skip(f"a limit of {sandbox.name}: there is no control group")
    for is_killed in (False, True):
        process = sandbox.host.start(
            *["exec", "--repo", str(repo), "--", "sh", "-c", "read line; : 67.25"],
            env=sandbox.env,
            wrapper=sandbox.wrapper,
            stdin=subprocess.PIPE,
        )
        wait_for("67.25")
        assert _groups(process.pid)
        if is_killed:
            process.kill()
        process.stdin.close()
        process.wait(60 * SLOWNESS)
        until = time.monotonic() + 60 * SLOWNESS
        while is_killed and _groups(process.pid) and time.monotonic() < until:
            sandbox.json(repo, "--", "true")  # removes the group of a killed process after its children have ended
        assert _groups(process.pid) == []


@usually_in("bubblewrap", "bubblewrap-user", "plain")
def test_files_in_memory_are_bounded(sandbox: Sandbox, repo: Path) -> None:
    _isolated(sandbox)
    script = (
        "import os\nfor at in ('/dev/shm', '/tmp'):\n  s = os.statvfs(at); print(at, s.f_blocks * s.f_frsize >> 20)"
    )
    sizes = dict(line.split() for line in python(sandbox, repo, script).splitlines())
    assert int(sizes["/dev/shm"]) <= 1024, sizes
    assert sandbox.is_engine or int(sizes["/tmp"]) <= 1024, sizes


# ---- Honest commands still work --------------------------------------------------------------------

HONEST = {
    "processes": "import multiprocessing as m\nwith m.Pool(3) as p: print(sum(p.map(abs, range(-9, 0))))\nq = m.Queue(); q.put(1); print(q.get())",
    "spawned": "import concurrent.futures as c, multiprocessing as m\nif __name__ == '__main__':\n  with c.ProcessPoolExecutor(2, m.get_context('forkserver')) as p: print(list(p.map(abs, [-1])))",
    "shared memory": "from multiprocessing import shared_memory as s\nm = s.SharedMemory(create=True, size=9999); m.buf[0] = 7; print(m.buf[0]); m.close(); m.unlink()",
    "descriptors": "import multiprocessing as m, os\na, b = m.Pipe()\na.send(b)\nprint(type(b.recv()).__name__)\nr, w = os.pipe()\nimport socket\nx, y = socket.socketpair()\nsocket.send_fds(x, [b'x'], [w])\nprint(len(socket.recv_fds(y, 1, 1)[1]))",
    "children": "import subprocess, os\nprint(subprocess.run(['sh', '-c', 'echo a | cat'], capture_output=True, text=True).stdout, os.wait3(os.WNOHANG) if 0 else '')",
    "loop": "import asyncio\nasync def f():\n  p = await asyncio.create_subprocess_exec('true'); print(await p.wait())\n  s = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0); r, w = await asyncio.open_connection(*s.sockets[0].getsockname()); print(await r.read()); w.close()\nasyncio.run(f())",
    "names": "import socket\nprint(len(socket.getaddrinfo('localhost', 80)) > 0, [n for _, n in socket.if_nameindex()], socket.gethostname() != '')",
    "threads": "import threading, os, signal\nt = threading.Thread(target=print, args=('t',), name='n'); t.start(); t.join()\nos.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); signal.pthread_kill(threading.get_ident(), 0); print(os.getpriority(0, 0))",
    "limits": "import resource, os\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0)); print(resource.prlimit(os.getpid(), resource.RLIMIT_CORE))",
    "files": "import tempfile, mmap, os, fcntl\nf = tempfile.TemporaryFile(); f.write(b'x' * 9); f.flush(); fcntl.flock(f, 2); print(mmap.mmap(f.fileno(), 9)[:2], len(mmap.mmap(-1, 99)))\nos.symlink('a', 'l'); os.mkfifo('p'); os.listxattr('l') if 0 else 0; print(open('/proc/self/comm').read())",
    "tracing a child": "import ctypes, os, signal\npid = os.fork()\nif pid == 0:\n  signal.pause()\nprint(ctypes.CDLL(None).ptrace(16, pid, 0, 0), os.waitpid(pid, 0)[1] >> 8 == signal.SIGSTOP); os.kill(pid, 9)",
    "a database": "import sqlite3\nc = sqlite3.connect('d.db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(a)'); c.execute('insert into t values(1)'); c.commit(); print(c.execute('select * from t').fetchall())",
    "devices": "import os\nopen('/dev/null', 'w').write('x'); m, s = os.openpty(); os.write(m, b'x'); print(os.isatty(s), len(open('/dev/urandom', 'rb').read(4)))",
}


#: Runs each script of a JSON object in its own folder; prints name -> exit code, stdout, stderr.
RUN_EACH = """
import json, os, subprocess, sys
done = {}
for number, (name, text) in enumerate(json.load(sys.stdin).items()):
    os.mkdir(folder := f"honest{number}")
    with open(f"{folder}/honest.py", "w") as file:
        file.write(text)
    one = subprocess.run(["python3", "honest.py"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    done[name] = one.returncode, one.stdout, one.stderr
print(json.dumps(done))
"""


@pytest.fixture(scope="module")
def honest_here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The results of the scripts outside a sandbox: name -> exit code, stdout, stderr."""
    command = ["/usr/bin/python3", "-c", RUN_EACH]
    folder, env = tmp_path_factory.mktemp("honest"), os.environ | PLAIN_PATH
    done = subprocess.run(
        command, cwd=folder, env=env, input=json.dumps(HONEST).encode(), capture_output=True, check=True
    )
    return json.loads(done.stdout)


@usually_in("bubblewrap", "podman")
def test_what_projects_do_goes_on(sandbox: Sandbox, repo: Path, honest_here: dict[str, list[Any]]) -> None:
    row = sandbox.json(repo, "--", "python3", "-c", RUN_EACH, stdin=json.dumps(HONEST).encode())
    assert (row["exit"], row["stderr"]) == (0, ""), row
    told, here = json.loads(row["stdout"]), honest_here
    assert told.keys() == here.keys() == HONEST.keys() and all(exit == 0 for exit, _, _ in here.values()), here
    lines = {name: len(here[name][1].splitlines()) for name in HONEST}
    wrong = {
        name: (got, here[name])
        for name, got in told.items()
        if [*got[::2], len(got[1].splitlines())] != [0, "", lines[name]]
    }
    assert wrong == {}


TOOLS = {
    "compiler": "printf '#include <Python.h>\\nint x(void) {return Py_IsInitialized();}' >x.c && gcc -shared -fPIC -I$(python3 -c "
    "'import sysconfig; print(sysconfig.get_paths()[\"include\"])') x.c -o x.so && ls x.so",
    "make": "printf 'all: a b\\n%%:\\n\\t@echo $@\\n' >Makefile && make -j2 | sort",
    "git": "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git gc -q && git log --format=%s",
    "pip": 'mkdir p && printf \'[project]\\nname="p"\\nversion="1"\\n\' >p/pyproject.toml && cd p && '
    "python3 -m pip list -q --no-index >/dev/null && echo listed",
    "pytest": "printf 'def test_a(tmp_path, capfd, monkeypatch):\\n    print(1)\\n' >test_a.py && python3 -m pytest -q test_a.py | grep -o '1 passed'",
    "a debugger": "gdb -q -batch -ex run -ex bt --args true 2>&1 | grep -o 'exited normally'",
    "a tracer": "strace -f -o t sh -c 'true; true' && grep -c exited t",
}


@functools.cache
def _tool_here(tool: str) -> subprocess.CompletedProcess[str]:
    """The result of a tool outside a sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["sh", "-c", TOOLS[tool]]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=PLAIN_PATH)


@usually_in("bubblewrap")
@pytest.mark.parametrize("tool", usually(["compiler", "git", "pytest"], TOOLS))
def test_tools_of_this_machine_go_on(sandbox: Sandbox, repo: Path, tool: str) -> None:
    limit_of(sandbox, "podman", "dockerd", why="the image has no tools")
    here = _tool_here(tool)
    if here.returncode != 0:
        pytest.skip(f"it does not work on this machine outside of a sandbox: {here.stderr.strip()[-200:]}")
    row = sandbox.json(repo, "--", "sh", "-c", TOOLS[tool])
    assert (row["exit"], row["stdout"]) == (0, here.stdout), row
