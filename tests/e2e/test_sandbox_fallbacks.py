"""Machines and commands that cannot run code: `exec` says why in one line; `run` still writes its patch, and says in
one line why the patch is not proved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import hostile
import pytest
import runs
import sandboxes
from fewer import usually
from host import ROOT, Host, Result
from repos import Repo
from verifying import need_bubblewrap, sandbox_options

REFUSED = (
    "bwrap: No permissions to create a new namespace, likely because the kernel does not allow "
    "non-privileged user namespaces."
)
NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere/engine.sock"}


@dataclass
class Case:
    """A reason why code cannot run, and words of the line about it."""

    words: list[str]
    options: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    wrapper: list[str] = field(default_factory=list)
    usage: bool = False


# ---- Cases -----------------------------------------------------------------------------------------


def no_bubblewrap(folder: Path) -> Case:
    """A PATH without bubblewrap."""
    for name in ("sh", "git"):
        program = shutil.which(name)
        assert program
        (folder / name).symlink_to(program)
    return Case(["bubblewrap is not installed"], env={"PATH": str(folder)})


def bubblewrap_refused(folder: Path) -> Case:
    """A bubblewrap that fails like the real one if the kernel refuses."""
    need_bubblewrap()
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{REFUSED}' >&2\nexit 1\n")
    program.chmod(0o755)
    return Case([REFUSED], env={"PATH": f"{folder}:{os.environ['PATH']}"})


def bubblewrap_that_is_none(folder: Path) -> Case:
    """A program of that name that does something else and prints nothing."""
    need_bubblewrap()
    (folder / "bwrap").symlink_to("/bin/true")
    return Case(["ended unexpectedly: the process printed nothing"], env={"PATH": f"{folder}:{os.environ['PATH']}"})


def namespaces_refused(folder: Path) -> Case:
    """The kernel's limit on user namespaces is reached."""
    inner = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
    wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", inner, "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no user namespace can be made here")
    need_bubblewrap()
    return Case(["user.max_user_namespaces is 0; run 'sysctl -w user.max_user_namespaces="], wrapper=wrapper)


def _refused(how: str, *words: str, wrapper: tuple[str, ...] = ()) -> Case:
    need_bubblewrap()
    command = [*wrapper, sys.executable, str(ROOT / "tests" / "e2e" / "refusing.py"), how]
    if os.geteuid() != 0 or subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("not root, or this kernel cannot be told to refuse")
    remedies = ["or use --image NAME", "--sandbox plain, which isolates nothing"]
    return Case(["user namespaces are refused here: ", *words, *remedies], wrapper=command)


def namespaces_refused_by_a_filter(folder: Path) -> Case:
    """As in many containers."""
    return _refused("calls", "a system call filter forbids them", "--security-opt seccomp=unconfined")


def map_of_users_refused(folder: Path) -> Case:
    """A namespace without rights: writing to its map fails with EPERM."""
    return _refused("map")


def namespaces_refused_by_a_module(folder: Path) -> Case:
    """As by AppArmor: the namespace is created, but has no rights; for root without rights, creating it fails."""
    return _refused("module", wrapper=("setpriv", "--bounding-set=-sys_admin"))


def in_a_chroot(folder: Path) -> Case:
    """This machine's folders below a root that is no mount."""
    inner = (
        'root=$1; shift; mkdir -p "$root"; for at in /*; do to="$root$at"; if [ -L "$at" ]; then cp -Pf "$at" "$to"; '
        'elif [ -d "$at" ]; then mkdir -p "$to" && mount --rbind "$at" "$to"; fi || exit 9; done; exec chroot "$root" "$@"'
    )
    wrapper = ["unshare", "--mount", "--propagation", "private", "sh", "-c", inner, "sh", str(folder / "root")]
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no chroot can be made here")
    need_bubblewrap()
    return Case(["bubblewrap cannot work in a chroot"], wrapper=wrapper)


def user_cannot_be_changed(folder: Path) -> Case:
    """Root that cannot become another user: the command must not run as root."""
    wrapper = ["setpriv", "--bounding-set=-setuid"]
    if os.geteuid() != 0 or subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("not root, or capabilities cannot be dropped here")
    need_bubblewrap()
    return Case(["cannot become another user"], wrapper=wrapper)


