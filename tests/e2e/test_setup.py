"""What makes a project importable: the set-up, run once and kept, and the Python that is taken.

The project is one of ours, with a C extension and a version file that are not tracked; a set-up
stamps what it makes with the time, so that a second one would be seen.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import threading
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

import repos
import sandboxes
from host import SLOWNESS, Host, kill
from repos import Repo
from sandboxes import Sandbox

FAST_C = """#include <Python.h>
static PyObject *twice(PyObject *self, PyObject *arg) { return PyNumber_Add(arg, arg); }
static PyMethodDef methods[] = {{"twice", twice, METH_O, NULL}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
"""
# What a build does: a version file, a C extension; and what an editable install does: a path file.
BUILD = """import os, site, subprocess, sys, sysconfig, time
here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
with open("quick/_version.py", "w") as out:
    out.write("stamp = %d\\n" % time.time_ns())
if "--no-c" in sys.argv:
    with open("quick/_fast.py", "w") as out:
        out.write("def twice(number):\n    return number + number\n")
else:
    target = "quick/_fast" + sysconfig.get_config_var("EXT_SUFFIX")
    include = sysconfig.get_path("include")
    subprocess.run(["gcc", "-shared", "-fPIC", "-I" + include, "-o", target, "quick/_fast.c"], check=True)
if "--editable" in sys.argv:
    folder = sysconfig.get_path("purelib") if sys.prefix != sys.base_prefix else site.getusersitepackages()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "quick.pth"), "w") as out:
        out.write(here + "\\n")
"""
TREE: dict[str, str | bytes] = {
    "quick/__init__.py": "from ._version import stamp\nfrom ._fast import twice\n",
    "quick/_fast.c": FAST_C,
    "build.py": BUILD,
    ".gitignore": "*.so\n_version.py\n.venv/\n",
}
SETUP = "python build.py --editable"
SHOW = "import os; os.chdir('/'); import quick; print(quick.__file__, quick.twice(21), quick.stamp)"
BUBBLEWRAP = ["bubblewrap", "bubblewrap-user"]


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, tmp_path: Path, binary: Path) -> Iterator[Sandbox]:
    """The backend that the test is parametrized with; bubblewrap where it is not."""
    made = sandboxes.local(getattr(request, "param", "bubblewrap"), tmp_path / "box", binary)
    yield made
    made.host.close()


def every(names: list[str]) -> pytest.MarkDecorator:
    """The test once for each of these backends."""
    return pytest.mark.parametrize("sandbox", names, indirect=True)


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repo]:
    """The project as a repository, which nothing may change."""
    made = repos.make_repo(tmp_path / "project", TREE)
    tmp_path.chmod(0o755)
    yield made
    assert not list(made.path.glob("quick/_version.py"))


@pytest.fixture
def compiler() -> None:
    """Skips where a C extension cannot be built."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        pytest.skip("the headers of Python are not installed")


def owned(repo: Repo, sandbox: Sandbox) -> Repo:
    """The repository, given to the user that the program runs as."""
    if sandbox.wrapper:
        sandboxes.give(repo.path, sandboxes.ORDINARY_USER)
    return repo


def cache(sandbox: Sandbox) -> Path:
    """Where trees and layers are kept."""
    return sandbox.host.home / "cache" / "acr-host" / "sandbox"


def kept(sandbox: Sandbox) -> set[str]:
    """The names in it, without sizes."""
    return {path.name for path in cache(sandbox).iterdir() if not path.name.endswith(".size")}


def left(sandbox: Sandbox) -> set[str]:
    """What only a run that is at work may have there."""
    return {name for name in kept(sandbox) if name.startswith("tmp-") or name.endswith(".lock")}


def show(sandbox: Sandbox, repo: Repo, *options: str, setup: str = SETUP) -> tuple[str, str]:
    """The path and the stamp of the package, imported from elsewhere."""
    result = sandbox.run(repo.path, *options, "--setup", setup, "--", "python3", "-c", SHOW).check(0)
    path, number, stamp = result.out.split()
    assert number == "42"
    return path, stamp


