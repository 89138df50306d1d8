"""`eval --audit`: which tasks can be graded here, which are flaky or broken, and the list of sound tasks that other verbs read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sandboxes
from host import Host, Result
from test_eval_trust import BY_TIME_ZONE, FIXED, PYTEST_NEW, PYTEST_OLD, Bench, diff

TOTAL, NAME = "tests/test_shop.py::test_total", "tests/test_shop.py::test_name"
# Tests of the project of unittest, which starts in a quarter of pytest's time.
OTHER_TOTAL, OTHER_NAME = (f"{name} (test_shop.TestShop.{name})" for name in ("test_total", "test_name"))
OTHER = {"broken", "accepts_empty", "half"}  # tasks of that project
ORDER = "\n\nSEEN: list[int] = []\n\n\ndef test_first():\n    SEEN.append(1)\n\n\ndef test_second():\n    assert SEEN\n"


class Audit:
    """A data set with a task of each class, and its audit."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        lost = {"shop.py": f"import time\n\n{BY_TIME_ZONE}"}
        rows = {
            "sound": {},
            "flaky": {"patch": self.patch(lost)},
            "broken": {"patch": self.patch({"other.py": "x = 1\n"})},
            "not-applied": {"patch": "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-x\n+y\n"},
            "accepts_empty": {"FAIL_TO_PASS": json.dumps([OTHER_NAME])},
            "environment": {"repo": "own/gone"},
            "by-order": {
                "test_patch": self.patch({"tests/test_shop.py": f"import pytest\n\n{PYTEST_OLD}{PYTEST_NEW}{ORDER}"}),
                "PASS_TO_PASS": json.dumps([NAME, "tests/test_shop.py::test_second"]),
            },
            "half": {
                "FAIL_TO_PASS": json.dumps([OTHER_TOTAL, OTHER_NAME]),
                "patch": self.patch({"shop.py": FIXED}).replace(
                    "sum(prices)", "sum(list(prices))"
                ),  # git does not know this file
            },
        }
        self.folder = bench.folder / "audit"
        self.folder.mkdir()
        (self.folder / "data.jsonl").write_text(
            "".join(
                json.dumps(bench.row("unittest" if name in OTHER else "pytest", name) | row) + "\n"
                for name, row in rows.items()
            )
        )
        self.said = self.run("--audit").check(3)  # the environment of one task is missing
        self.found: dict[str, Any] = {name: at["audit"] for name, at in self.summary().items()}

    def patch(self, files: dict[str, str]) -> str:
        return diff(self.bench.repos["pytest"], {**files})

    def run(self, *more: str, out: str = "out", data: str = "data.jsonl") -> Result:
        place = self.bench.folder
        options = ["--dataset", self.folder / data, "--run-id", "r", "--out", self.folder / out, "--jobs", "2"]
        options += ["--sandbox", "environment", "--repos", place / "repos", "--environments", place / "recipes.json"]
        env = {"XDG_CACHE_HOME": str(self.bench.cache)}
        return self.bench.host.run("eval", *map(str, options), *more, env=env, timeout=900)

    def summary(self) -> dict[str, Any]:
        file = self.folder / "out" / "logs" / "run_evaluation" / "r" / "summary.json"
        found: dict[str, Any] = json.loads(file.read_text())["instances"]
        return found


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    sandboxes.need("bubblewrap")
    return Audit(Bench(Host(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("bench")))


def test_each_task_has_its_class_and_the_reason(audit: Audit) -> None:
    classes = {name: at["class"] for name, at in audit.found.items()}
    assert classes.pop("not-applied") == "broken" and classes.pop("by-order") == classes.pop("half") == "sound"
    assert classes == {name: name for name in classes}
    why = {name: at["why"] for name, at in audit.found.items()}
    assert why["sound"] is None
    assert why["flaky"] == f"the reference patch resolves the task in 1 of 2 runs; {TOTAL} is flaky"
    assert why["broken"] == f"with the reference patch 1 test fails, such as {OTHER_TOTAL}"
    assert why["not-applied"] == "the reference patch does not apply"
    assert "there is no environment for own/gone" in why["environment"]
    assert audit.found["by-order"]["depends_on_order_or_day"] == ["tests/test_shop.py::test_second"]
    assert audit.found["half"]["passes_before"] == [OTHER_NAME]
    assert audit.found["sound"]["varied"][:3] == ["hash seed", "time zone", "test order"]
    assert "3 of 8 tasks are sound (37.5%; 95%: 13.7 to 69.4%): 1 flaky, 1 accepts empty, 2 broken" in audit.said.err
    assert "flaky          flaky" in audit.said.out


def test_the_history_is_searched_for_the_fix(audit: Audit) -> None:
    known = {name: audit.found[name]["fix_in_history"] for name in ("sound", "half", "not-applied")}
    assert known == {"sound": True, "half": False, "not-applied": None}


def test_the_sound_tasks_are_a_data_set_and_a_list(audit: Audit) -> None:
    sound = audit.folder / "out" / "sound.jsonl"
    names = ["sound", "by-order", "half"]
    assert [json.loads(line)["instance_id"] for line in sound.read_text().splitlines()] == names
    host, more = audit.bench.host, ["--predictions", "empty", "--json"]
    for options in ({"data": "out/sound.jsonl"}, {}):
        told = audit.run(*more, *([] if options else ["--instances", str(sound)]), out="again", **options).check()
        assert json.loads(told.stdout)["submitted_ids"] == sorted(names)
    told = host.run("report", str(audit.folder / "out"), "--instances", str(sound), "-f", "json").check()
    rows = json.loads(told.stdout)["tasks"]
    assert [(row["task"], row["outcome"]) for row in rows] == [(name, "sound") for name in sorted(names)]
    every = json.loads(host.run("report", str(audit.folder / "out"), "-f", "json").check().stdout)
    assert every["counts"] == {"sound": 3, "broken": 2, "flaky": 1, "accepts_empty": 1, "environment": 1}


def test_an_audit_is_kept_and_takes_the_reference_alone(audit: Audit, tmp_path: Path) -> None:
    again = audit.run("--audit", "-v").check(3)
    assert any("sound (kept)" in line for line in again.progress) and again.out == audit.said.out
    audit.run("--audit", "--predictions", "empty").one_line(2, "--audit runs the reference patches")
    audit.run("--audit", "--baseline").one_line(2, "--audit")
