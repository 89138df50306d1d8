"""Converts Harbor tasks (task.toml, instruction.md, environment/, tests/test.sh) to rows with SWE-bench's fields.

The only test of a row is the task's verifier, which runs only in the task's container: the row's script copies tests/
to /tests, runs /tests/test.sh, and prints the reward that this script wrote ("parse_log_harbor" in grading/parsers.py
reads it). The patch is in /logs/artifacts/model.patch; a verifier with its own environment reads it there.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shlex
import tarfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TEST = "verifier"
IMAGE = "acr-host-harbor"  # prefix of the images that environment/ builds; runtime/eval/images.c builds them
FOLDER = "/app"  # usual folder of the project in the container
MAX_TESTS = 64 * 1024 * 1024  # maximum size of tests/ in bytes
_COMMIT = re.compile(r"\b[0-9a-f]{40}\b")
_REPOSITORY = re.compile(r"(?:github|gitlab)\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?(?=[\s/\"']|$)")
_WRITTEN = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(.*?\n)\1(?:\n|$)", re.DOTALL)  # matches a here-document


def folders_of(path: Path) -> list[Path]:
    """The tasks in a folder: the folder itself, or the tasks below it or below its folder tasks."""
    if (path / "task.toml").is_file():
        return [path]
    return sorted(file.parent for pattern in ("*/task.toml", "tasks/*/task.toml") for file in path.glob(pattern))


def row_of(folder: Path, data: Path) -> dict[str, Any]:
    """The row of a task; its "fault" describes an error in the task."""
    name = folder.resolve().name
    try:
        row = _row(folder, name, _toml(folder / "task.toml"))
        is_built = row["image"].startswith(f"{IMAGE}/")
        return row | ({"build_folder": str((folder / "environment").relative_to(data))} if is_built else {})
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        return {"instance_id": name, "fault": f"(the Harbor task '{name}') cannot be used: {error}"}


def _toml(path: Path) -> dict[str, Any]:
    try:
        import tomllib
    except ImportError as error:
        raise ValueError("task.toml needs a python3 of version 3.11 or newer") from error
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _row(folder: Path, name: str, task: dict[str, Any]) -> dict[str, Any]:
    if task.get("steps"):
        raise ValueError("the task has several steps ([[steps]]), but acr-host grades only tasks with one step")
    if not (folder / "tests" / "test.sh").is_file():
        raise ValueError("the task has no tests/test.sh")
    environment, verifier = task.get("environment") or {}, task.get("verifier") or {}
    own = verifier.get("environment") or {}
    is_separate = verifier.get("environment_mode", "separate" if own else "shared") == "separate"
    dockerfile = _body(folder / "environment" / "Dockerfile")
    repo, commit = _origin(folder, task.get("metadata") or {}, dockerfile)
    found = re.findall(r"^\s*WORKDIR\s+(/\S+)", dockerfile, re.MULTILINE)
    place = environment.get("workdir") or (found[-1] if found else FOLDER)
    variables = {**(environment.get("env") or {}), **(verifier.get("env") or {})}
    return {
        "instance_id": name,
        "repo": repo,
        "base_commit": commit,
        "problem_statement": _body(folder / "instruction.md"),
        "patch": _reference(folder / "solution"),
        "test_patch": "",
        "FAIL_TO_PASS": [TEST],
        "PASS_TO_PASS": [],
        "set": "Harbor",
        "folder": place,
        "image": own.get("docker_image") or environment.get("docker_image") or _image(folder, name),
        "log_parser": "parse_log_harbor",
        "eval_type": "pass_and_fail",
        "eval_script": _eval_script(
            folder, place, variables, _hooks(verifier), float(verifier.get("timeout_sec") or 600), is_separate
        ),
    }


def _body(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""


def _origin(folder: Path, metadata: dict[str, Any], dockerfile: str) -> tuple[str, str]:
    """The project's owner/name and its commit: from metadata, a SWE-bench row in tests/, or the Dockerfile."""
    kept = _body(folder / "tests" / "config.json")
    row = json.loads(kept) if kept.lstrip()[:1] == "{" else {}
    texts = [str(at.get(key) or "") for at in (metadata, row) for key in ("repository_url", "repository", "repo")]
    commits = [
        str(at.get(key) or "") for at in (metadata, row) for key in ("base_commit_hash", "base_commit", "commit")
    ]
    urls = [found[1] for text in [*texts, dockerfile] if (found := _REPOSITORY.search(text))]
    plain = [text for text in texts if re.fullmatch(r"[\w.-]+/[\w.-]+", text)]
    ids = [found[0] for text in [*commits, dockerfile] if (found := _COMMIT.search(text))]
    return next(iter([*plain, *urls]), f"harbor/{folder.resolve().name}"), next(iter(ids), "")