def no_engine(folder: Path) -> Case:
    """An image is given, but no engine listens."""
    return Case(["the container engine at '/nowhere/engine.sock' does not answer"], ["--image", "x"], NO_ENGINE)


def no_engine_named(folder: Path) -> Case:
    """An image is given, but no engine listens at the usual places either."""
    for path in ("/var/run/docker.sock", "/run/podman/podman.sock"):
        if os.path.exists(path):
            pytest.skip(f"an engine may listen at {path}")
    return Case(["there is no container engine", "DOCKER_HOST"], ["--image", "x"])


def no_python(folder: Path) -> Case:
    """The given Python does not exist."""
    return Case(["the Python '/nowhere/python' does not exist"], ["--python", "/nowhere/python"])


def setup_fails(folder: Path) -> Case:
    """The project cannot be made importable."""
    need_bubblewrap()
    return Case(["the set-up 'seq 3; exit 4' exited with 4: 3"], ["--setup", "seq 3; exit 4"])


def image_is_missing(folder: Path) -> Case:
    """`container` without an image."""
    return Case(["needs --image NAME"], ["--sandbox", "container"], usage=True)


def sandbox_is_unknown(folder: Path) -> Case:
    """There is no backend of that name."""
    return Case(["there is no sandbox 'magic'", "bubblewrap, container, plain"], ["--sandbox", "magic"], usage=True)


def image_elsewhere(folder: Path) -> Case:
    """An image for a backend that uses none."""
    return Case(["--image", "not plain"], ["--sandbox", "plain", "--image", "x"], usage=True)


CASES: list[Callable[[Path], Case]] = [
    no_bubblewrap, bubblewrap_refused, bubblewrap_that_is_none, namespaces_refused, namespaces_refused_by_a_filter,
    map_of_users_refused, namespaces_refused_by_a_module, in_a_chroot,
    user_cannot_be_changed, no_engine, no_engine_named, no_python, setup_fails, image_is_missing, sandbox_is_unknown, image_elsewhere,
]  # fmt: skip
RUNNABLE = [make for make in CASES if not make.__name__.startswith(("image_", "sandbox_", "no_python"))]


