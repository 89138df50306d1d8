"""The official SDKs, installed from npm into the tests' cache, and the requests that each sends.

The requests are golden files in `tests/cases/llm/requests/`, one for each client, so that our requests can be compared
without npm. With npm, the SDKs make their calls again and must send the same requests.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import packages
from host import ROOT
from venvs import locked

from .recorder import Recorder, Request

HERE = Path(__file__).resolve().parent
GOLDENS = ROOT / "tests" / "cases" / "llm" / "requests"
INSTALL_SECONDS = 600
CAPTURE_SECONDS = 300
KEY = "sk-oracle-0123456789"
ENVIRONMENT = {
    "ORACLE_KEY": KEY,
    "ORACLE_ACCESS": "AKIDEXAMPLE",
    "ORACLE_SECRET": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "ORACLE_SESSION": "session//token==",
    "ORACLE_AZURE_ENDPOINT": "https://my-resource.openai.azure.com",
    "ORACLE_AZURE_VERSION": "2025-03-01-preview",
}
# Headers that depend on the time, machine or release: only their presence is kept, not their value.
_ANY = re.compile(
    r"x-amz-date|amz-sdk-invocation-id|content-length|user-agent|x-amz-user-agent|"
    r"x-amz-content-sha256|x-goog-api-client|x-stainless-.*"
)


class Unavailable(Exception):
    """There is no Node, or npm cannot get the packages; the message is one line."""


def calls() -> dict[str, Any]:
    """The calls that all clients make."""
    loaded: dict[str, Any] = json.loads((HERE / "calls.json").read_text("utf-8"))
    return loaded


def _npm(folder: Path) -> None:
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"the official SDKs: {error}") from error
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if "error" in line]
        raise Unavailable(f"the official SDKs: {told[0] if told else 'npm failed'}")


def install() -> Path:
    """A folder with the packages of package.json and our scripts. Errors: Unavailable."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Unavailable("the official SDKs need node and npm")
    wanted = (HERE / "package.json").read_bytes()
    name = hashlib.sha256(wanted).hexdigest()[:16]
    path = packages.cache() / "npm" / name
    with locked(path):
        if not (path / "ready").is_file():
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
            (path / "package.json").write_bytes(wanted)
            _npm(path)
            (path / "ready").touch()
        for script in ("capture.mjs", "sign.mjs", "calls.json"):
            shutil.copyfile(HERE / script, path / script)
    return path


def node(folder: Path, script: str, env: dict[str, str], text: str = "") -> str:
    """The output of a script."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        ["node", script],
        cwd=folder,
        env=kept | ENVIRONMENT | env,
        input=text,
        capture_output=True,
        check=False,
        text=True,
        timeout=CAPTURE_SECONDS,
    )
    assert done.returncode == 0, f"{script}: {done.stdout[-500:]}\n{done.stderr[-3000:]}"
    return done.stdout


def describe(request: Request) -> dict[str, Any]:
    """A request in the form of the golden files."""
    headers = {n: "*" if _ANY.fullmatch(n) else v for n, v in request.headers}
    if "authorization" in headers:
        headers["authorization"] = describe_signature(headers["authorization"])
    return {
        "host": request.host,
        "method": request.method,
        "target": request.target,
        "headers": dict(sorted(headers.items())),
        "body": json.loads(request.body),
    }


def describe_signature(value: str) -> str:
    """An Authorization header without the signature and the date of AWS's."""
    if not value.startswith("AWS4-"):
        return value
    scheme, _, rest = value.partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    scope = parts["Credential"].split("/")
    scope[1] = "DAY"
    return f"{scheme} Credential={'/'.join(scope)}"


def capture(recorder: Recorder) -> dict[str, dict[str, Any]]:
    """The requests of each SDK: client -> call -> request. Errors: Unavailable."""
    folder = install()
    before = len(recorder.requests)
    names = node(folder, "capture.mjs", recorder.environment()).split()
    sent = recorder.requests[before:]
    assert len(names) == len(sent), f"{len(names)} calls, {len(sent)} requests"
    found: dict[str, dict[str, Any]] = {}
    for name, request in zip(names, sent):
        client, call = name.split("/")
        found.setdefault(client, {})[call] = describe(request)
    return found


def write_goldens(found: dict[str, dict[str, Any]]) -> None:
    """Write the SDKs' requests as golden files."""
    GOLDENS.mkdir(parents=True, exist_ok=True)
    for client, requests in found.items():
        text = json.dumps(requests, indent=1, ensure_ascii=False, sort_keys=True)
        (GOLDENS / f"{client}.json").write_text(text + "\n", "utf-8")


def read_goldens() -> dict[str, dict[str, Any]]:
    """The SDKs' requests in the golden files."""
    return {p.stem: json.loads(p.read_text("utf-8")) for p in sorted(GOLDENS.glob("*.json"))}
