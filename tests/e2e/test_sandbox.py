"""One conformance suite over every sandbox that is here: what a command may do, what it may not, and that nothing stays.

Each case is told once and holds in all backends but those that it names with the reason: a limit of
that backend, which its users are told of.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import repos
import sandboxes
from host import SLOWNESS, Host
from sandboxes import Sandbox

TREE: dict[str, str | bytes] = {
    "README": "hello\n",
    "pkg/__init__.py": "VALUE = 1\n",
    "pkg/data.bin": bytes(range(256)),
    "name with\nnewline.txt": "odd\n",
    "run.sh": "#!/bin/sh\necho run\n",
}
SECRET = "sk-this-is-not-for-you"
PLAIN = "plain isolates nothing"


def _have(*programs: str) -> str | None:
    for program in programs:
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


def _root() -> str | None:
    return None if os.geteuid() == 0 else "needs root"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the image's root."""
    archive = tmp_path_factory.mktemp("image") / "root.tar"
    sandboxes.make_rootfs(TREE, archive)
    return archive


@pytest.fixture(scope="module")
def engines(
    image: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], sandboxes.Engine]]:
    """engines("podman") -> the engine, started once, with the image."""
    started: dict[str, sandboxes.Engine] = {}

    def get(name: str) -> sandboxes.Engine:
        if name not in started:
            start = {"podman": sandboxes.podman, "dockerd": sandboxes.dockerd}[name]
            started[name] = start(tmp_path_factory.mktemp(name))
            started[name].load(image, sandboxes.IMAGE)
        return started[name]

    yield get
    for engine in started.values():
        engine.stop()


BACKENDS = ["bubblewrap", "bubblewrap-user", "plain", "podman", pytest.param("dockerd", marks=pytest.mark.full)]


@pytest.fixture(params=BACKENDS)
def sandbox(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    binary: Path,
    engines: Callable[[str], sandboxes.Engine],
) -> Iterator[Sandbox]:
    """Each backend in turn, as a way to run a command."""
    name = request.param
    needs = {
        "bubblewrap": _have("bwrap"),
        "bubblewrap-user": _have("bwrap", "setpriv") or _root(),
        "plain": None,
        "podman": _have("podman", "runc", "busybox") or _root(),
        "dockerd": _have("dockerd", "runc", "busybox") or _root(),
    }
    if needs[name]:
        pytest.skip(needs[name])
    host = Host(tmp_path / "home", binary)
    host.home.mkdir(exist_ok=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    made = Sandbox(name, host, [], env={"OPENAI_API_KEY": SECRET, "TMPDIR": str(scratch)})
    if name == "bubblewrap-user":
        program = tmp_path / "bin" / "acr-host"
        program.parent.mkdir()
        shutil.copy2(binary, program)
        made.host = Host(host.home, program)
        made.wrapper = sandboxes.as_user(sandboxes.ORDINARY_USER)
    elif name == "plain":
        made.options = ["--sandbox", "plain"]
    elif name in ("podman", "dockerd"):
        engine = engines(name)
        made.options = ["--image", sandboxes.IMAGE]
        made.env["DOCKER_HOST"] = f"unix://{engine.socket}"
        made.dir = "/testbed"
    yield made
    made.host.close()


@pytest.fixture
def repo(sandbox: Sandbox, tmp_path: Path) -> Path:
    """A repository of TREE, which nothing may change."""
    path = repos.make_repo(tmp_path / "repo", TREE).path
    (path / "run.sh").chmod(0o755)
    if sandbox.wrapper:
        sandboxes.give(tmp_path, sandboxes.ORDINARY_USER)
    return path


PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def orphans(sandbox: Sandbox) -> Iterator[Callable[[], list[int]]]:
    """orphans() -> processes that runs of the program have left, after some time to end.

    While it is used, what loses its parent becomes a child of this process; not where an engine
    is, which has helpers of its own that stay.
    """
    if sandbox.is_engine:
        yield lambda: []
        return
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    before = _children()

    def get() -> list[int]:
        until = time.monotonic() + 5 * SLOWNESS
        while (new := _children() - before) and time.monotonic() < until:
            for pid in new:
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.02)
        return sorted(new)

    yield get
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0