@pytest.fixture
def tmp_path(open_path: Path) -> Path:
    """A folder that the users of sandboxes may enter."""
    return open_path


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    """The case of the test's parameter."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return request.param(folder)


def each(cases: list[Any]) -> pytest.MarkDecorator:
    """Run the test once for each case."""
    return pytest.mark.parametrize("case", cases, indirect=True, ids=lambda make: make.__name__)


# A run tells the reason that `exec` tells, which is tested for each case: of bubblewrap, of an engine, with several lines.
# A run in an image that the user named does not begin without an engine.
IN_A_RUN = [make for make in RUNNABLE if not make.__name__.startswith("no_engine")]
in_a_run = each(usually([no_bubblewrap, setup_fails], IN_A_RUN, lambda make: make.__name__))


# ---- Messages --------------------------------------------------------------------------------------


def check_line(line: str, case: Case) -> None:
    """One line that contains the words of the case, and no control character."""
    assert line.isprintable(), repr(line)
    for word in case.words:
        assert word in line, line


def sample_run(host: Host, repo: Repo, out: Path, case: Case, verify: str = "auto") -> Result:
    """A run of the sample with the options of a case."""
    arguments = runs.arguments(repo, out, *case.options, verify=verify)
    return host.run(*arguments, env=case.env, wrapper=case.wrapper)


@each(CASES)
def test_exec_says_why_in_one_line(case: Case, host: Host, sample_repo: Repo) -> None:
    command = ["exec", "--repo", sample_repo, *case.options, "--", "true"]
    result = host.run(*command, env=case.env, wrapper=case.wrapper).check(2 if case.usage else 125)
    first, *more = result.err.splitlines()
    check_line(first, case)
    assert not more or [line.strip() for line in more] == ["1", "2", "3"]  # the last lines of a set-up
    assert result.out == ""


@in_a_run
def test_run_goes_on_without_proof(case: Case, host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    checkout = sample_repo.clone(tmp_path / "checkout")
    result = sample_run(host, sample_repo, tmp_path / "out", case).check(0)
    runs.check_patch(result.stdout, checkout)
    [line] = result.err.splitlines()
    assert line.startswith("acr-host run: verified: no (code cannot be run here: "), line
    check_line(line, case)
    # The run folder alone gives the same lines, offline.
    again = sample_run(host, sample_repo, tmp_path / "out", case).check(0)
    assert (again.stdout, again.err) == (result.stdout, result.err)
    host.run("replay", tmp_path / "out").check(0)


@in_a_run
def test_a_demanded_proof_fails(case: Case, host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    """Exit code 3: the machine lacks something, not the patch."""
    result = sample_run(host, sample_repo, tmp_path / "out", case, "always").check(3)
    first, *more = result.err.splitlines()
    check_line(first, case)
    assert not more or [line.strip() for line in more] == ["1", "2", "3"]
    assert result.out == ""
    assert not (tmp_path / "out" / "patch.diff").exists()


@each([image_is_missing, sandbox_is_unknown, image_elsewhere])
def test_what_was_asked_for_wrongly_fails(case: Case, host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    result = sample_run(host, sample_repo, tmp_path / "out", case)
    check_line(result.one_line(2), case)


@each([no_engine, no_engine_named])
def test_an_image_needs_an_engine_before_the_first_call(
    case: Case, host: Host, sample_repo: Repo, tmp_path: Path
) -> None:
    check_line(sample_run(host, sample_repo, tmp_path / "out", case).one_line(3), case)
    assert not (tmp_path / "out").exists()


def test_never_runs_nothing(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    """Even the programs of the sandbox do not run."""
    case = bubblewrap_refused(tmp_path)
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\nexit 1\n")
    for options in (["--setup", f"touch {tmp_path}/was-run"], ["--sandbox", "plain"], ["--image", "x"]):
        case.options = options
        out = tmp_path / f"out-{options[0][2:]}"
        result = sample_run(host, sample_repo, out, case, "never").check(0)
        assert result.out
        assert result.err == ""
    assert not (tmp_path / "was-run").exists()
    assert not (host.home / "cache" / "acr-host" / "sandbox").exists()


@each([no_bubblewrap, no_engine])
def test_reproduce_cannot_do_without(case: Case, host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    _, *arguments = runs.arguments(sample_repo, tmp_path / "out", *case.options)
    arguments.remove("--verify=never")
    check_line(host.run("reproduce", *arguments, env=case.env).one_line(3), case)


def test_a_program_that_speaks_like_bubblewrap_is_heard(host: Host, sample_repo: Repo) -> None:
    """Output that might be bubblewrap's own error is held back, but printed in the end."""
    need_bubblewrap()
    code = "echo 'bwrap: not at all' >&2; echo more >&2; exit 1"
    result = host.run("exec", "--repo", sample_repo, "--", "sh", "-c", code).check(1)
    assert result.err == "bwrap: not at all\nmore\n"


def test_root_of_a_namespace_is_an_ordinary_user(host: Host, sample_repo: Repo) -> None:
    """Root of a namespace that maps no other user, as in containers without rights."""
    wrapper = ["unshare", "--user", "--map-root-user"]
    need_bubblewrap()
    if subprocess.run([*wrapper, "true"], check=False).returncode != 0:
        pytest.skip("no user namespace can be made here")
    for options in ([], ["--setup", "mkdir -p d; chmod 0 d"]):
        result = host.run("exec", "--repo", sample_repo, *options, "--", "id", "-u", wrapper=wrapper)
        assert result.check(0).out == "1000\n"


# ---- Unusual machines ------------------------------------------------------------------------------

IN_A_GROUP = 'mkdir -p "$1" && echo 32 >"$1/pids.max" && echo $$ >"$1/cgroup.procs" && shift && exec "$@"'
NO_GROUPS = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
FIXED_GROUPS = 'for at in /sys/fs/cgroup /sys/fs/cgroup/*/; do mount --bind -o ro $at $at; done; exec "$@"'
#: name -> a command that runs another as on that machine; its control groups have this machine's version.
MACHINES = {
    "as it is": [],
    "without control groups": ["unshare", "--mount", "sh", "-c", NO_GROUPS, "sh"],
    "with control groups that cannot be changed": ["unshare", "--mount", "sh", "-c", FIXED_GROUPS, "sh"],
    "with few descriptors": ["prlimit", "--nofile=128:128"],
    "with few processes": ["sh", "-c", IN_A_GROUP, "sh"],
}
TOO_MUCH_MEMORY = "import time; x = b'1' * (300 << 20); time.sleep(20)"
TOO_MANY_PROCESSES = """
import os, signal
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            signal.pause()
        made += 1
except OSError:
    print("refused")
print(made)
"""


