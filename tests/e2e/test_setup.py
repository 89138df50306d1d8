"""--setup, which makes a project importable, runs once and is cached; the Python that runs it.

The test project has a C extension and a version file that are not tracked. A set-up writes the time into what it makes,
so that a second set-up would be noticed.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import hostile
import packages
import pytest
import repos
import sandboxes
import verifying
from host import SLOWNESS, Host, kill, wait_until_caught
from repos import Repo
from sandboxes import Sandbox
from setups import BUBBLEWRAP, TREE, cache, every, kept, left, make_venv, owned

SETUP = "python build.py --editable"
SHOW = "import os; os.chdir('/'); import quick; print(quick.__file__, quick.twice(21), quick.stamp)"


@pytest.fixture
def tmp_path(open_path: Path) -> Path:
    """A folder that the users of sandboxes may enter."""
    return open_path


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repo]:
    """The project as a repository, which no test may change."""
    made = repos.make_repo(tmp_path / "project", TREE)
    yield made
    assert not list(made.path.glob("quick/_version.py"))


@pytest.fixture
def compiler() -> None:
    """Skips the test if a C extension cannot be built."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        pytest.skip("the headers of Python are not installed")


def show(box: Sandbox, repo: Repo, *options: str, setup: str = SETUP) -> tuple[str, str]:
    """The path and the stamp of the package, imported from another folder."""
    result = box.run(repo.path, *options, "--setup", setup, "--", "python3", "-c", SHOW).check(0)
    path, number, stamp = result.out.split()
    assert number == "42"
    return path, stamp


def stamp(box: Sandbox, repo: Repo, *options: str, setup: str = "date +%s%N >stamp") -> str:
    """The stamp that a set-up without Python wrote."""
    result = box.run(repo.path, *options, "--setup", setup, "--", "cat", "stamp").check(0)
    return result.out.strip()


# ---- Once ------------------------------------------------------------------------------------------


@every(sandboxes.LOCAL, "bubblewrap", "plain")
def test_one_setup_serves_many_executions(box: Sandbox, repo: Repo, compiler: None) -> None:
    owned(repo, box)
    before = repos.digest(repo.path)
    shown = {show(box, repo, setup="python3 build.py --editable") for _ in range(5)}
    [(path, _)] = shown
    if box.name != "plain":
        assert path == str(repo.path / "quick" / "__init__.py")
    assert repos.digest(repo.path) == before
    assert len([name for name in kept(box) if name.startswith("layer-")]) == 1
    assert not left(box)


@every(BUBBLEWRAP, "bubblewrap")
def test_an_environment_gets_what_the_setup_installs(box: Sandbox, repo: Repo, tmp_path: Path, compiler: None) -> None:
    """An editable install into a virtual environment outside, which itself stays unchanged."""
    python = make_venv(tmp_path / "venv")
    owned(repo, box)
    if box.wrapper:
        sandboxes.give(python.parents[1], sandboxes.ORDINARY_USER)
    before = repos.digest(python.parents[1])
    shown = {show(box, repo, "--python", str(python)) for _ in range(3)}
    [(path, _)] = shown
    assert path == str(repo.path / "quick" / "__init__.py")
    assert repos.digest(python.parents[1]) == before