def _children() -> set[int]:
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for found in lists for pid in found.read_text().split()}


def _mounts(tmp_path: Path) -> list[str]:
    """What is mounted, without what lies in the temporary folders of others than this test."""
    other = f"{tempfile.gettempdir()}/"
    own = f"{tmp_path}/"
    return [point for point in sandboxes.mount_points() if point.startswith(own) or not point.startswith(other)]


@pytest.fixture(autouse=True)
def untouched(
    repo: Path,
    sandbox: Sandbox,
    engines: Callable[[str], sandboxes.Engine],
    orphans: Callable[[], list[int]],
    tmp_path: Path,
) -> Iterator[Callable[[], None]]:
    """After each case the repository is as it was, and nothing runs, is mounted or is left.

    untouched(): a test that has changed the repository itself says: from here on.
    """
    digests, mounts = [repos.digest(repo)], _mounts(tmp_path)
    engine = engines(sandbox.name) if sandbox.is_engine else None
    images = engine.images() if engine else []
    yield lambda: digests.append(repos.digest(repo))
    assert repos.digest(repo) == digests[-1]
    assert _mounts(tmp_path) == mounts
    assert os.listdir(tmp_path / "scratch") == []
    assert [path.name for path in sandbox.host.home.rglob("tmp-*")] == []
    assert set(os.listdir(sandbox.host.home)) <= {"cache", "secret.txt"}
    if engine:
        assert engine.containers() == []
        assert engine.images() == images
        assert engine.mounts() == []
    else:
        assert orphans() == []


def _limit_of(sandbox: Sandbox, *names: str, why: str) -> None:
    if sandbox.name in names:
        pytest.skip(f"a limit of {sandbox.name}: {why}")