@pytest.fixture(params=usually(["without control groups", "with few processes"], MACHINES))
def machine(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """A command that runs another as on that machine."""
    need_bubblewrap()
    wrapper = list(MACHINES[request.param])
    group = Path(f"/sys/fs/cgroup/pids/acr-host-test.{os.getpid()}")
    if request.param == "with few processes":
        wrapper.append(str(group))
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"a machine {request.param} cannot be emulated here")
    yield wrapper
    if group.exists():
        group.rmdir()


def test_limits_hold_on_machines_that_differ(machine: list[str], host: Host, sample_repo: Repo) -> None:
    def told(*command: str) -> dict[str, Any]:
        result = host.run("exec", "--repo", sample_repo, "--json", *command, wrapper=machine).check(0)
        [row] = result.rows()
        return row

    row = told("--memory", "100", "--", "python3", "-c", TOO_MUCH_MEMORY)
    assert row["limit"] == "memory" and row["exit"] is None, row
    row = told("--processes", "40", "--", "python3", "-c", TOO_MANY_PROCESSES)
    refused, made = row["stdout"].split()
    assert refused == "refused" and int(made) <= 40 and row["exit"] == 0, row
    row = told("--output-limit", "1000", "--", "sh", "-c", "seq 1 2000; exit 3")
    assert (row["exit"], row["limit"], row["stdout_bytes"]) == (3, "output", 8893), row
    row = told("--", "sh", "-c", "head -c 2000000000 /dev/zero >f; echo $?")
    assert (row["limit"], row["stdout"] == "0\n") == ("files", False), row


@pytest.mark.parametrize("descriptors", [16, 64])
def test_too_few_descriptors_are_one_line(descriptors: int, host: Host, sample_repo: Repo) -> None:
    wrapper = ["prlimit", f"--nofile={descriptors}:{descriptors}"]
    result = host.run("exec", "--repo", sample_repo, "--", "true", wrapper=wrapper)
    result.one_line(result.exit, "the limit of open files is too low", "ulimit -n")
    assert result.exit != 0


# ---- Caches and temporary folders ------------------------------------------------------------------


def can_run(host: Host, repo: Repo, env: dict[str, str], *options: str) -> Result:
    """`exec` of a small command."""
    command = ["exec", "--repo", repo, *options, "--", "sh", "-c", "echo $TMPDIR"]
    return host.run(*command, env=env)


@pytest.fixture
def backend() -> list[str]:
    """A sandbox that works here."""
    return sandbox_options()


def test_a_cache_that_cannot_be_written_is_done_without(
    host: Host, sample_repo: Repo, tmp_path: Path, backend: list[str]
) -> None:
    with hostile.read_only(tmp_path / "shut") as folder:
        for path in (folder, folder / "deeper"):
            env = {"XDG_CACHE_HOME": str(path), "TMPDIR": str(host.home)}
            assert can_run(host, sample_repo, env, *backend).check(0).err == ""
            said = can_run(host, sample_repo, env, *backend, "-v").check(0).err
            assert "the cache cannot be used: " in said
    (tmp_path / "file").write_text("")
    can_run(host, sample_repo, {"XDG_CACHE_HOME": str(tmp_path / "file")}, *backend).check(0)
    assert not list(host.home.glob("acr-host-*/*")), "a temporary tree is left"


def test_a_full_disk_is_one_line(host: Host, sample_repo: Repo, tmp_path: Path, backend: list[str]) -> None:
    with hostile.small_disk(tmp_path / "disk", 64) as disk:
        case = Case(["No space left on device", str(disk)], backend, {"XDG_CACHE_HOME": str(disk)})
        for options in (backend, [*backend, "--setup", "true"]):
            check_line(can_run(host, sample_repo, case.env, *options).one_line(125), case)
        kept = disk / "acr-host" / "sandbox"
        assert [path.name for path in kept.iterdir()] == []
        checkout = sample_repo.clone(tmp_path / "checkout")
        result = sample_run(host, sample_repo, tmp_path / "out", case).check(0)
        runs.check_patch(result.stdout, checkout)
        [line] = [line for line in result.err.splitlines() if "verified: no (" in line]
        check_line(line, case)
        assert [path.name for path in kept.iterdir()] == []
        hostile.grow(disk, 65536)
        can_run(host, sample_repo, case.env, *backend).check(0)