def stamp(sandbox: Sandbox, repo: Repo, *options: str, setup: str = "date +%s%N >stamp") -> str:
    """What a set-up without Python wrote."""
    result = sandbox.run(repo.path, *options, "--setup", setup, "--", "cat", "stamp").check(0)
    return result.out.strip()


def make_venv(path: Path, *options: str, python: str = "/usr/bin/python3") -> Path:
    """A virtual environment without pip; its Python."""
    subprocess.run([python, "-m", "venv", "--without-pip", *options, str(path)], check=True)
    return path / "bin" / "python"


# ---- Once ------------------------------------------------------------------------------------------


@every(sandboxes.LOCAL)
def test_one_setup_serves_twenty_executions(sandbox: Sandbox, repo: Repo, compiler: None) -> None:
    owned(repo, sandbox)
    before = repos.digest(repo.path)
    shown = {show(sandbox, repo, setup="python3 build.py --editable") for _ in range(20)}
    [(path, _)] = shown
    if sandbox.name != "plain":
        assert path == str(repo.path / "quick" / "__init__.py")
    assert repos.digest(repo.path) == before
    assert len([name for name in kept(sandbox) if name.startswith("layer-")]) == 1
    assert not left(sandbox)


@every(BUBBLEWRAP)
def test_an_environment_gets_what_the_setup_installs(
    sandbox: Sandbox, repo: Repo, tmp_path: Path, compiler: None
) -> None:
    """Editable into a virtual environment outside, which itself stays as it was."""
    python = make_venv(tmp_path / "venv")
    owned(repo, sandbox)
    if sandbox.wrapper:
        sandboxes.give(python.parents[1], sandboxes.ORDINARY_USER)
    before = repos.digest(python.parents[1])
    shown = {show(sandbox, repo, "--python", str(python)) for _ in range(3)}
    [(path, _)] = shown
    assert path == str(repo.path / "quick" / "__init__.py")
    assert repos.digest(python.parents[1]) == before


def test_a_patch_is_seen_by_what_was_installed(
    sandbox: Sandbox, repo: Repo, tmp_path: Path, compiler: None
) -> None:
    init = repo.path / "quick" / "__init__.py"
    text = init.read_text()
    init.write_text(text + "twice = 'patched'\n")
    (tmp_path / "p.diff").write_text(repo.git("diff") + "\n")
    init.write_text(text)
    code = SHOW.replace("quick.twice(21)", "quick.twice")
    for name in ("bubblewrap", "plain"):
        result = sandbox.run(
            *(repo.path, "--sandbox", name, "--patch", str(tmp_path / "p.diff")),
            *("--setup", "python3 build.py --editable", "--", "python3", "-c", code),
        ).check(0)
        assert "patched" in result.out


@every(sandboxes.LOCAL)
def test_another_tree_command_or_python_sets_up_again(
    sandbox: Sandbox, repo: Repo, tmp_path: Path
) -> None:
    python = make_venv(tmp_path / "venv")
    owned(repo, sandbox)
    first = stamp(sandbox, repo)
    other = stamp(sandbox, repo, setup="date +%s%N > stamp")
    venv = stamp(sandbox, repo, "--python", str(python))
    (repo.path / "more.txt").write_text("more\n")
    tree = stamp(sandbox, repo)
    assert len({first, other, venv, tree}) == 4
    (repo.path / "more.txt").unlink()
    assert stamp(sandbox, repo) == first
    assert stamp(sandbox, repo, "--python", str(python)) == venv


def test_another_python_at_the_same_path_sets_up_again(
    sandbox: Sandbox, repo: Repo, tmp_path: Path
) -> None:
    python = make_venv(tmp_path / "venv")
    first = stamp(sandbox, repo, "--python", str(python))
    assert stamp(sandbox, repo, "--python", str(python)) == first
    [packages] = python.parents[1].glob("lib/python*/site-packages")
    (packages / "more.py").write_text("")
    assert stamp(sandbox, repo, "--python", str(python)) != first


def test_the_network_is_part_of_what_was_asked_for(sandbox: Sandbox, repo: Repo) -> None:
    assert stamp(sandbox, repo) != stamp(sandbox, repo, "--setup-network")


