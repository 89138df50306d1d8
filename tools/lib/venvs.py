"""Virtual environments from the package registry, created once and found again by a digest of their contents."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

INSTALL_SECONDS = 1800


class EnvironmentFailure(Exception):
    """An environment cannot be made; the message is one line."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on `path` + ".lock" against other threads and processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _is_version(python: str | Path, version: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([str(python), "-c", code], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.decode("ascii", "replace").strip() == version


def find_python(version: str) -> Path:
    """A Python of this version ("3.9") from pyenv, uv or PATH. Errors: EnvironmentFailure."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for name in sorted(root.glob(f"{version}.*")) + sorted(root.glob(version)):
        if _is_version(name / "bin" / "python", version):
            return name / "bin" / "python"
    if shutil.which("uv"):
        done = subprocess.run(["uv", "python", "find", version], capture_output=True, check=False)
        found = done.stdout.decode("utf-8", "replace").strip()
        if found and _is_version(found, version):
            return Path(found)
    found = shutil.which(f"python{version}")
    if found and _is_version(found, version):
        return Path(found)
    raise EnvironmentFailure(f"no Python {version}: not in pyenv, uv or PATH")


def _must(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=INSTALL_SECONDS, check=False, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailure(f"cannot {what}: {error}") from error
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise EnvironmentFailure(f"cannot {what}: {'; '.join(tail)}")


def make_venv(folder: Path, version: str, requirements: Sequence[str]) -> Path:
    """The environment below `folder` for a Python version and pip requirements; returns its path.

    Errors: EnvironmentFailure.
    """
    key = json.dumps([version, list(requirements)])
    path = folder / "venvs" / hashlib.sha256(key.encode()).hexdigest()[:16]
    with locked(path):
        if (path / "ready.json").is_file():
            return path
        shutil.rmtree(path, ignore_errors=True)
        bare = [] if requirements else ["--without-pip"]
        _must([str(find_python(version)), "-m", "venv", *bare, str(path)], "make a venv")
        if requirements:
            pip = [str(path / "bin" / "python"), "-m", "pip", "install", "-q"]
            _must([*pip, *requirements], f"install {requirements[0]}")
        (path / "ready.json").write_text(key, encoding="utf-8")
    return path