def test_temporary_folders_that_are_none(host: Host, sample_repo: Repo, tmp_path: Path, backend: list[str]) -> None:
    """With a cache, no temporary folder is needed; inside, the sandbox always has its own."""
    (tmp_path / "file").write_text("")
    for given in ("/nowhere", "relative", "", str(tmp_path / "file"), "/proc"):
        result = can_run(host, sample_repo, {"TMPDIR": given}, *backend).check(0)
        assert (result.out, result.err) == ("/tmp\n", "")
    env = {"TMPDIR": "/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    can_run(host, sample_repo, env, *backend).one_line(125, "/nowhere")


def test_a_temporary_folder_of_somebody_else_is_not_used(
    host: Host, sample_repo: Repo, tmp_path: Path, backend: list[str]
) -> None:
    (tmp_path / f"acr-host-{os.geteuid()}").symlink_to(host.home)
    env = {"TMPDIR": str(tmp_path), "XDG_CACHE_HOME": "/proc/nowhere"}
    can_run(host, sample_repo, env, *backend).one_line(125, "belongs to another user")


# ---- Images ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Engine]:
    """podman's service with images: empty, with a broken shell, with only a shell, with links into a mounted /usr."""
    folder = tmp_path_factory.mktemp("images")
    images = {}
    for name, fill in (("broken", _broken), ("empty", _empty), ("host", _host), ("shell", _shell)):
        root = folder / name
        root.mkdir()
        fill(root)
        images[f"acr-host-test/{name}"] = folder / f"{name}.tar"
        subprocess.run(["tar", "-C", str(root), "-cf", str(folder / f"{name}.tar"), "."], check=True)
    made = sandboxes.start("podman", tmp_path_factory.mktemp("podman"), images, calls="usual")
    yield made
    made.stop()


def _empty(root: Path) -> None:
    (root / "etc").mkdir()


def _broken(root: Path) -> None:
    (root / "bin").mkdir()
    (root / "bin" / "sh").write_bytes(b"\x7fELF of another machine")
    (root / "bin" / "sh").chmod(0o755)


def _shell(root: Path) -> None:
    for name in ("bin", "tmp", "etc", "testbed"):
        (root / name).mkdir()
    shutil.copy2(shutil.which("busybox") or "", root / "bin" / "busybox")
    for name in ("sh", "true", "rm", "cat"):
        (root / "bin" / name).symlink_to("busybox")


def _host(root: Path) -> None:
    for name in ("usr", "tmp", "etc", "proc"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")


IMAGES = {
    "acr-host-test/missing": ["has no image 'acr-host-test/missing'"],
    "acr-host-test/broken": ["the image 'acr-host-test/broken' has no /bin/sh that runs on this machine"],
    "acr-host-test/empty": ["the image 'acr-host-test/empty' has no /bin/sh that runs on this machine"],
    "no such/name!": ["no such/name!"],
}


@pytest.mark.parametrize("image", usually([name for name in IMAGES if "broken" not in name], IMAGES))
def test_an_image_that_is_none(
    host: Host, sample_repo: Repo, tmp_path: Path, engine: sandboxes.Engine, image: str
) -> None:
    case = Case(IMAGES[image], ["--image", image], {"DOCKER_HOST": f"unix://{engine.socket}"})
    check_all(case, host, sample_repo, tmp_path)
    assert engine.containers() == []


def test_an_image_without_python(host: Host, sample_repo: Repo, tmp_path: Path, engine: sandboxes.Engine) -> None:
    """Commands run in it, but the project's tests cannot."""
    env = {"DOCKER_HOST": f"unix://{engine.socket}"}
    options = ["--image", "acr-host-test/shell"]
    host.run("exec", "--repo", sample_repo, *options, "--", "true", env=env).check(0)
    case = Case(["the image 'acr-host-test/shell' has no Python"], options, env)
    check_runs(case, host, sample_repo, tmp_path)
    case.options = [*options, "--python", "/opt/python"]
    case.words = ["has no Python", "/opt/python"]
    check_runs(case, host, sample_repo, tmp_path / "named")
    assert engine.containers() == []


def check_all(case: Case, host: Host, repo: Repo, folder: Path) -> None:
    """Both `exec` and `run` report the case."""
    result = host.run("exec", "--repo", repo, *case.options, "--", "true", env=case.env)
    check_line(result.one_line(125), case)
    check_runs(case, host, repo, folder)


def check_runs(case: Case, host: Host, repo: Repo, folder: Path) -> None:
    """A run continues without proof, unless a proof is required."""
    folder.mkdir(exist_ok=True)
    result = sample_run(host, repo, folder / "auto", case).check(0)
    [line] = result.err.splitlines()
    assert "verified: no (code cannot be run here: " in line
    check_line(line, case)
    runs.check_patch(result.stdout, repo.clone(folder / "checkout"))
    result = sample_run(host, repo, folder / "always", case, "always")
    check_line(result.one_line(3), case)


# ---- A program in a container ----------------------------------------------------------------------

# System calls that Docker's filter refuses in containers without rights.
FILTER = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [
        {"names": ["unshare", "setns", "mount", "sethostname"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
    ],
}


@pytest.fixture
def inside(
    binary: Path, sample_repo: Repo, tmp_path: Path, engine: sandboxes.Engine
) -> Iterator[Callable[..., tuple[Host, list[str]]]]:
    """inside(*options) -> the program as an ordinary user in a container with this machine's /usr."""
    need_bubblewrap()
    shutil.copy2(binary, tmp_path / "acr-host")
    (tmp_path / "home").mkdir()
    sandboxes.give(tmp_path, sandboxes.ORDINARY_USER)
    host = Host(tmp_path / "home", tmp_path / "acr-host")

    def make(*options: str) -> tuple[Host, list[str]]:
        return host, [
            "podman", "--url", f"unix://{engine.socket}", "run", "--rm", "--network", "none", "--user", "65534:65534",
            "--cap-drop", "all", "--security-opt", "no-new-privileges", "--ulimit", "nofile=4096:4096",
            "--ulimit", "nproc=4096:4096", "-v", "/usr:/usr:ro", "-v", f"{ROOT}:{ROOT}:ro",
            "-v", f"{tmp_path}:{tmp_path}", "-w", str(tmp_path), "-e", f"HOME={tmp_path}/home", *options,
            "acr-host-test/host",
        ]  # fmt: skip

    yield make
    host.close()


def test_a_container_that_forbids_namespaces(
    inside: Callable[..., tuple[Host, list[str]]], sample_repo: Repo, tmp_path: Path
) -> None:
    (tmp_path / "filter.json").write_text(json.dumps(FILTER))
    host, wrapper = inside("--security-opt", f"seccomp={tmp_path}/filter.json")
    case = Case(["a system call filter forbids them, as in containers; start the container with"], wrapper=wrapper)
    result = host.run("exec", "--repo", sample_repo, "--", "true", wrapper=wrapper)
    check_line(result.one_line(125), case)
    result = sample_run(host, sample_repo, tmp_path / "out", case).check(0)
    [line] = result.err.splitlines()
    assert "verified: no (code cannot be run here: " in line
    check_line(line, case)
    assert result.stdout == (tmp_path / "out" / "patch.diff").read_bytes() != b""
    result = sample_run(host, sample_repo, tmp_path / "always", case, "always")
    check_line(result.one_line(3), case)
    plain = host.run("exec", "--repo", sample_repo, "--sandbox", "plain", "--", "id", "-u", wrapper=wrapper)
    assert plain.check(0).out == "65534\n"


def test_a_container_that_allows_them(
    inside: Callable[..., tuple[Host, list[str]]], sample_repo: Repo, tmp_path: Path
) -> None:
    """podman's own filter does; masked parts of /proc may still forbid the sandbox its own /proc."""
    command = ["exec", "--repo", sample_repo, "--", "sh", "-c", "id -u; hostname"]
    host, wrapper = inside()
    host.run(*command, wrapper=wrapper).one_line(125, "the sandbox process ended unexpectedly: bwrap: ")
    host, wrapper = inside("--security-opt", "unmask=all", "--hostname", "outer")
    result = host.run(*command, wrapper=wrapper).check(0)
    assert result.out == "1000\nouter\n"  # its name cannot be changed there
    result = sample_run(host, sample_repo, tmp_path / "out", Case([], wrapper=wrapper)).check(0)
    assert "a script" not in result.err and result.stdout
