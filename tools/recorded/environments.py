"""Virtual environments for the projects' own tests, cached by the digest of what is in them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable

from tasks import Task
from trees import locked

INSTALL_SECONDS = 1800


class EnvironmentFailure(Exception):
    """A test environment cannot be made; the message is one line."""


def choose_entry(entries: list[dict[str, Any]], task: Task) -> dict[str, Any] | None:
    """The entry for a task: one that names the task, else one of its repository and version."""
    for entry in entries:
        if task.instance_id in entry.get("tasks", []):
            return entry
    for entry in entries:
        if entry["repo"] == task.repo and task.version in entry["versions"]:
            if not entry.get("tasks"):
                return entry
    return None


def excluder(pattern: str | None) -> Callable[[str], bool]:
    """Whether a test id is one that cannot pass on a bare machine (`exclude`, searched for)."""
    if not pattern:
        return lambda name: False
    expression = re.compile(pattern)
    return lambda name: expression.search(name) is not None


def digest_of(*values: Any) -> str:
    """64 hex digits over the values' JSON form."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _answers(python: str | Path, version: str) -> bool:
    """Whether the program is a Python of that version."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([str(python), "-c", code], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.decode("ascii", "replace").strip() == version


def find_python(version: str) -> Path:
    """A Python of the version ("3.9"): from pyenv, uv or PATH. Errors: EnvironmentFailure."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for name in sorted(root.glob(f"{version}.*")) + sorted(root.glob(version)):
        if _answers(name / "bin" / "python", version):
            return name / "bin" / "python"
    if shutil.which("uv"):
        done = subprocess.run(["uv", "python", "find", version], capture_output=True, check=False)
        found = done.stdout.decode("utf-8", "replace").strip()
        if found and _answers(found, version):
            return Path(found)
    found = shutil.which(f"python{version}")
    if found and _answers(found, version):
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


def make_venv(work: Path, entry: dict[str, Any], owner: str) -> Path:
    """The venv of an entry, made once and found again by digest; returns its folder.

    `owner` is part of the digest for entries whose install step writes into the venv, so that two
    work trees never share one. Errors: EnvironmentFailure.
    """
    key = [entry["python"], entry["pip"], owner if entry.get("install") else ""]
    path = work / "venvs" / digest_of(*key)[:16]
    with locked(path):
        if (path / "ready.json").is_file():
            return path
        shutil.rmtree(path, ignore_errors=True)
        _must([str(find_python(entry["python"])), "-m", "venv", str(path)], "make a venv")
        pip = [str(path / "bin" / "python"), "-m", "pip", "install", "-q"]
        if entry["pip"]:
            _must([*pip, *entry["pip"]], f"install the packages of {entry['repo']}")
        (path / "ready.json").write_text(json.dumps(key), encoding="utf-8")
    return path


def test_env(venv: Path, work: Path, entry: dict[str, Any]) -> dict[str, str]:
    """The environment variables of install and test commands: little of the user's is left."""
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    kept = ("PIP_", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    env = {n: v for n, v in os.environ.items() if n.upper().startswith(kept)}
    env |= {
        "PATH": f"{venv / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "VIRTUAL_ENV": str(venv),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "PYTHONHASHSEED": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return env | entry.get("env", {})