def _left_over(marker: str, without: str = "\0") -> list[str]:
    """Processes that hold a marker in their command line, and not the other text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if marker in line and without not in line:
                found.append(line)
    return found


def _wait_for(marker: str) -> None:
    until = time.monotonic() + 20 * SLOWNESS
    while not _left_over(marker, "acr-host") and time.monotonic() < until:
        time.sleep(0.05)
    assert _left_over(marker, "acr-host")


def _gone(marker: str) -> None:
    until = time.monotonic() + 5 * SLOWNESS
    while _left_over(marker) and time.monotonic() < until:
        time.sleep(0.02)
    assert _left_over(marker) == []


# ---- How a command ends ----------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 2, 77, 127, 255])
def test_exit_codes_pass(sandbox: Sandbox, repo: Path, code: int) -> None:
    sandbox.run(repo, "--", "sh", "-c", f"exit {code}").check(code)
    row = sandbox.json(repo, "--", "sh", "-c", f"exit {code}")
    assert (row["exit"], row["signal"], row["limit"]) == (code, None, None)


@pytest.mark.parametrize("signal", [6, 9, 11, 15])
def test_signals_are_told(sandbox: Sandbox, repo: Path, signal: int) -> None:
    row = sandbox.json(repo, "--", "sh", "-c", f"kill -{signal} $$")
    assert (row["exit"], row["signal"]) == (None, signal)
    sandbox.run(repo, "--", "sh", "-c", f"kill -{signal} $$").check(128 + signal)


def test_an_exit_code_is_not_taken_for_a_signal(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "bubblewrap", "bubblewrap-user", "podman", "dockerd", why="it tells signal N as exit 128 + N")
    row = sandbox.json(repo, "--", "sh", "-c", "exit 143")
    assert (row["exit"], row["signal"]) == (143, None)


def test_an_end_that_is_later_than_that_of_the_streams(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "sh", "-c", "exec >&- 2>&-; sleep 0.5; exit 5")
    assert (row["exit"], row["limit"]) == (5, None)
    assert row["wall_ms"] >= 500


def test_a_program_that_is_not_there(sandbox: Sandbox, repo: Path) -> None:
    assert sandbox.json(repo, "--", "no-such-program")["exit"] == 127


def test_a_file_that_cannot_be_run(sandbox: Sandbox, repo: Path) -> None:
    assert sandbox.json(repo, "--", "./README")["exit"] == 126


def test_streams_pass(sandbox: Sandbox, repo: Path) -> None:
    result = sandbox.run(repo, "--", "sh", "-c", "echo out; echo err >&2")
    assert (result.out, result.err) == ("out\n", "err\n")
    row = sandbox.json(repo, "--", "sh", "-c", "echo out; echo err >&2")
    assert (row["stdout"], row["stderr"]) == ("out\n", "err\n")
    assert (row["stdout_bytes"], row["stderr_bytes"]) == (4, 4)


def test_bytes_that_are_no_text(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "cat", "pkg/data.bin")
    assert list(row["stdout"]) == ["base64"] and row["stdout_bytes"] == 256


def test_standard_input(sandbox: Sandbox, repo: Path) -> None:
    data = b"some\0bytes\n" * 1000
    assert sandbox.run(repo, "--", "wc", "-c", stdin=data).out.strip() == str(len(data))
    assert sandbox.run(repo, "--", "cat").check(0).out == ""


def test_input_has_a_ceiling_in_a_container(sandbox: Sandbox, repo: Path) -> None:
    data = bytes((64 << 20) + 1)
    result = sandbox.run(repo, "--", "wc", "-c", stdin=data)
    if sandbox.is_engine:
        result.one_line(125, "standard input", str(64 << 20))
    else:
        assert result.check(0).out.strip() == str(len(data))


def test_input_without_an_end(sandbox: Sandbox, repo: Path) -> None:
    reader, writer = os.pipe()
    try:
        result = sandbox.run(repo, "--timeout", "1", "--", "true", stdin=reader)
    finally:
        os.close(reader)
        os.close(writer)
    if sandbox.is_engine:  # takes all of it first
        result.one_line(125, "standard input", "must end before a container begins")
    else:
        result.check(0)


def test_signals_are_as_at_any_start(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    assert row["stdout"] == f"SigBlk:\t{0:016x}\nSigIgn:\t{0:016x}\n"


def test_arguments_are_not_read_by_a_shell(sandbox: Sandbox, repo: Path) -> None:
    words = ["a b", "$HOME", "`id`", "'", '"', "*", "", "--", "x\ny"]
    script = "import sys; print(sys.argv[1:])"
    assert sandbox.json(repo, "--", "python3", "-c", script, *words)["stdout"] == f"{words}\n"


# ---- The copy --------------------------------------------------------------------------------------


def test_the_tree_is_there(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "sh", "-c", "cat README; ./run.sh; cat 'name with\nnewline.txt'; cat pkg/__init__.py")
    assert row["stdout"] == "hello\nrun\nodd\nVALUE = 1\n"


def test_it_lies_at_its_own_path(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why="the copy lies in a temporary folder")
    assert sandbox.json(repo, "--", "pwd")["stdout"].strip() == (sandbox.dir or str(repo))


def test_there_is_no_history(sandbox: Sandbox, repo: Path) -> None:
    assert sandbox.json(repo, "--", "ls", ".git")["exit"] != 0


def test_it_can_be_written_to_and_is_fresh_each_time(sandbox: Sandbox, repo: Path) -> None:
    change = "echo new >> README; rm run.sh; mkdir d; echo x > d/f; mv pkg/__init__.py moved.py; cat README moved.py d/f"
    assert sandbox.json(repo, "--", "sh", "-ec", change)["stdout"] == "hello\nnew\nVALUE = 1\nx\n"
    assert sandbox.json(repo, "--", "sh", "-ec", change)["stdout"] == "hello\nnew\nVALUE = 1\nx\n"


def test_a_patch_is_applied(sandbox: Sandbox, repo: Path, tmp_path: Path) -> None:
    patch = tmp_path / "p.diff"
    patch.write_text(
        "diff --git a/pkg/__init__.py b/pkg/__init__.py\n--- a/pkg/__init__.py\n+++ b/pkg/__init__.py\n"
        "@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"
        "diff --git a/README b/README\ndeleted file mode 100644\n--- a/README\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n"
        "diff --git a/deep/er/new.py b/deep/er/new.py\nnew file mode 100755\n--- /dev/null\n+++ b/deep/er/new.py\n"
        "@@ -0,0 +1 @@\n+print('new')\n"
    )
    patch.chmod(0o644)
    script = "cat pkg/__init__.py; ls README; python3 deep/er/new.py; ls -l deep/er/new.py"
    row = sandbox.json(repo, "--patch", str(patch), "--", "sh", "-c", script)
    assert row["stdout"].startswith("VALUE = 2\nnew\n-rwx"), row


def test_code_compiled_by_a_set_up_is_not_taken_for_that_of_a_patch(
    sandbox: Sandbox, repo: Path, tmp_path: Path
) -> None:
    patch = tmp_path / "p.diff"  # of the same size, and laid in the same second as the tree
    names = "diff --git a/pkg/__init__.py b/pkg/__init__.py\n--- a/pkg/__init__.py\n+++ b/pkg/__init__.py\n"
    patch.write_text(f"{names}@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n")
    patch.chmod(0o644)
    setup = ["--setup", "python3 -c 'import pkg' && ls pkg/__pycache__/*.pyc"]
    script = "import pkg, os; print(pkg.VALUE, len(os.listdir('pkg/__pycache__')))"
    row = sandbox.json(repo, *setup, "--patch", str(patch), "--", "python3", "-c", script)
    assert row["stdout"] == "2 1\n", row


def test_links_of_the_tree_lead_nowhere_outside(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    secret = repo.parent / "secret.txt"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    script = f"ln -s {secret} l; cat l; cat ../secret.txt; cat {secret}; true"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert SECRET not in row["stdout"]


def test_links_in_the_tree_lead_nowhere_outside(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    secret = repo.parent / "secret.txt"
    secret.write_text(SECRET)
    secret.chmod(0o666)
    links = {"abs": str(secret), "up": "..", "top": "../../../../../../../..", "loop": "loop", "in": "pkg"}
    for name, target in links.items():
        (repo / name).symlink_to(target)
    script = (
        f"cat abs up/secret.txt top{secret} loop; echo x >> abs; echo x > up/written; echo x > top{repo}/written; "
        "cat in/__init__.py; for l in abs up top loop in; do readlink $l; done"
    )
    untouched()
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert row["stdout"] == "VALUE = 1\n" + "".join(f"{target}\n" for target in links.values())
    assert secret.read_text() == SECRET and not (repo.parent / "written").exists()


@pytest.mark.parametrize("path", ["up/new.txt", "../new.txt", "pkg/../../new.txt", ".git/hooks/pre-commit"])
def test_a_patch_stays_in_the_tree(
    sandbox: Sandbox, repo: Path, untouched: Callable[[], None], tmp_path: Path, path: str
) -> None:
    (repo / "up").symlink_to("..")
    untouched()
    patch = tmp_path / "p.diff"
    patch.write_text(f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")
    patch.chmod(0o644)
    sandbox.run(repo, "--patch", str(patch), "--", "true").check(2)
    assert not (repo.parent / "new.txt").exists()


def test_odd_names_arrive(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    names = [b"-n", b"a\nb", b" ", b"\\", b"$(id)", b"'\"", "\u00e9\u2028".encode(), b"lat\xe9", b"l" * 200, b"d\n/deep/er"]
    for name in names:
        path = os.path.join(os.fsencode(repo), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(name)
    untouched()
    script = f"for name in {names!r}: print(open(name, 'rb').read() == name)"
    row = sandbox.json(repo, "--", "python3", "-c", script)
    assert row["stdout"] == "True\n" * len(names), row


def test_changes_that_are_not_committed_arrive(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    (repo / "README").write_text("changed\n")
    (repo / "pkg" / "__init__.py").unlink()
    (repo / "pkg" / "data.bin").unlink()
    (repo / "pkg").rmdir()
    (repo / "pkg").write_text("a file now\n")
    (repo / "name with\nnewline.txt").unlink()
    (repo / "name with\nnewline.txt").mkdir()
    (repo / "name with\nnewline.txt" / "below").write_text("a folder now\n")
    untouched()
    row = sandbox.json(repo, "--", "sh", "-c", "cat README pkg name*/below")
    assert row["stdout"] == "changed\na file now\na folder now\n", row


def test_a_hundred_megabytes_of_files(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    for k in range(100):
        (repo / f"mb{k}").write_bytes(os.urandom(1 << 20))
    untouched()
    script = (
        "import os\nfor i in range(100):\n  data = open(f'mb{i}','rb').read()\n  open(f'f{i}','wb').write(data[::-1])\n"
        "print(sum(os.path.getsize(f'f{i}') for i in range(100)))"
    )
    row = sandbox.json(repo, "--", "python3", "-c", script)
    assert row["stdout"] == f"{100 << 20}\n"


# ---- Limits ----------------------------------------------------------------------------------------


def test_a_flood_is_ended(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--output-limit", "10000", "--", "yes", "flood-of-the-tests")
    assert (row["limit"], row["signal"]) == ("output", 9)
    assert len(row["stdout"]) < 11000 and "bytes left out" in row["stdout"]
    _gone("flood-of-the-tests")


def test_long_output_loses_its_middle(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--output-limit", "1000", "--", "seq", "1", "2000")
    assert (row["exit"], row["limit"], row["stdout_bytes"]) == (0, "output", 8893)
    assert row["stdout"].startswith("1\n2\n") and row["stdout"].endswith("\n1999\n2000\n")
    assert "7893 bytes left out" in row["stdout"]


def test_both_streams_are_read(sandbox: Sandbox, repo: Path) -> None:
    script = "import sys\nfor i in range(20000): print('o'*50); print('e'*50, file=sys.stderr)"
    row = sandbox.json(repo, "--output-limit", "2000000", "--", "python3", "-c", script)
    assert (row["exit"], row["stdout_bytes"], row["stderr_bytes"]) == (0, 1020000, 1020000)


def test_time_runs_out(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--timeout", "1", "--", "sleep", "61.25")
    assert (row["limit"], row["exit"], row["signal"]) == ("wall", None, 9)
    assert 900 <= row["wall_ms"] < 10000 * SLOWNESS
    sandbox.run(repo, "--timeout", "0.5", "--", "sleep", "61.25").check(124)
    _gone("61.25")


def test_everything_it_started_is_ended_with_it(sandbox: Sandbox, repo: Path) -> None:
    script = "setsid sleep 62.25 & (setsid sh -c 'trap \"\" TERM HUP; sleep 62.25; sleep 62.25' &) ; (sleep 62.25 &) ; exit 3"
    assert sandbox.json(repo, "--", "sh", "-c", script)["exit"] == 3
    _gone("62.25")
    row = sandbox.json(repo, "--timeout", "1", "--", "sh", "-c", script.replace("exit 3", "sleep 62.25"))
    assert row["limit"] == "wall"
    _gone("62.25")


def test_processor_time_runs_out(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--timeout", "2", "--", "python3", "-c", "while True: pass")
    assert row["limit"] in ("cpu", "wall")


def test_a_fork_bomb_is_bounded(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why="root's processes are not counted, and another user's all are")
    script = (
        "import os, time\nn = 0\ntry:\n  while n < len(range(5000)):\n    n += 1\n    if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "except OSError as error: print('stopped', n, flush=True)\ntime.sleep(0.3)"
    )
    row = sandbox.json(repo, "--processes", "40", "--timeout", "20", "--", "python3", "-c", script)
    assert row["stdout"].startswith("stopped"), row
    assert int(row["stdout"].split()[1]) <= 41
    assert row["limit"] == "processes"
    _gone("range(5000)")


def test_memory_is_bounded(sandbox: Sandbox, repo: Path) -> None:
    script = "x = bytearray(600 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nimport time; time.sleep(3)\nprint('had it')"
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", script)
    assert row["limit"] == "memory" and "had it" not in row["stdout"], row


def test_memory_is_that_of_all_processes(sandbox: Sandbox, repo: Path) -> None:
    script = (
        "import os, time\nfor k in range(4):\n  if os.fork() == 0:\n    x = b'1' * (100 << 20); time.sleep(4); os._exit(0)\n"
        "time.sleep(3); print('had it')"
    )
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", script)
    assert row["limit"] == "memory", row


def test_peak_memory_is_told(sandbox: Sandbox, repo: Path) -> None:
    script = "import time; x = b'1' * (150 << 20); time.sleep(0.5)"
    row = sandbox.json(repo, "--", "python3", "-c", script)
    assert row["limit"] is None and 150 <= row["peak_mb"] < 300, row


def test_memory_that_is_only_asked_for_is_not_counted(sandbox: Sandbox, repo: Path) -> None:
    script = "import mmap; m = mmap.mmap(-1, 3 << 30); print(len(m))"
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", script)
    assert (row["exit"], row["limit"]) == (0, None), row


def test_a_file_is_bounded(sandbox: Sandbox, repo: Path) -> None:
    script = "dd if=/dev/zero of=big bs=1048576 count=1500 2>/dev/null; echo $?"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert row["stdout"].strip() != "0"


def test_files_are_bounded_together(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", "podman", "dockerd", why="the disk is bounded for each file only")
    script = "for d in . ~ /tmp /dev/shm; do dd if=/dev/zero of=$d/f bs=1048576 count=300 || exit 9; done"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert (row["exit"], row["limit"]) == (9, "files"), row


# ---- What it may not see or do ---------------------------------------------------------------------


def test_no_network(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    script = (
        "import socket\nfor host in ('10.0.0.1', '192.0.2.1'):\n  s = socket.socket(); s.settimeout(2)\n"
        "  try: s.connect((host, 80)); print('connected')\n  except OSError as e: print('refused')"
    )
    assert sandbox.json(repo, "--", "python3", "-c", script)["stdout"] == "refused\nrefused\n"


def test_the_network_when_it_is_asked_for(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "podman", "dockerd", why="the engine's bridge would stay on this machine")
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"import socket; print(socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5) and 0)"
        assert sandbox.json(repo, "--network", "--", "python3", "-c", script)["stdout"] == "0\n"


def test_no_server_of_this_machine(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket; s = socket.socket(); s.settimeout(2); print(s.connect_ex(('127.0.0.1', {port})))"
        assert sandbox.json(repo, "--", "python3", "-c", script)["stdout"] != "0\n"


def test_no_environment_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "sh", "-c", "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; true")
    if sandbox.name != "plain":
        assert SECRET not in row["stdout"]
    own = sandbox.json(repo, "--", "env")["stdout"]
    assert SECRET not in own and "OPENAI_API_KEY" not in own


def test_proc_shows_nothing_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    home = sandbox.host.home
    (home / "secret.txt").write_text(SECRET)
    (home / "secret.txt").chmod(0o644)
    script = (
        "cat /proc/1/environ /proc/1/cmdline /proc/*/environ; for p in /proc/[0-9]*/root; do cat $p" + f"{home}/secret.txt; "
        "ls $p/root/.ssh; done; cat /proc/kcore | head -c 9; echo x > /proc/sys/kernel/core_pattern && echo WRITTEN; "
        "echo x > /proc/sysrq-trigger && echo WRITTEN; ls /proc/1/cwd/ /proc/1/fd/; true"
    )
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert SECRET not in row["stdout"] and "WRITTEN" not in row["stdout"]
    assert Path("/proc/sys/kernel/core_pattern").read_text() == pattern


def test_no_home_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    home = sandbox.host.home
    (home / "secret.txt").write_text(SECRET)
    script = f"ls {home} /root/.ssh; cat {home}/secret.txt; cat /etc/shadow; echo $HOME; true"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert SECRET not in row["stdout"] and str(home) not in row["stdout"]
    assert "root:" not in row["stdout"]


def test_its_own_home_can_be_written_to(sandbox: Sandbox, repo: Path) -> None:
    assert sandbox.json(repo, "--", "sh", "-c", "cd ~ && echo x > f && cat f")["stdout"] == "x\n"


def test_no_process_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    script = "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))"
    assert int(sandbox.json(repo, "--", "python3", "-c", script)["stdout"]) < 10


def test_no_descriptor_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    script = "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:5])"
    reader, writer = os.pipe()
    result = sandbox.run(repo, "--", "python3", "-c", script, pass_fds=(reader, writer))
    os.close(reader)
    os.close(writer)
    assert result.check(0).out == "[0, 1, 2, 3]\n"  # 3 is the folder that is being listed


def test_nothing_is_written_outside(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    outside = repo.parent / "written-by-a-test"
    script = f"echo x > {outside}; echo x > ../written-by-a-test; echo x > /usr/written-by-a-test; echo x > /etc/x; true"
    sandbox.json(repo, "--", "sh", "-c", script)
    assert not outside.exists() and not Path("/usr/written-by-a-test").exists()


def test_no_rights_can_be_won(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    script = "grep -E '^(NoNewPrivs|CapEff)' /proc/self/status; echo 1 > /proc/sys/kernel/hostname; mount -t tmpfs x /tmp; true"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert "NoNewPrivs:\t1" in row["stdout"]
    assert int(row["stdout"].split("CapEff:")[1].split()[0], 16) & (1 << 21) == 0  # CAP_SYS_ADMIN


def test_other_runs_are_not_seen(sandbox: Sandbox, repo: Path) -> None:
    _limit_of(sandbox, "plain", why=PLAIN)
    sandbox.json(repo, "--", "sh", "-c", "echo left > /tmp/left; echo left > ~/left; echo left > left")
    row = sandbox.json(repo, "--", "sh", "-c", "ls /tmp/left ~/left left 2>/dev/null; true")
    assert row["stdout"] == ""


# ---- The program itself ----------------------------------------------------------------------------


def test_an_interrupt_ends_it(sandbox: Sandbox, repo: Path) -> None:
    process = sandbox.host.start(
        "exec", "--repo", str(repo), *sandbox.options, "--", "sleep", "63.25", env=sandbox.env, wrapper=sandbox.wrapper
    )
    _wait_for("63.25")
    process.send_signal(2)
    assert process.wait(20 * SLOWNESS) == 130
    _gone("63.25")


def test_a_kill_of_the_program_ends_it(sandbox: Sandbox, repo: Path) -> None:
    process = sandbox.host.start(
        "exec", "--repo", str(repo), *sandbox.options, "--", "sleep", "64.25", env=sandbox.env, wrapper=sandbox.wrapper
    )
    _wait_for("64.25")
    process.kill()
    process.wait(20 * SLOWNESS)
    sandbox.json(repo, "--", "true")  # sweeps what an engine still runs
    _gone("64.25")


def test_a_kill_at_any_moment_ends_it(sandbox: Sandbox, repo: Path) -> None:
    for k in range(12):
        process = sandbox.host.start(
            "exec", "--repo", str(repo), *sandbox.options, "--", "sleep", "66.25", env=sandbox.env, wrapper=sandbox.wrapper
        )
        time.sleep((0.02 + 0.008 * k) * SLOWNESS * (8 if sandbox.is_engine else 1))
        process.kill()
        process.wait(20 * SLOWNESS)
    sandbox.json(repo, "--", "true")
    _gone("66.25")


def test_eight_at_once(sandbox: Sandbox, repo: Path) -> None:
    runs = [
        sandbox.host.start(
            "exec", "--repo", str(repo), *sandbox.options, "--json", "--", "sh", "-c", f"echo {k} > f; sleep 0.3; cat f",
            env=sandbox.env, wrapper=sandbox.wrapper, stdout=subprocess.PIPE,
        )  # fmt: skip
        for k in range(8)
    ]
    for k, process in enumerate(runs):
        out, _ = process.communicate(timeout=120 * SLOWNESS)
        assert process.returncode == 0 and f'"stdout":"{k}\\n"' in out.decode()


# ---- Engines ---------------------------------------------------------------------------------------


def _engine_only(sandbox: Sandbox) -> None:
    if not sandbox.is_engine:
        pytest.skip(f"{sandbox.name} has no engine")


def test_no_engine_is_one_line(sandbox: Sandbox, repo: Path, tmp_path: Path) -> None:
    _engine_only(sandbox)
    sandbox.env["DOCKER_HOST"] = f"unix://{tmp_path}/nothing.sock"
    sandbox.run(repo, "--", "true").one_line(125, "container engine", "nothing.sock")
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "deaf.sock"))
        sandbox.env["DOCKER_HOST"] = f"unix://{tmp_path}/deaf.sock"
        sandbox.run(repo, "--", "true").one_line(125, "container engine", "deaf.sock")


def test_no_such_image_is_one_line(sandbox: Sandbox, repo: Path) -> None:
    _engine_only(sandbox)
    sandbox.options = ["--image", "acr-host-test/not-there"]
    sandbox.run(repo, "--", "true").one_line(125, "image", "acr-host-test/not-there")


def test_an_engine_that_goes_away(
    sandbox: Sandbox, repo: Path, image: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _engine_only(sandbox)
    engine = getattr(sandboxes, sandbox.name)(tmp_path_factory.mktemp(f"going-{sandbox.name}"))
    try:
        engine.load(image, sandboxes.IMAGE)
        sandbox.env["DOCKER_HOST"] = f"unix://{engine.socket}"
        process = sandbox.host.start("exec", "--repo", str(repo), *sandbox.options, "--", "sleep", "65.25", env=sandbox.env)
        _wait_for("65.25")
        engine.kill()
        _, err = process.communicate(timeout=60 * SLOWNESS)
        assert process.returncode == 125 and err.count(b"\n") == 1 and b"container engine" in err, err
        engine.start()
        sandbox.json(repo, "--", "true")  # sweeps what was left
        assert engine.containers() == []
        _gone("65.25")
    finally:
        engine.stop()


def test_an_engine_without_an_init(
    sandbox: Sandbox, repo: Path, image: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if sandbox.name != "podman":
        pytest.skip("it is podman's configuration that can lack one")
    engine = sandboxes.podman(tmp_path_factory.mktemp("initless"), 'init_path = "/nonexistent"')
    try:
        engine.load(image, sandboxes.IMAGE)
        sandbox.env["DOCKER_HOST"] = f"unix://{engine.socket}"
        assert sandbox.run(repo, "--", "cat", "README").check(0).out == "hello\n"
        assert engine.containers() == []
    finally:
        engine.stop()