def _reference(solution: Path) -> str:
    """The reference patch: the only patch file of the solution, or a here-document in solve.sh; "" if there is none."""
    files = [path for path in solution.glob("*") if path.suffix in (".patch", ".diff")] if solution.is_dir() else []
    texts = [_body(files[0])] if len(files) == 1 else [at[1] for at in _WRITTEN.findall(_body(solution / "solve.sh"))]
    return next((text for text in texts if re.search(r"^--- \S", text, re.MULTILINE)), "")


def _image(folder: Path, name: str) -> str:
    """The name of the image that environment/ builds, derived from its contents."""
    digest = hashlib.sha256()
    for path in sorted((folder / "environment").rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return f"{IMAGE}/{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'task'}:{digest.hexdigest()[:16]}"


def _packed(tests: Path) -> str:
    """tests/ as a tar archive in base64; equal files give an equal archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.add(tests, "tests", filter=_plain)
    if data.tell() > MAX_TESTS:
        raise ValueError(f"the folder tests/ has more than {MAX_TESTS} bytes")
    packed = bytearray(data.getvalue())
    packed[4:8] = bytes(4)  # replaces the time in the gzip header by 0, so that equal files give equal bytes
    return base64.encodebytes(bytes(packed)).decode()


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info


def _hooks(verifier: dict[str, Any]) -> list[str]:
    """The commands that [[verifier.collect]] runs with the patch applied; the verifier then checks what they wrote."""
    hooks = verifier.get("collect") or []
    others = [at["service"] for at in hooks if at.get("service", "main") != "main"]
    if others:
        raise ValueError(f"[[verifier.collect]] is for the service '{others[0]}', but only one container is started")
    return [f"bash -c {shlex.quote(str(at['command']))} </dev/null" for at in hooks]


def _eval_script(
    folder: Path, place: str, variables: dict[str, Any], hooks: list[str], seconds: float, is_separate: bool
) -> str:
    """The script that runs the verifier in the container of the patched project, without the machine's variables."""
    values = {name: re.sub(r"\$\{\w+(?::-([^}]*))?\}", r"\1", str(value)) for name, value in variables.items()}
    back = "git apply -R /tmp/patch.diff || patch -R -p1 -i /tmp/patch.diff"
    lines = [
        f"cd {shlex.quote(place)}",
        *(f"export {name}={shlex.quote(value)}" for name, value in values.items() if re.fullmatch(r"\w+", name)),
        "rm -rf /tests /logs/verifier; mkdir -p /logs/verifier /logs/artifacts /logs/agent",
        "cp /tmp/patch.diff /logs/artifacts/model.patch",
        *hooks,
        *([f"[ ! -s /tmp/patch.diff ] || {{ {back}; }}"] if is_separate else []),
        f"base64 -d <<'END_OF_TESTS' | tar -xzf - -C /\n{_packed(folder / 'tests')}END_OF_TESTS",
        "chmod +x /tests/test.sh",
        ": '>>>>> Start Test Output'",
        f"timeout {seconds:g} /tests/test.sh",
        "reward=$(cat /logs/verifier/reward.json 2>/dev/null || cat /logs/verifier/reward.txt)",
        "printf '\\n>>>>> Reward: %s\\n' \"${reward//$'\\n'/ }\"",
        ": '>>>>> End Test Output'",
    ]
    return "\n".join(lines) + "\n"
