"""Fixtures of the conformance suite: each sandbox in turn, a repository for it, and a check that a case leaves nothing
behind.

A test module uses these fixtures by importing their names.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
import repos
import sandboxes
from fewer import usually
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


@pytest.fixture
def tmp_path(open_path: Path) -> Path:
    """A folder that the users of the sandboxes may enter."""
    return open_path


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the image's root."""
    archive = tmp_path_factory.mktemp("image") / "root.tar"
    sandboxes.make_rootfs(TREE, archive)
    return archive


@pytest.fixture(scope="session")
def calls() -> str:
    """Which system calls podman itself lets through (see sandboxes.podman_environment)."""
    return "all"


@pytest.fixture(scope="session")
def engines(
    image: Path, calls: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], sandboxes.Engine]]:
    """engines("podman") -> an engine with the image, started once; skips if a trial shows that the engine does not
    work."""
    started: dict[str, sandboxes.Engine] = {}
    missing: dict[str, str] = {}

    def get(name: str) -> sandboxes.Engine:
        if name in missing:
            pytest.skip(missing[name])
        if name not in started:
            try:
                folder = tmp_path_factory.mktemp(name)
                started[name] = sandboxes.start(name, folder, {sandboxes.IMAGE: image}, calls=calls)
            except pytest.skip.Exception as skipped:
                missing[name] = str(skipped)
                raise
        return started[name]

    yield get
    for engine in started.values():
        engine.stop()


BACKENDS = ["bubblewrap", "bubblewrap-user", "plain", "podman", "dockerd"]


def usually_in(*names: str) -> pytest.MarkDecorator:
    """Run a case by default in these sandboxes, because it takes the same path in the others."""
    return pytest.mark.parametrize("sandbox", usually(names, BACKENDS, str), indirect=True)


@pytest.fixture(params=usually(BACKENDS[:4], BACKENDS, str))
def sandbox(
    request: pytest.FixtureRequest, tmp_path: Path, binary: Path, engines: Callable[[str], sandboxes.Engine]
) -> Iterator[Sandbox]:
    """Each backend in turn, as a way to run a command."""
    name = request.param
    sandboxes.need(name)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {"OPENAI_API_KEY": SECRET, "TMPDIR": str(scratch)}
    if name in sandboxes.LOCAL:
        made = sandboxes.local(name, tmp_path, binary)
    else:
        made = Sandbox(name, Host(tmp_path / "home", binary), ["--image", sandboxes.IMAGE], dir="/testbed")
        made.host.home.mkdir()
        env["DOCKER_HOST"] = f"unix://{engines(name).socket}"
    made.env |= env
    yield made
    made.host.close()


@pytest.fixture(scope="session")
def tree_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of TREE, for copying."""
    path = repos.make_repo(tmp_path_factory.mktemp("tree") / "repo", TREE).path
    (path / "run.sh").chmod(0o755)
    return path


@pytest.fixture
def repo(sandbox: Sandbox, tmp_path: Path, tree_repo: Path) -> Path:
    """A repository of TREE, which must not change."""
    path = shutil.copytree(tree_repo, tmp_path / "repo")
    if sandbox.wrapper:
        sandboxes.give(tmp_path, sandboxes.ORDINARY_USER)
    return path


PR_SET_CHILD_SUBREAPER = 36
SETUP_IMAGES = "acr-host-setup/"


@pytest.fixture
def orphans(sandbox: Sandbox) -> Iterator[Callable[[], list[int]]]:
    """orphans() -> processes that runs of the program have left, after some time to end.

    While this fixture is used, orphaned processes become children of this process; not with an engine, whose own
    helpers remain.
    """
    if sandbox.is_engine:
        yield lambda: []
        return
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    before = _children()

    def get() -> list[int]:
        until = time.monotonic() + 30 * SLOWNESS
        while (new := _children() - before) and time.monotonic() < until:
            for pid in new:
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.02)
        return sorted(new)

    yield get
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0


def _children() -> set[int]:
    children: set[int] = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        # A thread (of the test's server) may end between listing and reading.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children.update(map(int, listed.read_text().split()))
    return children


def _mounts(tmp_path: Path) -> list[str]:
    """The mount points, without those in the temporary folders of other tests."""
    folders = {tempfile.gettempdir(), "/tmp", "/dev/shm", os.environ.get("ACR_MEMORY") or "/tmp"}
    others = tuple(f"{folder}/" for folder in folders)
    own = f"{tmp_path}/"
    return [point for point in sandboxes.mount_points() if point.startswith(own) or not point.startswith(others)]


@pytest.fixture(autouse=True)
def untouched(
    repo: Path,
    sandbox: Sandbox,
    engines: Callable[[str], sandboxes.Engine],
    orphans: Callable[[], list[int]],
    tmp_path: Path,
) -> Iterator[Callable[[], None]]:
    """Check after each case that the repository is unchanged, and that no process, mount or file is left.

    A test that has itself changed the repository calls untouched() to compare from then on.
    """
    digests, mounts = [repos.digest(repo)], _mounts(tmp_path)
    engine = engines(sandbox.name) if sandbox.is_engine else None
    images = engine.images() if engine else []
    yield lambda: digests.append(repos.digest(repo))
    assert repos.digest(repo) == digests[-1]
    until = time.monotonic() + 30 * SLOWNESS  # engines of other tests mount networks and programs briefly
    while (new := set(_mounts(tmp_path)) - set(mounts)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not new, sorted(new)
    assert os.listdir(tmp_path / "scratch") == []
    assert [path.name for path in sandbox.host.home.rglob("tmp-*")] == []
    assert set(os.listdir(sandbox.host.home)) <= {"cache", "secret.txt"}
    if engine:
        assert engine.containers() == []
        for name in set(engine.images()) - set(images):
            assert SETUP_IMAGES in name, name  # such images are the cache of set-ups
            engine.remove_image(name)
        assert engine.images() == images
        assert engine.mounts() == []
    else:
        assert orphans() == []


def limit_of(sandbox: Sandbox, *names: str, why: str) -> None:
    """Skip the test in these sandboxes, because of a known limit."""
    if sandbox.name in names:
        pytest.skip(f"a limit of {sandbox.name}: {why}")


def left_over(marker: str, without: str = "\0") -> list[str]:
    """Processes whose command line contains the marker, but not the other text."""
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


def wait_for(marker: str) -> None:
    """Wait until a command with the marker runs."""
    until = time.monotonic() + 60 * SLOWNESS
    while not left_over(marker, "acr-host") and time.monotonic() < until:
        time.sleep(0.05)
    assert left_over(marker, "acr-host")


def gone(marker: str) -> None:
    """Check that no process with the marker runs any more, including the program itself."""
    until = time.monotonic() + 30 * SLOWNESS
    while left_over(marker) and time.monotonic() < until:
        time.sleep(0.02)
    assert left_over(marker) == []
