"""Hostile commands, set-ups, trees and engines, and kills at the worst moment.

Each attack succeeded once, or would succeed if a single line were missing.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import repos
import sandboxes
from host import SLOWNESS, Host, Result
from lying_engine import LyingEngine
from sandboxes import Sandbox

TREE: dict[str, str | bytes] = {"README": "hello\n", "pkg/__init__.py": "VALUE = 1\n", "sub/a": "a\n"}
ENOSYS = 38
KEYCTL = {"x86_64": 250, "aarch64": 219}
MEMORY_KB = 256 * 1024  # memory of the program, however much output it gets


@pytest.fixture
def tmp_path(open_path: Path) -> Path:
    """A folder that the users of sandboxes may enter."""
    return open_path


def _open(name: str, folder: Path, binary: Path) -> tuple[Sandbox, Path]:
    made = sandboxes.local(name, folder, binary)
    repo = repos.make_repo(folder / "repo", TREE).path
    if made.wrapper:
        sandboxes.give(folder, sandboxes.ORDINARY_USER)
    return made, repo


@pytest.fixture(params=["bubblewrap", "bubblewrap-user"])
def wrapped(request: pytest.FixtureRequest, tmp_path: Path, binary: Path) -> Iterator[tuple[Sandbox, Path]]:
    """The isolating sandbox, as root and as an ordinary user, and a repository."""
    made, repo = _open(request.param, tmp_path, binary)
    yield made, repo
    made.host.close()


def _store(sandbox: Sandbox) -> Path:
    return sandbox.host.home / "cache" / "acr-host" / "sandbox"


# ---- Commands --------------------------------------------------------------------------------------


def test_no_file_lies_where_nothing_bounds_it(wrapped: tuple[Sandbox, Path]) -> None:
    sandbox, repo = wrapped
    script = """
import os
bounded = {os.stat(p).st_dev for p in ("/tmp", "/dev/shm", os.environ["HOME"], ".", ".git")}
for top, folders, names in os.walk("/"):
    if top == "/proc":
        folders.clear()
    if os.stat(top).st_dev in bounded or top.startswith(("/proc", "/usr")):
        continue
    try:
        open(top + "/new", "w").close()
        print("written:", top)
    except OSError:
        pass
