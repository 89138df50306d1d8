"""Harbor tasks: reading them, and grading patches with the task's own verifier, which runs only in the task's container."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sandboxes
from graded import CODE, FIX, LOGS, make_root
from host import ROOT, Host, Result

READER = ROOT / "python" / "acr" / "dataset" / "rows.py"
IMAGE = "acr-host-test/harbor"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEST = """#!/bin/bash
python3 /tests/check.py
"""
CHECK = """import json, os, sys
sys.path.insert(0, os.environ["PLACE"])
import m
reward = {"reward": float(m.f(1) == 2), "style": 0.5}
json.dump(reward, open("/logs/verifier/reward.json", "w"), indent=1)
"""
TOML = """schema_version = "1.3"
[task]
name = "own/TASK"
[metadata]
repository_url = "https://github.com/own/brook.git"
base_commit_hash = "COMMIT"
[environment]
docker_image = "IMAGE"
workdir = "/testbed"
[verifier]
timeout_sec = 60
env = { PLACE = "${NOWHERE:-/testbed}" }
"""


def write_task(folder: Path, more: str = "", **files: str) -> Path:
    """A task in a folder; `files` are added, or replace its own files."""
    toml = TOML.replace("TASK", folder.name).replace("COMMIT", COMMIT).replace("IMAGE", IMAGE) + more
    known = {"task.toml": toml, "instruction.md": "f adds nothing.\n", "tests/test.sh": TEST, "tests/check.py": CHECK}
    for name, text in {**known, "solution/solve.sh": f"git apply - <<'EOF'\n{FIX}EOF\n", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read(path: Path) -> list[dict[str, Any]]:
    done = subprocess.run([sys.executable, READER, path], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_task_is_a_row(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "one")
    toml = '[environment]\n[[steps]]\nname = "a"\n'
    write_task(tmp_path / "tasks" / "steps", **{"task.toml": toml})
    hook = '[[verifier.collect]]\nservice = "db"\ncommand = "true"\n'
    write_task(tmp_path / "tasks" / "hook", hook)
    write_task(tmp_path / "tasks" / "torn", **{"task.toml": "[task\n"})
    docker = f"FROM x\nWORKDIR /src\nRUN git clone https://github.com/own/x && git checkout {COMMIT}\n"
    write_task(tmp_path / "tasks" / "made", **{"task.toml": "", "environment/Dockerfile": docker})
    rows = {row["instance_id"]: row for row in read(tmp_path)}
    assert [row["instance_id"] for row in read(tmp_path / "tasks")] == ["hook", "made", "one", "steps", "torn"]
    assert read(tmp_path / "tasks" / "one") == [rows["one"]]
    one, made = rows["one"], rows["made"]
    assert (one["repo"], one["base_commit"], one["image"]) == ("own/brook", COMMIT, IMAGE)
    assert (one["problem_statement"], one["patch"], one["folder"]) == ("f adds nothing.\n", FIX, "/testbed")
    assert (made["repo"], made["base_commit"], made["folder"]) == ("own/x", COMMIT, "/src")
    assert made["image"].startswith("acr-host-harbor/made:")
    assert (made["build_folder"], "build_folder" in one) == ("tasks/made/environment", False)
    assert "is for the service 'db'" in rows["hook"]["fault"]
    assert "the task has several steps" in rows["steps"]["fault"] and "torn" in rows["torn"]["fault"]
    (tmp_path / "tasks" / "one" / "tests" / "test.sh").unlink()
    assert "the task has no tests/test.sh" in read(tmp_path / "tasks" / "one")[0]["fault"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Engine]:
    folder = tmp_path_factory.mktemp("podman")
    programs = [shutil.which(name) or name for name in ("tar", "gzip", "base64", "chmod", "timeout")]
    started = sandboxes.start("podman", folder / "engine", {IMAGE: make_root(folder, {"m.py": CODE}, programs)})
    yield started
    started.stop()


def grade(host: Host, engine: sandboxes.Engine | None, data: Path, *more: str) -> Result:
    options = ["--dataset", data, "--run-id", "r", "--out", data.parent / "out"]
    env = {"DOCKER_HOST": f"unix://{engine.socket}"} if engine else {}
    return host.run("eval", *map(str, options), "--json", *more, env=env, timeout=300)


def verdict(data: Path, model: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data.parent / "out" / LOGS / "r" / model / name / "verdict.json").read_text())
    return found


def test_the_verifier_grades_in_its_container(host: Host, tmp_path: Path, engine: sandboxes.Engine) -> None:
    data = tmp_path / "data"
    write_task(data / "plain")
    docker = f"FROM {IMAGE}\nRUN mv /testbed /src\nWORKDIR /src\n"
    toml = '[environment.env]\nPLACE = "/src"\n'
    write_task(data / "built", **{"task.toml": toml, "environment/Dockerfile": docker})
    apply = "#!/bin/bash\ncd /testbed && git apply /logs/artifacts/model.patch && python3 /tests/check.py\n"
    apply = apply.replace("&& python3", "&& grep -q 'return x + 1' /logs/artifacts/code && python3")
    separate = 'environment_mode = "separate"\n[[verifier.collect]]\ncommand = "cp m.py /logs/artifacts/code"\n'
    write_task(data / "separate", separate, **{"tests/test.sh": apply})
    write_task(data / "text", **{"tests/test.sh": "#!/bin/bash\necho 0 >/logs/verifier/reward.txt\n"})
    write_task(data / "silent", **{"tests/test.sh": "#!/bin/bash\ntrue\n"})
    gold = json.loads(grade(host, engine, data, "--predictions", "gold").check().stdout)
    assert gold["resolved_ids"] == ["built", "plain", "separate"]
    assert gold["unresolved_ids"] == ["silent", "text"]
    for name in gold["resolved_ids"]:
        told = verdict(data, "gold", name)
        assert (told["reward"], told["resolved"], told["why"]) == ({"reward": 1.0, "style": 0.5}, True, None), name
    assert verdict(data, "gold", "text")["reward"] == 0
    assert verdict(data, "gold", "silent")["failure"] == "no_tests_found"
    empty = json.loads(grade(host, engine, data, "--predictions", "empty", "--instance", "plain").check().stdout)
    assert empty["unresolved_ids"] == ["plain"]
    assert verdict(data, "empty", "plain")["reward"]["reward"] == 0


def test_a_verifier_runs_nowhere_else(host: Host, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    data = write_task(tmp_path / "data", **{"tests/test.sh": f"#!/bin/bash\ntouch {touched}\n"})
    (tmp_path / "repos").mkdir()
    more = ["--predictions", "gold", "--sandbox", "environment", "--repos", str(tmp_path / "repos")]
    result = grade(host, None, data, *more)
    assert "data: the verifier of a Harbor task runs only in its container" in result.check(2).err
    assert not os.path.lexists(touched)