# ---- At once, killed, interrupted ------------------------------------------------------------------


def started(sandbox: Sandbox, repo: Repo, *args: str) -> subprocess.Popen[bytes]:
    """`exec` that goes on by itself."""
    command = ["exec", "--repo", str(repo), *sandbox.options, *args]
    return sandbox.host.start(*command, env=sandbox.env, wrapper=sandbox.wrapper)


def wait_for(condition: Callable[[], object], seconds: float = 20) -> None:
    """Until it holds. Errors: AssertionError."""
    until = time.monotonic() + seconds * SLOWNESS
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def at_work(sandbox: Sandbox) -> bool:
    """Whether a set-up has written its first file."""
    return any(cache(sandbox).glob("tmp-*/tree/begun"))


SLOW = "touch begun; sleep 1; date +%s%N >stamp"


@every(sandboxes.LOCAL)
def test_a_second_start_waits(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    runs = [started(sandbox, repo, "--setup", SLOW, "--", "cat", "stamp") for _ in range(3)]
    ends = [run.communicate(timeout=60 * SLOWNESS) for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], ends
    assert len({out for out, _ in ends}) == 1
    assert not left(sandbox)


@every(sandboxes.LOCAL)
def test_a_kill_leaves_nothing_half(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    run = started(sandbox, repo, "--setup", SLOW, "--", "cat", "stamp")
    wait_for(lambda: at_work(sandbox))
    kill(run)
    assert not [name for name in kept(sandbox) if name.startswith("layer-") and name not in left(sandbox)]
    time.sleep(1)  # what it started is gone, and no longer writes
    assert stamp(sandbox, repo, setup=SLOW)
    assert not left(sandbox)


@every(sandboxes.LOCAL)
def test_an_interrupt_ends_it(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    run = started(sandbox, repo, "--setup", "touch begun; sleep 600", "--", "true")
    wait_for(lambda: at_work(sandbox))
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=20 * SLOWNESS)
    assert run.returncode == 130, err
    assert len(err.splitlines()) == 1, err
    assert not left(sandbox)


def test_who_waits_can_be_interrupted(sandbox: Sandbox, repo: Repo) -> None:
    first = started(sandbox, repo, "--setup", "touch begun; sleep 600", "--", "true")
    wait_for(lambda: at_work(sandbox))
    second = started(sandbox, repo, "--setup", "touch begun; sleep 600", "--", "true")
    time.sleep(0.5 * SLOWNESS)
    assert second.poll() is None
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=20 * SLOWNESS)
    assert second.returncode == 130
    assert first.poll() is None
    kill(first)


@every(BUBBLEWRAP)
def test_what_it_leaves_running_is_ended(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    marker = "61723.25"
    stamp(sandbox, repo, setup=f"setsid sleep {marker} & date >stamp")
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert not [line for line in lines if marker.encode() in line and b"acr-host" not in line]


# ---- Failure and limits ----------------------------------------------------------------------------


@every(sandboxes.LOCAL)
def test_a_failure_says_its_last_lines(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    command = "seq 100 >&2; echo 'no such compiler' >&2; exit 7"
    for _ in range(2):  # it is not kept as one that went well
        result = sandbox.run(repo.path, "--setup", command, "--", "true").check(125)
        first, *more = result.err.splitlines()
        assert first == f"acr-host exec: the set-up '{command}' exited with 7: no such compiler"
        assert [line.strip() for line in more] == [str(n) for n in range(82, 101)] + ["no such compiler"]
        assert result.out == ""
    assert not left(sandbox)
    assert not [name for name in kept(sandbox) if name.startswith("layer-")]


def test_a_silent_failure_is_one_line(sandbox: Sandbox, repo: Repo) -> None:
    result = sandbox.run(repo.path, "--setup", "exit 3", "--", "true")
    assert result.one_line(125).endswith("the set-up 'exit 3' exited with 3 and said nothing")
    result = sandbox.run(repo.path, "--setup", "kill -11 $$", "--", "true")
    result.one_line(125, "was ended by signal 11")


def test_odd_output_of_a_failure_is_shown_as_text(sandbox: Sandbox, repo: Repo) -> None:
    command = "printf 'a\\033[31m\\n\\377\\000b\\n' >&2; exit 1\n# second line"
    result = sandbox.run(repo.path, "--setup", command, "--", "true").check(125)
    assert "\033" not in result.err and "\0" not in result.err
    assert len(result.err.splitlines()) == 3


@every(sandboxes.LOCAL)
def test_it_ends_at_its_time(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    result = sandbox.run(repo.path, "--setup", "echo begun; sleep 600", "--setup-timeout", "1", "--", "true")
    result.one_line(125, "stopped at its limit of wall", "begun")
    assert result.seconds < 20 * SLOWNESS
    assert not left(sandbox)


def test_a_timeout_needs_a_setup_and_a_number(sandbox: Sandbox, repo: Repo) -> None:
    sandbox.run(repo.path, "--setup-timeout", "1", "--", "true").one_line(2, "--setup-timeout needs --setup")
    result = sandbox.run(repo.path, "--setup", "true", "--setup-timeout", "soon", "--", "true")
    result.one_line(2, "--setup-timeout", "soon")
    sandbox.run(repo.path, "--setup-network", "--", "true").one_line(2, "--setup-network needs --setup")
    sandbox.run(repo.path, "--setup", "", "--", "true").one_line(2, "--setup is empty")


@every(sandboxes.LOCAL)
def test_its_output_is_bounded(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    result = sandbox.run(repo.path, "--setup", "yes", "--", "true").check(125)
    assert "stopped at its limit of output" in result.err
    assert len(result.err) < 8000
    result = sandbox.run(repo.path, "--setup", "yes | head -c 5000000", "--", "true").check(0)
    assert result.err == ""


# ---- What it made ----------------------------------------------------------------------------------


@every(sandboxes.LOCAL)
def test_executions_do_not_change_it(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    setup = "echo kept >made; mkdir d; echo kept >d/f; echo kept >$HOME/h"
    spoil = "echo spoilt >made; rm -r d; echo spoilt >$HOME/h; cat made $HOME/h; ls"
    done = sandbox.run(repo.path, "--setup", setup, "--", "sh", "-c", spoil).check(0)
    assert done.out.splitlines()[:2] == ["spoilt", "spoilt"]
    done = sandbox.run(repo.path, "--setup", setup, "--", "sh", "-c", "cat made d/f $HOME/h").check(0)
    assert done.out == "kept\n" * 3


@every(sandboxes.LOCAL)
def test_modes_do_not_stop_it(sandbox: Sandbox, repo: Repo) -> None:
    """Folders and files without permissions, whoever looks after them."""
    owned(repo, sandbox)
    locked = "mkdir -p shut/in; echo x >shut/in/f; chmod 0 shut/in/f shut/in shut; date +%s%N >stamp"
    first = stamp(sandbox, repo, setup=locked)
    assert stamp(sandbox, repo, setup=locked) == first
    sandbox.run(repo.path, "--setup", f"{locked}; exit 1", "--", "true").check(125)
    # A later process cleans up after one that was killed.
    run = started(sandbox, repo, "--setup", f"{locked}; touch begun; sleep 600", "--", "true")
    wait_for(lambda: at_work(sandbox))
    kill(run)
    time.sleep(1)
    assert stamp(sandbox, repo, setup=locked) == first
    assert not left(sandbox)


@every(sandboxes.LOCAL)
def test_a_narrow_umask_does_not_stop_it(sandbox: Sandbox, repo: Repo, tmp_path: Path) -> None:
    owned(repo, sandbox)
    python = make_venv(tmp_path / "venv")
    sandbox.wrapper = ["sh", "-c", 'umask 077; exec "$@"', "sh", *sandbox.wrapper]
    setup = "mkdir -p a/b; echo x >a/b/c; date +%s%N >stamp"
    for options in ([], ["--python", str(python)]):
        command = ["--", "sh", "-c", "cat a/b/c quick/__init__.py; echo y >a/b/c; umask"]
        result = sandbox.run(repo.path, *options, "--setup", setup, *command).check(0)
        assert result.out.startswith("x\n")
        assert result.out.endswith("0022\n") or sandbox.name == "plain"


def test_the_setup_is_not_root(sandbox: Sandbox, repo: Repo) -> None:
    """It has no rights over the machine, even where root started the program."""
    checks = "id -u; ! touch /etc/x && ! touch /usr/x && ! echo 1 >/proc/sys/kernel/ns_last_pid && date >stamp"
    assert stamp(sandbox, repo, setup=checks)


# ---- Network ---------------------------------------------------------------------------------------


@every(BUBBLEWRAP)
def test_network_only_where_it_is_asked_for(sandbox: Sandbox, repo: Repo) -> None:
    owned(repo, sandbox)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        setup = f'python3 -c "{connect}"'
        result = sandbox.run(repo.path, "--setup", setup, "--", "true").check(125)
        assert "ConnectionRefusedError" in result.err
        network = ["--setup", setup, "--setup-network"]
        sandbox.run(repo.path, *network, "--", "true").check(0)
        sandbox.run(repo.path, *network, "--", "python3", "-c", connect).check(1)


def _answer(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


# ---- Containers ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Engine]:
    """podman's service with the project in an image."""
    for program in ("podman", "runc", "busybox"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if os.geteuid() != 0:
        pytest.skip("needs root")
    archive = tmp_path_factory.mktemp("image") / "root.tar"
    sandboxes.make_rootfs(TREE, archive)
    made = sandboxes.podman(tmp_path_factory.mktemp("podman"))
    made.load(archive, sandboxes.IMAGE)
    yield made
    made.stop()


@pytest.fixture
def container(engine: sandboxes.Engine, tmp_path: Path, binary: Path) -> Iterator[Sandbox]:
    """The program with that image."""
    made = Sandbox("podman", Host(tmp_path / "home", binary), ["--image", sandboxes.IMAGE])
    made.host.home.mkdir()
    made.env["DOCKER_HOST"] = f"unix://{engine.socket}"
    yield made
    made.host.close()
    assert engine.containers() == []


def setup_images(engine: sandboxes.Engine) -> set[str]:
    """Images that set-ups have made."""
    _, images = engine.call("GET", "/images/json")
    names = [name for image in images for name in image["RepoTags"] or []]
    return {name for name in names if "acr-host-setup/" in name}


def test_an_image_keeps_the_setup(container: Sandbox, repo: Repo, engine: sandboxes.Engine) -> None:
    before = setup_images(engine)
    setup = "python3 build.py --no-c --editable"
    shown = {show(container, repo, setup=setup) for _ in range(5)}
    [(path, _)] = shown
    assert path == "/testbed/quick/__init__.py"
    assert len(setup_images(engine) - before) == 1
    assert show(container, repo, setup=f"{setup} ") not in shown
    assert len(setup_images(engine) - before) == 2


def test_a_container_setup_waits_fails_and_is_bounded(
    container: Sandbox, repo: Repo, engine: sandboxes.Engine
) -> None:
    before = setup_images(engine)
    slow = "python3 -c 'import time; time.sleep(1); open(\"stamp\", \"w\").write(str(time.time_ns()))'"
    runs = [started(container, repo, "--setup", slow, "--", "cat", "stamp") for _ in range(2)]
    ends = [run.communicate(timeout=60 * SLOWNESS) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], ends
    assert len({out for out, _ in ends}) == 1
    made = setup_images(engine)
    assert len(made - before) == 1
    result = container.run(repo.path, "--setup", "echo broken >&2; exit 9", "--", "true")
    result.one_line(125, "exited with 9: broken")
    result = container.run(repo.path, "--setup", "sleep 600", "--setup-timeout", "1", "--", "true")
    result.one_line(125, "stopped at its limit of wall")
    assert setup_images(engine) == made


def test_a_killed_container_setup_is_swept(
    container: Sandbox, repo: Repo, engine: sandboxes.Engine
) -> None:
    before = setup_images(engine)
    run = started(container, repo, "--setup", "sleep 600", "--", "true")
    wait_for(engine.containers)
    kill(run)
    container.run(repo.path, "--", "true").check(0)
    assert engine.containers() == []
    assert setup_images(engine) == before


# ---- Which Python ----------------------------------------------------------------------------------


def choice(sandbox: Sandbox, repo: Path, *options: str) -> tuple[str, list[str]]:
    """The prefix of the Python that `python` is inside, and what `--verbose` says."""
    code = "import sys; print(sys.prefix)"
    result = sandbox.run(repo, "-v", *options, "--", "python3", "-c", code).check(0)
    return result.out.strip(), result.err.splitlines()


def test_the_systems_is_taken_where_there_is_no_other(sandbox: Sandbox, repo: Repo) -> None:
    prefix, said = choice(sandbox, repo.path)
    assert prefix == "/usr"
    assert said == ["acr-host exec: the Python is '/usr/bin/python3', the system's"]


@every(sandboxes.LOCAL)
def test_the_environment_in_the_working_tree_is_taken(sandbox: Sandbox, repo: Repo) -> None:
    python = make_venv(repo.path / ".venv")
    owned(repo, sandbox)
    prefix, said = choice(sandbox, repo.path)
    assert prefix == str(repo.path / ".venv")
    assert said[0] == f"acr-host exec: the Python is '{python}', the environment of the working tree"


@every(sandboxes.LOCAL)
def test_a_python_outside_is_taken_as_given(sandbox: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "some where" / "venv")
    owned(repo, sandbox)
    prefix, said = choice(sandbox, repo.path, "--python", str(python))
    assert prefix == str(python.parents[1])
    assert said[0] == f"acr-host exec: the Python is '{python}', as --python says"


def test_it_is_bound_read_only(sandbox: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv")
    before = repos.digest(tmp_path / "venv")
    code = f"open({str(tmp_path / 'venv' / 'x')!r}, 'w')"
    for setup in ([], ["--setup", "true"]):
        result = sandbox.run(repo.path, "--python", str(python), *setup, "--", "python", "-c", code).check(1)
        assert "Error: [Errno 30]" in result.err or "Error: [Errno 13]" in result.err
    assert repos.digest(tmp_path / "venv") == before


def test_a_name_is_looked_up(sandbox: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv")
    sandbox.env["PATH"] = f"{python.parent}:{os.environ['PATH']}"
    assert choice(sandbox, repo.path, "--python", "python3")[0] == str(tmp_path / "venv")


def test_an_environment_of_copies(sandbox: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", "--copies")
    assert choice(sandbox, repo.path, "--python", str(python))[0] == str(tmp_path / "venv")


def _elsewhere() -> str:
    """A Python that is installed outside /usr; skips where there is none."""
    found = sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"))
    if not found:
        pytest.skip("no Python is installed outside /usr (~/.pyenv/versions)")
    return str(found[-1])


@pytest.mark.parametrize("copies", [[], ["--copies"]], ids=["links", "copies"])
def test_what_an_environment_was_made_from_is_visible(
    sandbox: Sandbox, repo: Repo, tmp_path: Path, copies: list[str]
) -> None:
    origin = _elsewhere()
    python = make_venv(tmp_path / "venv", *copies, python=origin)
    code = "import sys, json, ctypes; print(sys.prefix, sys.base_prefix)"
    for options in (["--python", str(python)], []):
        result = sandbox.run(repo.path, *options, "--", "python3", "-c", code).check(0)
        expected = [str(tmp_path / "venv"), str(Path(origin).parents[1])] if options else ["/usr", "/usr"]
        assert result.out.split() == expected
    assert choice(sandbox, repo.path, "--python", origin)[0] == str(Path(origin).parents[1])


WRONG: dict[str, str] = {
    "/nowhere/python": "is not there",
    "no-such-python": "is not there",
    "{tmp}/text": "cannot be run",
    "{tmp}": "cannot be run",
    "{tmp}/dangling": "is not there",
    "{tmp}/script": "is a script",
    "{tmp}/bin/tool": "is not in a folder that a Python is installed in",
}


@pytest.mark.parametrize("given", WRONG)
def test_a_wrong_python_is_one_line(sandbox: Sandbox, repo: Repo, tmp_path: Path, given: str) -> None:
    (tmp_path / "text").write_text("text")
    (tmp_path / "dangling").symlink_to("/nowhere/python")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "bin").mkdir()
    shutil.copy2("/bin/true", tmp_path / "bin" / "tool")
    path = given.format(tmp=tmp_path)
    sandbox.run(repo.path, "--python", path, "--", "true").one_line(125, path, WRONG[given])


def _broken_link(folder: Path) -> str:
    python = make_venv(folder)
    python.unlink()
    python.symlink_to("/nowhere/python3")
    return "its Python leads to no program that can be run"


def _no_settings(folder: Path) -> str:
    make_venv(folder)
    (folder / "pyvenv.cfg").unlink()
    return "it has no pyvenv.cfg"


def _no_origin(folder: Path) -> str:
    python = make_venv(folder, "--copies")
    (folder / "pyvenv.cfg").write_text("home = /nowhere/bin\n")
    return f"'{python}' is not in a folder that a Python is installed in"


@pytest.mark.parametrize("spoil", [_broken_link, _no_settings, _no_origin], ids=lambda f: f.__name__[1:])
def test_an_environment_that_does_not_work_is_passed_over(
    sandbox: Sandbox, repo: Repo, spoil: Callable[[Path], str]
) -> None:
    why = spoil(repo.path / ".venv")
    prefix, said = choice(sandbox, repo.path)
    assert prefix == "/usr"
    assert said == [
        "acr-host exec: the Python is '/usr/bin/python3', the system's",
        f"acr-host exec: the '.venv' of the working tree is not used: {why}",
    ]


def test_an_environment_of_the_projects_own_files_is_not_trusted(sandbox: Sandbox, repo: Repo) -> None:
    make_venv(repo.path / ".venv")
    repo.commit({}, "with an environment")
    prefix, said = choice(sandbox, repo.path)
    assert prefix == "/usr"
    assert said[1].endswith("is not used: it is one of the project's own files")


def test_nor_is_one_in_a_folder_without_git(sandbox: Sandbox, tmp_path: Path) -> None:
    """There nothing tells the user's files from the project's."""
    folder = tmp_path / "folder"
    folder.mkdir()
    make_venv(folder / ".venv")
    prefix, said = choice(sandbox, folder)
    assert prefix == "/usr"
    assert said[1].endswith("is not used: it is one of the project's own files")


def test_a_python_does_not_show_the_whole_home(sandbox: Sandbox, repo: Repo) -> None:
    """Installed into the home itself, it would take all of it along."""
    home = sandbox.host.home
    (home / "secret").write_text("secret")
    python = make_venv(home)
    sandbox.run(repo.path, "--python", str(python), "--", "true").one_line(125, "all of the user's home")


# ---- A real release --------------------------------------------------------------------------------


@pytest.mark.full
@every(BUBBLEWRAP)
def test_a_release_with_a_c_extension(
    sandbox: Sandbox,
    release_repo: Callable[..., Repo],
    pinned_python: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """pip's own editable install, without network; its tests' favourite calls run in C."""
    repo = release_repo("simplejson", "3.19.2").clone(tmp_path / "simplejson")
    python = pinned_python(["setuptools==68.0.0", "wheel==0.41.2"])
    tmp_path.chmod(0o755)
    owned(repo, sandbox)
    code = "import os; os.chdir('/'); import simplejson as s; print(s.__file__, s._speedups.__file__ if hasattr(s, '_speedups') else __import__('simplejson._speedups')._speedups.__file__, s.dumps([1]))"
    command = ["--python", str(python), "--setup", "pip install -q --no-deps --no-build-isolation -e ."]
    shown = {sandbox.run(repo.path, *command, "--", "python", "-c", code).check(0).out for _ in range(20)}
    [line] = shown
    init, speedups, text = line.split()
    assert init == str(repo.path / "simplejson" / "__init__.py")
    assert speedups.startswith(str(repo.path / "simplejson" / "_speedups."))
    assert text == "[1]"
    assert len([name for name in kept(sandbox) if name.startswith("layer-")]) == 1