"""
    row = sandbox.json(repo, "--", "/usr/bin/python3", "-c", script)
    assert (row["stdout"], row["exit"]) == ("", 0), row


def test_keys_of_the_host_are_out_of_reach(wrapped: tuple[Sandbox, Path]) -> None:
    sandbox, repo = wrapped
    number = KEYCTL.get(os.uname().machine)
    if number is None:
        pytest.skip("the number of the call is not known on this machine")
    script = (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); "
        f"print(c.syscall({number}, 0, -4, 0), ctypes.get_errno())"  # the number of the user's keyring is known
    )
    row = sandbox.json(repo, "--", "/usr/bin/python3", "-c", script)
    assert row["stdout"] == f"-1 {ENOSYS}\n", row


def test_when_memory_is_short_it_goes_first(wrapped: tuple[Sandbox, Path]) -> None:
    sandbox, repo = wrapped
    assert sandbox.json(repo, "--", "cat", "/proc/self/oom_score_adj")["stdout"] == "1000\n"


def test_a_file_as_input_cannot_be_written_to(wrapped: tuple[Sandbox, Path], tmp_path: Path) -> None:
    sandbox, repo = wrapped
    given = tmp_path / "given"
    given.write_text("one\ntwo\n")
    shutil.chown(given, sandboxes.ORDINARY_USER if sandbox.wrapper else os.geteuid())
    script = "cat; echo changed >/proc/self/fd/0; echo changed >>/proc/1/fd/0"
    with given.open("rb") as stdin:
        os.lseek(stdin.fileno(), 4, os.SEEK_SET)
        command = ["exec", "--repo", str(repo), "--", "sh", "-c", script]
        result = sandbox.host.run(*command, wrapper=sandbox.wrapper, stdin=stdin)
    assert result.stdout.startswith(b"two\n"), result.told()
    assert given.read_text() == "one\ntwo\n"


def test_a_folder_is_no_input(wrapped: tuple[Sandbox, Path]) -> None:
    sandbox, repo = wrapped
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        command = ["exec", "--repo", str(repo), "--", "ls", "/proc/self/fd/0/"]
        sandbox.host.run(*command, wrapper=sandbox.wrapper, stdin=folder).one_line(125, "standard input")
    finally:
        os.close(folder)


# ---- Reused copies ---------------------------------------------------------------------------------


@pytest.fixture
def plain(tmp_path: Path, binary: Path) -> Iterator[tuple[Sandbox, Path]]:
    """The sandbox without isolation, and a repository; mounts below it are unmounted at the end."""
    made, repo = _open("plain", tmp_path, binary)
    yield made, repo
    made.host.close()
    for point in reversed(sandboxes.mount_points()):
        if point.startswith(f"{tmp_path}/"):
            subprocess.run(["umount", point], check=True)


def _is_whole(sandbox: Sandbox, repo: Path) -> bool:
    """Whether an execution finds exactly the tree and its commit."""
    script = "git status --porcelain || echo failed; find . -path ./.git -prune -o -print | sort && cat $(find . -path ./.git -prune -o -type f -print | sort)"
    row = sandbox.json(repo, "--", "/bin/sh", "-c", script)
    names = {".", *TREE, *(str(Path(name).parent) for name in TREE)} - {""}
    shown = sorted("." if name == "." else f"./{name}" for name in names)
    return row["stdout"] == "".join(f"{name}\n" for name in shown) + "".join(map(str, TREE.values()))


@pytest.mark.parametrize("where", ["mnt", "pkg"])
def test_what_is_mounted_in_a_copy_is_left_alone(where: str, plain: tuple[Sandbox, Path], tmp_path: Path) -> None:
    sandbox, repo = plain
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub" / "a").write_text("mine")
    mount = f"mkdir -p {where} && mount --bind {outside} {where}"
    row = sandbox.json(repo, "--", "/bin/sh", "-c", mount)
    if row["exit"] != 0:
        pytest.skip(f"nothing can be mounted here: {row['stderr']}")
    assert [path.name for path in sorted(outside.rglob("*"))] == ["sub", "a"]
    assert _is_whole(sandbox, repo)
    assert (outside / "sub" / "a").read_text() == "mine"


def test_a_link_in_the_place_of_a_copy_is_not_followed(plain: tuple[Sandbox, Path], tmp_path: Path) -> None:
    sandbox, repo = plain
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    link = f"d=$(dirname $PWD) && mv $d {tmp_path}/moved && ln -s {outside} $d"
    for _ in range(2):
        assert sandbox.json(repo, "--", "/bin/sh", "-c", link)["exit"] == 0
        shutil.rmtree(tmp_path / "moved")
        assert _is_whole(sandbox, repo)
        assert [path.read_text() for path in outside.iterdir()] == ["mine"]


def test_a_copy_that_cannot_be_removed_stops_nobody(plain: tuple[Sandbox, Path]) -> None:
    sandbox, repo = plain
    try:
        row = sandbox.json(repo, "--", "/bin/sh", "-c", "touch new && chattr +i new")
        if row["exit"] != 0:
            pytest.skip(f"no file can be made to stay here: {row['stderr']}")
        assert _is_whole(sandbox, repo)
    finally:
        for stays in _store(sandbox).rglob("new"):
            subprocess.run(["chattr", "-i", str(stays)], check=True)
    assert _is_whole(sandbox, repo)
    assert not [path for path in _store(sandbox).iterdir() if path.name.startswith("tmp-")]


def test_a_shut_folder_in_the_place_of_a_copy_is_removed(tmp_path: Path, binary: Path) -> None:
    sandbox, repo = _open("bubblewrap-user", tmp_path, binary)
    sandbox.options = ["--sandbox", "plain", "--setup", "true"]
    assert _is_whole(sandbox, repo)
    [layer] = _store(sandbox).glob("layer-*-copy-*/")
    place = layer.with_name(f"tmp-{layer.name}")
    place.mkdir(mode=0)  # a state that a command, killed with the program, may leave
    os.chown(place, layer.stat().st_uid, layer.stat().st_gid)
    assert _is_whole(sandbox, repo)
    assert not place.exists()
    sandbox.host.close()


# ---- Ends at the worst moment ----------------------------------------------------------------------


def _running(marker: str) -> list[int]:
    """Processes with a marker in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                is_one = marker.encode() in (entry / "cmdline").read_bytes()
            except OSError:
                continue
            found += [int(entry.name)] if is_one else []
    return found