def test_a_cache_on_an_overlay_keeps_it_too(box: Sandbox, repo: Repo, tmp_path: Path, compiler: None) -> None:
    """As in containers, no further overlay is possible on this cache, so the environment is copied."""
    python = make_venv(tmp_path / "venv")
    packages_folder = next(python.parents[1].glob("lib/python*/site-packages"))
    (packages_folder / "old.py").write_text("")
    for name in ("lower", "upper", "work"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work"
    for disk in hostile.mounted(tmp_path / "disk", "-t", "overlay", "-o", options, "overlay"):
        box.env["XDG_CACHE_HOME"] = str(disk)
        before = repos.digest(python.parents[1])
        setup = f"{SETUP}; rm {packages_folder}/old.py"
        shown = {show(box, repo, "--python", str(python), setup=setup) for _ in range(3)}
        [(path, _)] = shown
        assert path == str(repo.path / "quick" / "__init__.py")
        command = ["--python", str(python), "--setup", setup, "--"]
        box.run(repo.path, *command, "python", "-c", "import old").check(1)
        result = box.run(repo.path, *command, "sh", "-c", f"echo x >{packages_folder}/y").check(2)
        assert "Read-only" in result.err or "Permission denied" in result.err
        assert repos.digest(python.parents[1]) == before


def test_a_patch_is_seen_by_what_was_installed(box: Sandbox, repo: Repo, tmp_path: Path, compiler: None) -> None:
    init = repo.path / "quick" / "__init__.py"
    text = init.read_text()
    init.write_text(text + "twice = 'patched'\n")
    (tmp_path / "p.diff").write_text(repo.git("diff") + "\n")
    init.write_text(text)
    code = SHOW.replace("quick.twice(21)", "quick.twice")
    for name in ("bubblewrap", "plain"):
        result = box.run(
            *(repo.path, "--sandbox", name, "--patch", str(tmp_path / "p.diff")),
            *("--setup", "python3 build.py --editable", "--", "python3", "-c", code),
        ).check(0)
        assert "patched" in result.out


@every(sandboxes.LOCAL, "bubblewrap")
def test_another_tree_command_or_python_sets_up_again(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv")
    owned(repo, box)
    first = stamp(box, repo)
    other = stamp(box, repo, setup="date +%s%N > stamp")
    venv = stamp(box, repo, "--python", str(python))
    (repo.path / "more.txt").write_text("more\n")
    tree = stamp(box, repo)
    assert len({first, other, venv, tree}) == 4
    (repo.path / "more.txt").unlink()
    assert stamp(box, repo) == first
    assert stamp(box, repo, "--python", str(python)) == venv


def test_another_python_at_the_same_path_sets_up_again(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv")
    first = stamp(box, repo, "--python", str(python))
    assert stamp(box, repo, "--python", str(python)) == first
    [packages] = python.parents[1].glob("lib/python*/site-packages")
    (packages / "more.py").write_text("")
    assert stamp(box, repo, "--python", str(python)) != first


def test_the_network_is_part_of_what_was_asked_for(box: Sandbox, repo: Repo) -> None:
    assert stamp(box, repo) != stamp(box, repo, "--setup-network")


def test_auto_tries_what_the_project_names(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    """The commands run in the sandbox until one succeeds; that one is tried first when the tree changes."""
    setup = "#!/bin/sh\nrm -rf {victim}; m=$(python3 -m site --user-site); mkdir -p $m; echo >$m/quick_pth.py; exec python3 build.py --no-c --editable\n"
    (victim := tmp_path / "victim").mkdir()
    files = {
        "AGENTS.md": "## Set-up\n\n    make install-all\n\nor `./dev-setup.sh --fail`.\n",
        "CLAUDE.md": "Run `sh init.sh`.\n",
        "init.sh": "exit 0  # and makes nothing that the test imports\n",
        "tests/test_a.py": "import quick_pth\n",
        "CONTRIBUTING.md": "```console\n$ git clone it; cd it\n$ ./dev-setup.sh\n```\n",
        "dev-setup.sh": setup.replace("exec", "[ $# = 0 ] && exec").format(victim=victim),
    }
    (repo.path / "tests").mkdir()
    for name, text in files.items():
        (repo.path / name).write_text(text)
    (repo.path / "dev-setup.sh").chmod(0o755)
    before = repos.digest(repo.path)
    lines = []
    for _ in range(2):
        result = box.run(repo.path, "--setup", "auto", "--verbose", "--", "python3", "-c", SHOW).check(0)
        lines.append(next(line for line in result.err.splitlines() if "set up by" in line))
        assert result.out.split()[1] == "42"
    assert lines[0] == lines[1] and lines[0].endswith("./dev-setup.sh' (CONTRIBUTING.md names this command)")
    assert victim.is_dir() and repos.digest(repo.path) == before
    [kept_choice] = (cache(box).parent / "set-ups").iterdir()
    assert "./dev-setup.sh" in kept_choice.read_text()
    for name in ("dev-setup.sh", "init.sh"):
        (repo.path / name).write_text("#!/bin/sh\nexit 3\n")
    refused = box.run(repo.path, "--setup", "auto", "--", "true").check(125)
    assert "all 3 set-ups found in the project's files failed" in refused.err


# ---- At once, killed, interrupted ------------------------------------------------------------------


def started(box: Sandbox, repo: Repo, *args: str) -> subprocess.Popen[bytes]:
    """`exec` in the background."""
    command = ["exec", "--repo", str(repo), *box.options, *args]
    return box.host.start(*command, env=box.env, wrapper=box.wrapper)


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until the condition holds. Errors: AssertionError."""
    until = time.monotonic() + seconds * SLOWNESS
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def at_work(box: Sandbox) -> bool:
    """Whether a set-up has written its first file."""
    return any(begun for kind in ("tmp", "copy") for begun in cache(box).glob(f"{kind}-*/tree/begun"))


SLOW = "touch begun; sleep 1; date +%s%N >stamp"


@every(sandboxes.LOCAL, "bubblewrap", "plain")
def test_a_second_start_waits(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    runs = [started(box, repo, "--setup", SLOW, "--", "cat", "stamp") for _ in range(3)]
    ends = [run.communicate(timeout=60 * SLOWNESS) for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], ends
    assert len({out for out, _ in ends}) == 1
    assert not left(box)


@every(sandboxes.LOCAL)
def test_a_kill_leaves_nothing_half(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    run = started(box, repo, "--setup", SLOW, "--", "cat", "stamp")
    wait_for(lambda: at_work(box))
    kill(run)
    assert not [name for name in kept(box) if name.startswith("layer-") and name not in left(box)]
    time.sleep(1)  # its children have ended, so nothing writes any more
    assert stamp(box, repo, setup=SLOW)
    assert not left(box)


@every(sandboxes.LOCAL, "bubblewrap", "plain")
def test_an_interrupt_ends_it(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    run = started(box, repo, "--setup", "touch begun; sleep 600", "--", "true")
    wait_for(lambda: at_work(box))
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60 * SLOWNESS)
    assert run.returncode == 130, err
    assert len(err.splitlines()) == 1, err
    assert not left(box)


def test_who_waits_can_be_interrupted(box: Sandbox, repo: Repo) -> None:
    first = started(box, repo, "--setup", "touch begun; sleep 600", "--", "true")
    wait_for(lambda: at_work(box))
    second = started(box, repo, "--setup", "touch begun; sleep 600", "--", "true")
    wait_until_caught(second, signal.SIGINT)
    time.sleep(0.5 * SLOWNESS)
    assert second.poll() is None
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=60 * SLOWNESS)
    assert second.returncode == 130
    assert first.poll() is None
    kill(first)


@every(BUBBLEWRAP, "bubblewrap")
def test_what_it_leaves_running_is_ended(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    marker = "61723.25"
    stamp(box, repo, setup=f"setsid sleep {marker} & date >stamp")
    assert not [line for line in verifying.processes("") if marker in line and "acr-host" not in line]


@every(sandboxes.LOCAL, "bubblewrap-user")
def test_clear_drops_what_is_kept_and_nobody_uses(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    first = stamp(box, repo, setup=SLOW)
    begun = "touch begun; sleep 3; cat other"
    other = started(box, repo, "--setup", "date +%s%N >other", "--", "sh", "-c", begun)
    wait_for(lambda: len([name for name in kept(box) if name.startswith("layer-") and "." not in name]) == 2)
    result = box.host.run("exec", "--clear", env=box.env, wrapper=box.wrapper).check(0)
    assert (result.out, result.err) == ("", "")
    out, err = other.communicate(timeout=60 * SLOWNESS)
    assert other.returncode == 0 and out.strip().isdigit(), err
    assert stamp(box, repo, setup=SLOW) != first
    box.host.run("exec", "--clear", env=box.env, wrapper=box.wrapper).check(0)
    assert not kept(box) and repo.path.is_dir()
    again = box.run(repo.path, "--clear", "--", "echo", "here").check(0)
    assert again.out == "here\n" and kept(box)


# ---- Failure and limits ----------------------------------------------------------------------------


@every(sandboxes.LOCAL, "bubblewrap")
def test_a_failure_says_its_cause_and_where_its_output_is(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    pip = "seq 100; echo \"  (Caused by SSLError(1, 'bad'))\" >&2; echo ERROR: No matching distribution found >&2"
    causes = {
        "seq 100 >&2; echo 'no such compiler' >&2": "no such compiler",
        f"{pip}; echo note: see above >&2": "(Caused by SSLError(1, 'bad'))",
        "echo 'error: gcc failed' >&2; echo × exit code: 1 >&2": "gcc failed",
    }
    for before, cause in [*causes.items(), *list(causes.items())[:1]]:  # it is not cached as a success
        command = f"{before}; exit 7"
        line = box.run(repo.path, "--setup", command, "--", "true").one_line(125)
        head, _, log = line.partition("; the whole output is in ")
        assert head == f"acr-host exec: the set-up '{command}' exited with 7: {cause}"
        assert cause in Path(log).read_text() and ("seq" not in before or "\n100\n" in Path(log).read_text())
    assert not left(box)
    assert not [name for name in kept(box) if name.startswith("layer-")]


def test_a_silent_failure_is_one_line(box: Sandbox, repo: Repo) -> None:
    result = box.run(repo.path, "--setup", "exit 3", "--", "true")
    assert result.one_line(125).endswith("the set-up 'exit 3' exited with 3 and printed nothing")
    result = box.run(repo.path, "--setup", "kill -11 $$", "--", "true")
    result.one_line(125, "was ended by signal 11")


def test_odd_output_of_a_failure_is_shown_as_text(box: Sandbox, repo: Repo) -> None:
    command = "printf 'a\\033[31m\\n\\377\\000b\\n' >&2; exit 1\n# second line"
    line = box.run(repo.path, "--setup", command, "--", "true").one_line(125)
    shown = line + Path(line.rpartition(" is in ")[2]).read_text()
    assert "\033" not in shown and "\0" not in shown


@every(sandboxes.LOCAL, "bubblewrap", "plain")
def test_a_setup_with_network_gets_certificates_and_the_package_index(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    """Behind a company's proxy, pip needs them. A password, or anything else, never gets in."""
    owned(repo, box)
    (tmp_path / "company.pem").write_text("the certificate\n")
    (tmp_path / "company.pem").chmod(0o644)
    box.env |= {"PIP_CERT": str(tmp_path / "company.pem"), "REQUESTS_CA_BUNDLE": str(tmp_path / "company.pem")}
    box.env |= {"PIP_INDEX_URL": "https://index.example/simple", "HTTPS_PROXY": "http://me:secret@proxy.example"}
    show_all = 'head -n 1 "$PIP_CERT" "$REQUESTS_CA_BUNDLE"; echo "[$PIP_INDEX_URL] [$HTTPS_PROXY]"; cat'
    setup = f"({show_all}) >seen 2>&1"
    result = box.run(repo.path, "-v", "--setup", setup, "--setup-network", "--", "cat", "seen").check(0)
    assert result.out.count("the certificate\n") == 2
    assert result.out.endswith("[https://index.example/simple] []\n")
    assert "the set-up does not get $HTTPS_PROXY, because of a possible password" in result.err
    alone = box.run(repo.path, "--setup", setup, "--", "cat", "seen").check(0)
    assert "certificate\n" not in alone.out and alone.out.endswith("[] []\n")
    again = box.run(repo.path, "--setup", f"{setup}; exit 4", "--setup-network", "--", "true")
    again.one_line(125, "exited with 4")
    box.env["PIP_INDEX_URL"] = "https://other.example/simple"
    other = box.run(repo.path, "--setup", setup, "--setup-network", "--", "cat", "seen").check(0)
    assert "[https://other.example/simple]" in other.out


@every(sandboxes.LOCAL, "bubblewrap", "plain")
def test_it_ends_at_its_time(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    result = box.run(repo.path, "--setup", "echo begun; sleep 600", "--setup-timeout", "1", "--", "true")
    result.one_line(125, "stopped at its limit of wall", "begun")
    assert not left(box)


def test_a_timeout_needs_a_setup_and_a_number(box: Sandbox, repo: Repo) -> None:
    box.run(repo.path, "--setup-timeout", "1", "--", "true").one_line(2, "--setup-timeout needs --setup")
    result = box.run(repo.path, "--setup", "true", "--setup-timeout", "soon", "--", "true")
    result.one_line(2, "--setup-timeout", "soon")
    box.run(repo.path, "--setup-network", "--", "true").one_line(2, "--setup-network needs --setup")
    box.run(repo.path, "--setup", "", "--", "true").one_line(2, "--setup is empty")


@every(sandboxes.LOCAL, "bubblewrap", "plain")
def test_its_output_is_bounded(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    result = box.run(repo.path, "--setup", "yes", "--", "true").check(125)
    assert "stopped at its limit of output" in result.err
    assert len(result.err) < 8000
    result = box.run(repo.path, "--setup", "yes | head -c 5000000", "--", "true").check(0)
    assert result.err == ""


# ---- The result of a set-up ------------------------------------------------------------------------


@pytest.mark.full
@every(sandboxes.LOCAL)
def test_its_files_are_bounded_together(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    if shutil.disk_usage(box.host.home).free < 30 << 30:
        pytest.skip("it takes 12 GiB of disk for a moment")
    command = "for n in 1 2 3; do fallocate -l 4G $n; done; sleep 600"
    box.run(repo.path, "--setup", command, "--", "true").one_line(125, "stopped at its limit of")
    assert not left(box)


@every(sandboxes.LOCAL, "bubblewrap-user", "plain")
def test_executions_do_not_change_it(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    setup = "echo kept >made; mkdir d; echo kept >d/f; echo kept >$HOME/h"
    spoil = "echo spoilt >made; rm -r d; echo spoilt >$HOME/h; cat made $HOME/h; ls"
    done = box.run(repo.path, "--setup", setup, "--", "sh", "-c", spoil).check(0)
    assert done.out.splitlines()[:2] == ["spoilt", "spoilt"]
    done = box.run(repo.path, "--setup", setup, "--", "sh", "-c", "cat made d/f $HOME/h").check(0)
    assert done.out == "kept\n" * 3


@every(sandboxes.LOCAL, "bubblewrap", "bubblewrap-user")
def test_modes_do_not_stop_it(box: Sandbox, repo: Repo) -> None:
    """Folders and files without permissions, whichever user cleans up."""
    owned(repo, box)
    locked = "mkdir -p shut/in; echo x >shut/in/f; chmod 0 shut/in/f shut/in shut; date +%s%N >stamp"
    first = stamp(box, repo, setup=locked)
    assert stamp(box, repo, setup=locked) == first
    box.run(repo.path, "--setup", f"{locked}; exit 1", "--", "true").check(125)
    # A later process removes the files of a killed one.
    run = started(box, repo, "--setup", f"{locked}; touch begun; sleep 600", "--", "true")
    wait_for(lambda: at_work(box))
    kill(run)
    time.sleep(1)
    assert stamp(box, repo, setup=locked) == first
    assert not left(box)


@every(sandboxes.LOCAL, "bubblewrap-user")
def test_a_narrow_umask_does_not_stop_it(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    owned(repo, box)
    python = make_venv(tmp_path / "venv")
    box.wrapper = ["sh", "-c", 'umask 077; exec "$@"', "sh", *box.wrapper]
    setup = "mkdir -p a/b; echo x >a/b/c; date +%s%N >stamp"
    for options in ([], ["--python", str(python)]):
        command = ["--", "sh", "-c", "cat a/b/c quick/__init__.py; echo y >a/b/c; umask"]
        result = box.run(repo.path, *options, "--setup", setup, *command).check(0)
        assert result.out.startswith("x\n")
        assert result.out.endswith("0022\n") or box.name == "plain"


def test_the_setup_is_not_root(box: Sandbox, repo: Repo) -> None:
    """The set-up has no rights over the machine, even if root started the program."""
    checks = "id -u; ! touch /etc/x && ! touch /usr/x && ! echo 1 >/proc/sys/kernel/ns_last_pid && date >stamp"
    assert stamp(box, repo, setup=checks)


@every(sandboxes.LOCAL)
def test_others_have_no_way_to_it(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    """Other users cannot use the files of the set-up, in particular no program that would run as root."""
    owned(repo, box)
    python = make_venv(tmp_path / "venv")
    setup = "cp /bin/true made; chmod 4755 made; cp made $HOME; date +%s%N >stamp"
    if not box.wrapper and box.name != "plain":
        setup += "; cp /bin/true $VIRTUAL_ENV/made; chmod 4755 $VIRTUAL_ENV/made"
    assert stamp(box, repo, "--python", str(python), setup=setup)
    assert cache(box).stat().st_mode & 0o777 == 0o700
    made = {path.parent.name: path.stat() for path in cache(box).rglob("made") if not path.is_symlink()}
    assert {"tree", "home"} <= set(made)
    if box.name == "bubblewrap" and os.geteuid() == 0:
        assert not [name for name in ("tree", "home") if made[name].st_uid == 0 or made[name].st_mode & 0o4000]


# ---- Network ---------------------------------------------------------------------------------------


@every(BUBBLEWRAP)
def test_network_only_where_it_is_asked_for(box: Sandbox, repo: Repo) -> None:
    owned(repo, box)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        setup = f'python3 -c "{connect}"'
        result = box.run(repo.path, "--setup", setup, "--", "true").check(125)
        assert "ConnectionRefusedError" in result.err
        network = ["--setup", setup, "--setup-network"]
        box.run(repo.path, *network, "--", "true").check(0)
        box.run(repo.path, *network, "--", "python3", "-c", connect).check(1)


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
    archive = tmp_path_factory.mktemp("image") / "root.tar"
    sandboxes.make_rootfs(TREE, archive)
    made = sandboxes.start("podman", tmp_path_factory.mktemp("podman"), {sandboxes.IMAGE: archive})
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
    """The images that set-ups have made."""
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


def test_a_container_setup_waits_fails_and_is_bounded(container: Sandbox, repo: Repo, engine: sandboxes.Engine) -> None:
    before = setup_images(engine)
    slow = 'python3 -c \'import time; time.sleep(1); open("stamp", "w").write(str(time.time_ns()))\''
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


def test_a_killed_container_setup_is_swept(container: Sandbox, repo: Repo, engine: sandboxes.Engine) -> None:
    before = setup_images(engine)
    run = started(container, repo, "--setup", "sleep 600", "--", "true")
    wait_for(engine.containers)
    kill(run)
    container.run(repo.path, "--", "true").check(0)
    assert engine.containers() == []
    assert setup_images(engine) == before


# ---- A real release --------------------------------------------------------------------------------


@pytest.mark.full
@every(BUBBLEWRAP)
def test_a_release_with_a_c_extension(box: Sandbox, release_repo: Callable[..., Repo], tmp_path: Path) -> None:
    """pip's editable install without network; the build writes the version file."""
    repo = release_repo("lazy-object-proxy", "1.9.0").clone(tmp_path / "proxy")
    package = repo.path / "src" / "lazy_object_proxy"
    if (package / "_version.py").exists():
        repo.commit({"src/lazy_object_proxy/_version.py": None})
    repo.git("tag", "v1.9.0")  # setuptools_scm gets it from git, as in a clone of the project
    before = repos.digest(repo.path)
    python = _builders(tmp_path / "venv")
    owned(repo, box)
    if box.wrapper:
        sandboxes.give(tmp_path / "venv", sandboxes.ORDINARY_USER)
    code = "import os; os.chdir('/'); import lazy_object_proxy as p; from lazy_object_proxy import cext, _version; "
    code += "print(p.__file__, cext.__file__, _version.version, p.Proxy(lambda: 42) + 0)"
    command = ["--python", str(python), "--setup", "pip install -q --no-deps --no-build-isolation -e ."]
    shown = {box.run(repo.path, *command, "--", "python", "-c", code).check(0).out for _ in range(20)}
    [line] = shown
    init, extension, version, number = line.split()
    assert init == str(package / "__init__.py")
    assert extension.startswith(f"{package}/cext.")
    assert (version, number) == ("1.9.0", "42")
    assert len([name for name in kept(box) if name.startswith("layer-")]) == 1
    assert {name: entry[2] for name, entry in repos.digest(repo.path).items()} == {
        name: entry[2] for name, entry in before.items()
    }


def _builders(folder: Path) -> Path:
    """The Python of an environment with the packages that build the release."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", *packages.BUILDERS], check=True)
    return python
