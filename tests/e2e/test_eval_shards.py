"""An evaluation in shards: the merged grades equal those of a single process for the same predictions."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import repos
import sandboxes
from graded import CODE, FIX, LOGS, lines
from host import Host, Result
from setups import make_environment

RUN = "trial"
SLURM = Path(__file__).parents[2] / "tools" / "cluster" / "slurm.sh"
TESTS = """import m
print("PASSED t::a" if m.f(1) == 2 else "FAILED t::a - wrong")
print("PASSED t::b")
"""
HIDDEN = """diff --git a/test_new.py b/test_new.py
new file mode 100644
--- /dev/null
+++ b/test_new.py
@@ -0,0 +1 @@
+import test_m
"""
RECIPE = {
    "repo": "own/project",
    "versions": ["1"],
    "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    "pip": [],
    "test": "python -B test_m.py #",
}
WRONG = FIX.replace("x + 1", "x + 2")
SLOW = FIX.replace("return x + 1", "return [__import__('time').sleep(0.6), x + 1][1]")
UNFIT = FIX.replace("return", "yield")
# Tasks of the first of three shards come first; its second task takes a while. The last task has no prediction.
PATCHES = {1: FIX, 4: SLOW, 2: UNFIT, 5: WRONG, 3: "", 6: None}


class Evaluation:
    """Six tasks of a project, with predictions in another order."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder, self.out = host, folder, folder / "out"
        repo = repos.make_repo(folder / "repos" / "own" / "project", {"m.py": CODE, "test_m.py": TESTS})
        row = {"repo": "own/project", "version": "1", "base_commit": repo.git("rev-parse", "HEAD"), "patch": FIX}
        row |= {"FAIL_TO_PASS": '["t::a"]', "PASS_TO_PASS": '["t::b"]', "test_patch": HIDDEN}
        self.rows = [
            row | {"log_parser": "parse_log_pytest", "problem_statement": "wrong", "instance_id": f"a__b-{n}"}
            for n in range(1, 7)
        ]
        self.predict(PATCHES)
        lines(folder / "tasks.jsonl", self.rows)
        (folder / "recipes.json").write_text(json.dumps([RECIPE]))
        make_environment(folder / "cache", RECIPE)

    def predict(self, patches: dict[int, str | None]) -> None:
        """A prediction for each task: its patch, or an empty one."""
        given = [(n, patch) for n, patch in patches.items() if patch is not None]
        lines(
            self.folder / "preds.jsonl",
            [{"instance_id": f"a__b-{n}", "model_name_or_path": f"m{n}", "model_patch": patch} for n, patch in given],
        )

    def words(self, *more: str, out: Path | None = None, tasks: str = "tasks.jsonl") -> list[str]:
        words = ["eval", "--dataset", self.folder / tasks, "--predictions", self.folder / "preds.jsonl"]
        words += ["--sandbox", "environment", "--repos", self.folder / "repos", "--out", out or self.out]
        words += ["--environments", self.folder / "recipes.json", "--run-id", RUN, "--official-only", *more]
        return list(map(str, words))

    @property
    def env(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def run(self, *more: str, **options: Any) -> Result:
        env = self.env | options.pop("env", {})
        return self.host.run(*self.words(*more, **options), env=env, timeout=120)

    def merge(self, out: Path | None = None) -> Result:
        return self.host.run("merge", str(out or self.out), env=self.env)


@pytest.fixture
def evaluation(host: Host, tmp_path: Path) -> Evaluation:
    sandboxes.need("bubblewrap")
    return Evaluation(host, tmp_path)


@pytest.fixture
def unsolved(evaluation: Evaluation) -> Evaluation:
    """Only empty patches, so nothing is run."""
    evaluation.predict(dict.fromkeys(PATCHES, ""))
    return evaluation


MEASURED = ("seconds", "test_seconds", "peak_bytes", "image_bytes")


def steady(out: Path, model: str = "m1") -> Any:
    """All files that a run leaves, without measured values and dates."""
    summary = json.loads((out / LOGS / RUN / "summary.json").read_text())
    run = json.loads((out / LOGS / RUN / "run.json").read_text())
    for figures in (summary, *summary["instances"].values()):
        assert all(isinstance(figures.pop(name), int | float) for name in MEASURED)
    assert run.pop("created_at")
    return (out / f"{model}.{RUN}.json").read_bytes(), json.dumps(summary), run


def told(result: Result) -> list[list[str]]:
    """The table without times."""
    return [re.split(r" {2,}", re.sub(r"\d+(\.\d+)? (s|MB)", "-", row)) for row in result.out.splitlines()]


def watched(evaluation: Evaluation) -> dict[str, Any]:
    """The output of `watch` for all shards."""
    return json.loads(evaluation.host.run("watch", evaluation.out, "--once", "--json").check().out)


def kill_in_the_middle(evaluation: Evaluation) -> None:
    """Kill shard 1 after the first of its two tasks is graded; until then no other process can lock it."""
    started = evaluation.host.start(*evaluation.words("--shard", "1/3"), env=evaluation.env)
    first = evaluation.out / "shard-1-of-3" / LOGS / RUN / "m1" / "a__b-1" / "verdict.json"
    end = time.monotonic() + 60
    while not first.exists() and time.monotonic() < end:
        time.sleep(0.02)
    started.send_signal(signal.SIGSTOP)
    evaluation.run("--shard", "1/3").one_line(3, "shard-1-of-3")
    state = watched(evaluation)
    assert (state["kind"], state["state"], state["graded"]["total"]) == ("grading", "running", 2)
    assert [part["state"] for part in state["parts"]] == ["running", "waiting", "waiting"]
    started.send_signal(signal.SIGKILL)
    started.wait()


def test_shards_come_to_what_one_process_does(evaluation: Evaluation) -> None:
    whole = evaluation.folder / "whole"
    one = evaluation.run(out=whole).check()
    kill_in_the_middle(evaluation)
    evaluation.run("--shard", "3", env={"JOB_COMPLETION_INDEX": "2"}).check()
    result = evaluation.merge().check(1)
    assert [line.partition(": ")[2] for line in result.err.splitlines()] == [
        "shard 1 of 3: 2 of 2 tasks are not graded: a__b-1, a__b-4",
        "shard 2 of 3 has not started",
    ]
    assert result.out == "" and not list(evaluation.out.glob("*.json"))
    again = evaluation.run("--shard", "1/3", "-v").check()
    assert [("(kept)" in line) for line in again.progress if "a__b-" in line] == [True, False], again.told()
    evaluation.run("--shard", "3", env={"SLURM_ARRAY_TASK_ID": "2"}).check()
    state = watched(evaluation)
    assert state["finished"] and state["ended"] == state["total"] == sum(state["by_status"].values())
    result = evaluation.merge().check()
    assert steady(evaluation.out) == steady(whole)
    report = json.loads((evaluation.out / f"m1.{RUN}.json").read_text())
    lists = [report[f"{name}_ids"] for name in ("resolved", "unresolved", "error", "empty_patch", "incomplete")]
    assert lists == [["a__b-1", "a__b-4"], ["a__b-5"], ["a__b-2"], ["a__b-3"], ["a__b-6"]]
    assert told(result) == told(one)
    assert "2 of 6 tasks resolved" in result.err
    assert evaluation.merge().check().out == result.out
    grades = json.loads(evaluation.host.run("report", str(evaluation.out), "--json").check().stdout)["tasks"]
    assert [row["task"] for row in grades] == [f"a__b-{n}" for n in range(1, 7)]
    table = evaluation.host.run("report", str(evaluation.out), "-f", "csv").check().out
    assert table.count(",own/project,") == 5 and ",m1+m2+m3+m4+m5," in table


def test_a_comparison_and_what_the_environment_is_at_fault_for(evaluation: Evaluation) -> None:
    """Grades saved outputs; the merged files equal those of one process."""
    evaluation.predict(dict.fromkeys((3, 2, 1), "diff"))
    lines(evaluation.folder / "tasks.jsonl", evaluation.rows[:3])
    whole, old = evaluation.folder / "whole", evaluation.folder / "old.json"
    old.write_text(json.dumps({"completed_ids": ["a__b-1", "a__b-2"], "resolved_ids": ["a__b-1"]}))
    passed = ">>>>> Start Test Output\nPASSED t::a\nPASSED t::b\n>>>>> End Test Output\n"
    for n, text in ((1, "Error response from daemon: no such container\n"), (2, passed), (3, passed)):
        for out in (whole, evaluation.out / f"shard-{2 - n % 2}-of-2"):
            place = out / LOGS / RUN / f"m{n}" / f"a__b-{n}"
            place.mkdir(parents=True)
            (place / "test_output.txt").write_text(text)
    words = ("--regrade", "--compare", str(old))
    one = evaluation.run(*words, out=whole).check(3)
    for number, code in (("1/2", 3), ("2/2", 0)):
        evaluation.run("--shard", number, *words).check(code)
    merged = evaluation.merge().check(3)
    for result, verb in ((one, "eval"), (merged, "merge")):
        assert f"acr-host {verb}: 1 of 3 tasks could not be graded on this machine" in result.err
    assert steady(evaluation.out, "m3") == steady(whole, "m3")
    assert json.loads((whole / f"m3.{RUN}.json").read_text())["infra_failure_ids"] == ["a__b-1"]
    compared = f"compared with '{old}': 1 gained, 1 lost, 0 in both, 0 in neither"
    assert compared in merged.err and compared in one.err
    old.unlink()
    evaluation.merge().one_line(2, "does not exist; name a final report")


def test_a_shard_without_predictions(unsolved: Evaluation) -> None:
    """The shard has nothing to do, and merging does not wait for a shard without tasks; Slurm numbers these shards."""
    lines(unsolved.folder / "tasks.jsonl", unsolved.rows[:2])
    unsolved.predict({1: ""})
    (unsolved.folder / "bin").mkdir()
    (unsolved.folder / "bin" / "acr-host").symlink_to(unsolved.host.program)
    for number in ("1", "2"):
        array = {"SLURM_ARRAY_TASK_ID": number, "PATH": f"{unsolved.folder}/bin:{os.environ['PATH']}"}
        env = unsolved.host.environment(unsolved.env | array)
        words = [SLURM, "3", *unsolved.words()]
        done = subprocess.run(words, env=env, check=True, timeout=120, capture_output=True, text=True)
        assert ("has no prediction to grade" in done.stderr) == (number == "2")
    unsolved.merge().check()
    report = json.loads((unsolved.out / f"m1.{RUN}.json").read_text())
    assert (report["empty_patch_ids"], report["incomplete_ids"]) == (["a__b-1"], ["a__b-2"])
    text = unsolved.host.run("watch", str(unsolved.out), "--once").check().out
    assert text.startswith("1 of 1 graded, 1 not resolved\n") and "shard-3-of-3: has not started" in text


def test_shards_of_different_evaluations_are_not_one(unsolved: Evaluation) -> None:
    """Rejected when the second begins and when they are merged; nothing is written."""
    aside, folder = unsolved.folder / "aside", unsolved.folder
    unsolved.run("--shard", "1/2").check()
    lines(folder / "turned.jsonl", unsolved.rows[::-1])
    unsolved.run("--shard", "1/3").one_line(2, "has 2 shards, but --shard asks for 3")
    unsolved.run("--shard", "3/2").one_line(2, "shard 3 does not exist; there are 2 shards")

    def refused(why: str, *more: str, **options: Any) -> None:
        unsolved.run("--shard", "2/2", *more, **options).one_line(2, f"started with different {why};")
        unsolved.run("--shard", "2/2", *more, out=aside, **options).check()
        (aside / "shard-2-of-2").rename(unsolved.out / "shard-2-of-2")
        unsolved.merge().one_line(2, f"was run with different {why} from shard 1")
        (unsolved.out / "shard-2-of-2").rename(folder / f"away-{why}")

    refused("tasks", tasks="turned.jsonl")
    refused("options", "--rules", "4")
    unsolved.predict({1: "", 2: ""})
    refused("predictions")
    assert not list(unsolved.out.glob("*.json"))
    swe_bench = ["swe-bench", "--dataset", str(folder / "tasks.jsonl"), "--repos", str(folder / "repos")]
    (folder / "answers.jsonl").touch()
    swe_bench += ["--model", f"script:{folder / 'answers.jsonl'}", "--out", str(unsolved.out), "--shard", "2/2"]
    unsolved.host.run(*swe_bench).one_line(2, "different verbs (eval and swe-bench)")


def test_what_cannot_be_merged(unsolved: Evaluation) -> None:
    """A damaged part, and an evaluation without shards, which is not overwritten."""
    for number in ("1/2", "2/2"):
        unsolved.run("--shard", number).check()
    part = unsolved.out / "shard-2-of-2" / "grades.json"
    sound = json.loads(part.read_text())
    row = sound["rows"][0]
    for wrong in (
        {},
        [],
        sound | {"run_id": "../x"},
        sound | {"rules": 6},
        sound | {"rows": 3},
        sound | {"rows": [3]},
        sound | {"rows": [row | {"model": "../x"}]},
        sound | {"rows": [row | {"grade": "superb"}]},
    ):
        part.write_text(json.dumps(wrong))
        unsolved.merge().one_line(2, "grades.json' is damaged")
    part.write_text(json.dumps(sound | {"rows": [*sound["rows"][1:], row | {"task": "c__d-9"}]}))
    unsolved.merge().one_line(1, "shard 2 of 2: 1 of 3 tasks are not graded: a__b-2")
    part.write_text(json.dumps(sound | {"options": "x"}))
    unsolved.merge().one_line(2, "was graded with different options")
    part.write_text(json.dumps(sound))
    other = unsolved.out / LOGS / RUN / "m1"
    other.mkdir(parents=True)
    unsolved.merge().one_line(2, "belongs to an evaluation without shards")
    other.rmdir()
    unsolved.merge().check()