def test_a_kill_while_it_is_put_together_leaves_nothing(wrapped: tuple[Sandbox, Path]) -> None:
    sandbox, repo = wrapped
    sandbox.run(repo, "--", "true").check(0)
    marker = f"8{os.getpid():07d}"
    for i in range(20):
        command = ["exec", "--repo", str(repo), "--", "sleep", marker]
        child = sandbox.host.start(*command, wrapper=sandbox.wrapper)
        until = time.monotonic() + 60 * SLOWNESS
        while len(_running(marker)) < 2 and time.monotonic() < until:  # the program and bubblewrap
            pass
        time.sleep(i % 10 * 0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        until = time.monotonic() + 30 * SLOWNESS
        while (left := _running(marker)) and time.monotonic() < until:
            time.sleep(0.02)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, f"{len(left)} processes are left by kill {i}"


# ---- Set-ups ---------------------------------------------------------------------------------------

DEEP = """python3 -c '
import os
for i in range(300):
    os.mkdir("d"); os.chdir("d")
'"""
SETUPS = {
    "deep": DEEP,
    "closed": "mkdir -p a/b && touch a/b/c && chmod 0 a/b/c a/b a; exit 1",
    "closed home": "mkdir $HOME/z; chmod 0 $HOME",
    "special": "rm README; mkfifo README; rm -r sub; ln -s /etc sub; mkfifo pkg/f; touch $(printf %0255d 1)",
}


@pytest.mark.parametrize("backend", sandboxes.LOCAL)
@pytest.mark.parametrize("name", SETUPS)
def test_a_hostile_set_up_leaves_nothing_half_done(name: str, backend: str, tmp_path: Path, binary: Path) -> None:
    sandbox, repo = _open(backend, tmp_path, binary)
    before = repos.digest(repo)
    result = sandbox.run(repo, "--setup", SETUPS[name], "--", "true")
    assert result.exit in (0, 125), result.told()
    assert (result.exit == 125) == bool(result.err), result.told()
    assert list(_store(sandbox).glob("tmp-*")) == []
    sandbox.run(repo, "--", "cat", "README", "sub/a").check(0)  # the tree of other users is unchanged
    assert repos.digest(repo) == before


def test_what_runs_as_its_owner_is_closed_to_others(wrapped: tuple[Sandbox, Path]) -> None:
    sandbox, repo = wrapped
    setup = ["--setup", "cp /usr/bin/id mine && chmod 6755 mine"]
    sandbox.run(repo, *setup, "--", "true").check(0)
    assert stat.S_IMODE(_store(sandbox).stat().st_mode) == 0o700
    assert [p for p in _store(sandbox).rglob("mine")], "the set-up has made nothing"


def test_a_store_of_somebody_else_is_not_trusted(tmp_path: Path, binary: Path) -> None:
    sandbox, repo = _open("bubblewrap-user", tmp_path, binary)
    _store(sandbox).mkdir(parents=True)
    _store(sandbox).chmod(0o777)
    result = sandbox.run(repo, "--verbose", "--", "true").check(0)
    assert "belongs to another user" in result.err, result.told()
    assert list(_store(sandbox).iterdir()) == []


# ---- Engines ---------------------------------------------------------------------------------------


def _with_engine(mode: str, host: Host, folder: Path, timeout: float = 20) -> Result:
    repo = repos.make_repo(folder / "repo", TREE).path
    engine = LyingEngine(folder / "engine.sock", mode)
    env = {"DOCKER_HOST": f"unix://{folder}/engine.sock"}
    command = ["exec", "--repo", str(repo), "--image", "img", "--timeout", "2", "--json", "--", "true"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    try:
        result = host.run(*command, env=env, timeout=timeout)
    finally:
        engine.close()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak <= max(before, MEMORY_KB * SLOWNESS), f"{peak} KB"
    return result


@pytest.mark.parametrize(
    "mode", ["garbage", "close", "short", "elsewhere", "null", "list", "deep", "endless", "headers", "names"]
)
def test_an_engine_that_answers_wrongly_is_told_in_one_line(mode: str, host: Host, tmp_path: Path) -> None:
    _with_engine(mode, host, tmp_path).one_line(125, "engine")


@pytest.mark.parametrize("mode", ["start-hang", "start-empty", "start-flood"])
def test_a_stream_without_end_is_ended(mode: str, host: Host, tmp_path: Path) -> None:
    [row] = _with_engine(mode, host, tmp_path).check(0).rows()
    assert row["limit"] == ("output" if mode == "start-flood" else "wall"), row
    assert row["signal"] == signal.SIGKILL, row


def test_a_stream_in_no_known_format_is_told(host: Host, tmp_path: Path) -> None:
    _with_engine("start-unknown", host, tmp_path).one_line(125, "malformed output")


@pytest.mark.parametrize("mode", ["code-wrapped", "code-negative", "code-text", "code-none"])
def test_an_exit_code_that_is_none_is_no_success(mode: str, host: Host, tmp_path: Path) -> None:
    [row] = _with_engine(mode, host, tmp_path).check(0).rows()
    assert row["exit"] is None and row["signal"] == signal.SIGKILL, row


@pytest.mark.parametrize("processes, limit", [(255, None), (256, "processes")])
def test_a_container_that_can_take_no_command_is_full(
    processes: int, limit: str | None, host: Host, tmp_path: Path
) -> None:
    [row] = _with_engine(f"crowded-{processes}", host, tmp_path).check(0).rows()
    assert row["limit"] == limit, row


@pytest.mark.full
def test_an_engine_that_says_nothing_is_given_up(host: Host, tmp_path: Path) -> None:
    _with_engine("silent", host, tmp_path, timeout=40).one_line(125, "does not answer")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "unix://", "unix:///dev/null"])
