"""Real repositories from the package registry, and virtual environments for their own tests; both are cached.

A release's source archive becomes a git repository with one commit. Only pip contacts the registry. The cache is
`$XDG_CACHE_HOME/acr-tests/`; tests never write to its contents.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from repos import Repo

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools" / "lib"))

from venvs import EnvironmentFailure, locked, make_venv  # noqa: E402

DOWNLOAD_SECONDS = 600
# Packages that builds of older releases import when pip asks for their metadata.
BUILDERS = ("setuptools==68.0.0", "wheel==0.41.2", "setuptools_scm==7.1.0", "flit_core==3.9.0")
# The same for releases of 2025 and later.
NEWER_BUILDERS = (
    *("setuptools==80.9.0", "wheel==0.45.1", "setuptools_scm==8.3.1", "flit_core==3.12.0", "poetry-core==2.2.1"),
    *("hatchling==1.27.0", "hatch-vcs==0.5.0", "hatch-fancy-pypi-readme==25.1.0"),
)
_UNREACHABLE = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|MaxRetryError|"
    r"Connection(?:Reset|Refused|Broken|Error)|Temporary failure in name resolution|SSLError|HTTP error 5\d\d"
)


def cache() -> Path:
    """The folder for files that are kept between test runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "acr-tests"


def _pip(*args: str, builders: Sequence[str] = BUILDERS) -> subprocess.CompletedProcess[str]:
    """Run pip of a small separate environment. Errors: EnvironmentFailure."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    venv = make_venv(cache(), version, builders)
    return subprocess.run(
        [str(venv / "bin" / "python"), "-m", "pip", *args],
        capture_output=True,
        check=False,
        text=True,
        timeout=DOWNLOAD_SECONDS,
    )


def unreachable() -> str | None:
    """Why the registry cannot be reached, in one line; None if it can."""
    command = [sys.executable, "-m", "venv", "--help"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return "python3 has no venv module"
    with tempfile.TemporaryDirectory() as folder:
        # An environment whose packages could not be installed has pip anyway.
        pip = next((cache() / "venvs").glob("*/bin/pip"), Path(folder) / "venv" / "bin" / "pip")
        if not pip.exists():
            made = subprocess.run([*command[:-1], pip.parents[1]], capture_output=True, check=False, text=True)
            if made.returncode != 0:
                return f"no virtual environment can be made: {made.stdout.strip()[-200:]}"
        asked = subprocess.run(
            [pip.with_name("python"), "-m", "pip", "download", "-q", "--no-cache-dir", "--no-deps"]
            + ["--retries", "1", "-d", folder, BUILDERS[1]],
            capture_output=True,
            check=False,
            text=True,
        )
    match = _UNREACHABLE.search(asked.stderr)
    return f"the package registry is out of reach ({match[0]})" if match else None


def _give_up(what: str, why: str) -> None:
    """Skip the test if the registry cannot be reached, else fail it."""
    reason = unreachable()
    if reason:
        pytest.skip(f"{what}: {reason}")
    pytest.fail(f"{what}: {why}")


def _download(name: str, version: str, folder: Path, builders: Sequence[str]) -> Path:
    """The source archive of a release, downloaded into `folder`."""
    what = f"source release {name} {version}"
    try:
        done = _pip(
            *("download", "-q", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"),
            *("-d", str(folder), f"{name}=={version}"),
            builders=builders,
        )
    except (EnvironmentFailure, subprocess.TimeoutExpired) as error:
        _give_up(what, str(error))
        raise
    archives = [path for path in folder.iterdir() if path.name.endswith((".tar.gz", ".zip", ".tar.bz2"))]
    if len(archives) != 1:
        _give_up(what, done.stderr.strip()[-2000:])
    return archives[0]


def _unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive below `folder`; return the only folder in it."""
    if archive.suffix == ".zip":
        shutil.unpack_archive(archive, folder)
    else:
        command = ["tar", "--no-same-owner", "-xf", str(archive), "-C", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    (top,) = folder.iterdir()
    return top


def release_repo(name: str, version: str, builders: Sequence[str] = BUILDERS) -> Repo:
    """The release as a git repository with one commit. All tests share it: clone it to write.

    Skips the test with the reason if the registry cannot be reached.
    """
    path = cache() / "releases" / f"{name}-{version}"
    with locked(path):
        if not path.is_dir():
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                (Path(folder) / "got").mkdir()
                (Path(folder) / "tree").mkdir()
                archive = _download(name, version, Path(folder) / "got", builders)
                repo = Repo(_unpack(archive, Path(folder) / "tree"))
                repo.git("init", "-q", "-b", "main")
                repo.commit({}, f"{name} {version}")
                repo.path.rename(path)
    return Repo(path)


def installed_pythons(version: str) -> list[Path]:
    """The Python programs below ~/.pyenv/versions of this version ("3.9.*"), sorted."""
    return sorted((Path.home() / ".pyenv" / "versions").glob(version + "/bin/python"))


def installed_python(version: str) -> Path:
    """The first Python of that version; skips the test if there is none."""
    found = installed_pythons(version)
    if not found:
        pytest.skip(f"no Python {version} is installed (~/.pyenv/versions)")
    return found[0]


def pinned_python(pins: Sequence[str], python: str = "3.11") -> Path:
    """The Python of an environment with the pinned packages ("mpmath==1.3.0").

    Skips the test with the reason if the registry cannot be reached or there is no such Python.
    """
    try:
        return make_venv(cache(), python, pins) / "bin" / "python"
    except EnvironmentFailure as error:
        if str(error).startswith("no Python"):
            pytest.skip(str(error))
        _give_up(f"environment with {' '.join(pins)}", str(error))
        raise


def wheel(name: str, version: str) -> Path:
    """The wheel of a release, without its dependencies, for any version of Python; Python can import from it.

    Skips the test with the reason if the registry cannot be reached.
    """
    folder = cache() / "wheels" / f"{name}-{version}"
    with locked(folder):
        if not (found := list(folder.glob("*.whl"))):
            options = ("-q", "--no-deps", "--ignore-requires-python", "--only-binary", ":all:", "-d", str(folder))
            done = _pip("download", *options, f"{name}=={version}")
            if not (found := list(folder.glob("*.whl"))):
                _give_up(f"wheel {name} {version}", done.stderr.strip()[-2000:])
    return found[0]


def npm_package(name: str, version: str) -> Path:
    """The folder of an npm package of exactly that version, installed into the cache.

    Skips the test with the reason if there is no Node, or if npm cannot get the package.
    """
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip(f"{name} needs node and npm")
    path = cache() / "npm" / f"{name.replace('/', '+')}-{version}"
    with locked(path):
        if not (path / "ready").is_file():
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
            _npm_install(path, f"{name}@{version}")
            (path / "ready").touch()
    return path / "node_modules" / name


def _npm_install(folder: Path, what: str) -> None:
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            [*command, "--prefix", str(folder), what],
            capture_output=True,
            check=False,
            text=True,
            timeout=DOWNLOAD_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{what}: {error}")
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if "error" in line]
        pytest.skip(f"{what}: {told[0] if told else 'npm failed'}")
