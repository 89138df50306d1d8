"""Fixtures of the end-to-end tests: the built program, repositories, and a model server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

import packages
import pytest
import repos
import sandboxes
from host import ROOT, Host, Result
from host import binary as built_binary
from loopback import LoopbackOpenAI
from repos import Repo
from sandboxes import Sandbox


@pytest.fixture(scope="session")
def binary() -> Path:
    """The program under test ($ACR_BINARY, else the release build's). It is an error if it is not built."""
    path = built_binary()
    assert path.is_file(), f"{path} is not built"
    return path


@pytest.fixture(scope="session")
def sample() -> Path:
    """The bundled sample's folder: repo/, issue.md, answers.jsonl."""
    return ROOT / "tests" / "fixtures" / "sample"


@pytest.fixture
def host(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Starts the program with an empty HOME and cache for this test; kills what still runs afterwards."""
    made = Host(tmp_path_factory.mktemp("home"), binary)
    yield made
    made.close()


@pytest.fixture
def run_host(host: Host) -> Callable[..., Result]:
    """run_host(*args, env=, input=, timeout=, cwd=) -> Result. See Host.run."""
    return host.run


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Repo]:
    """make_repo(files, name="repo") -> a repository below tmp_path with one commit of those files."""

    def make(files: Mapping[str, str | bytes], name: str = "repo") -> Repo:
        return repos.make_repo(tmp_path / name, files)

    return make


@pytest.fixture
def sample_repo(tmp_path: Path) -> Repo:
    """A repository of the sample with one commit, for this test only."""
    return repos.sample_repo(tmp_path / "sample")


@pytest.fixture(scope="session")
def release_repo() -> Callable[[str, str], Repo]:
    """release_repo(name, version) -> a repository of a release from the package registry; read-only."""
    return packages.release_repo


@pytest.fixture(scope="session")
def pinned_python() -> Callable[..., Path]:
    """pinned_python(pins, python="3.11") -> the Python of an environment with these packages."""
    return packages.pinned_python


@pytest.fixture
def loopback_openai() -> Iterator[Callable[..., LoopbackOpenAI]]:
    """loopback_openai(script) -> a running server. At the end, it must not have received an invalid request.

    `script` is a file or a list of lines. A test that sends invalid requests on purpose empties `violations`.
    """
    servers: list[LoopbackOpenAI] = []

    def serve(script: Path | Iterable[dict[str, Any]]) -> LoopbackOpenAI:
        servers.append(LoopbackOpenAI(script).start())
        return servers[-1]

    yield serve
    for server in servers:
        server.stop()
    assert [text for server in servers for text in server.violations] == []


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder of this test that other users may enter; pytest closes its own folders to other users."""
    with tempfile.TemporaryDirectory(prefix="acr-host-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def box(request: pytest.FixtureRequest, tmp_path: Path, binary: Path) -> Iterator[Sandbox]:
    """A sandbox of this machine, as a way to run `exec`: the parameter (one of sandboxes.LOCAL), else bubblewrap."""
    made = sandboxes.local(getattr(request, "param", "bubblewrap"), tmp_path / "box", binary)
    yield made
    made.host.close()