def test_an_engine_that_is_named_is_not_replaced(address: str, host: Host, tmp_path: Path) -> None:
    repo = repos.make_repo(tmp_path / "repo", TREE).path
    runtime = tmp_path / "run"
    runtime.mkdir()
    engine = LyingEngine(runtime / "docker.sock", "in order")  # the place where one is searched for
    command = ["exec", "--repo", str(repo), "--image", "img", "--", "true"]
    env = {"DOCKER_HOST": address, "XDG_RUNTIME_DIR": str(runtime)}
    try:
        host.run(*command, env=env).one_line(125, "does not answer")
        assert engine.asked == []
        host.run(*command, env=env | {"DOCKER_HOST": None}).check(0)
        assert engine.asked
    finally:
        engine.close()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{}", "tcp://localhost:{}/", "http://127.0.0.1:{}", "tcp://:{}"])
def test_an_engine_on_a_port_of_this_machine_is_used(address: str, host: Host, tmp_path: Path) -> None:
    repo = repos.make_repo(tmp_path / "repo", TREE).path
    engine = LyingEngine(None, "in order")
    try:
        env = {"DOCKER_HOST": address.format(engine.port)}
        host.run("exec", "--repo", str(repo), "--image", "img", "--", "true", env=env).check(0)
    finally:
        engine.close()


@pytest.mark.parametrize(
    "env",
    [
        *({"DOCKER_HOST": host} for host in ("ssh://nowhere", "tcp://192.0.2.1:2375", "https://127.0.0.1:1", "fd://")),
        {"DOCKER_HOST": "tcp://127.0.0.1:1", "DOCKER_TLS_VERIFY": "1"},
    ],
)
def test_an_engine_that_cannot_be_used_is_told(env: dict[str, str], host: Host, tmp_path: Path) -> None:
    repo = repos.make_repo(tmp_path / "repo", TREE).path
    result = host.run("exec", "--repo", str(repo), "--image", "img", "--", "true", env=env)
    result.one_line(125, "cannot use the container engine", env["DOCKER_HOST"], "ssh -nNT")
