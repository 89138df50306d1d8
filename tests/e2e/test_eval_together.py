"""Grading within a batch, in parallel with another evaluation, and after kills; and its figures."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import repos
import sandboxes
from graded import CODE, FIX, LOGS, lines, make_root
from host import Host, Result
from runs import CHANGED, ISSUE, script_lines, write_script
from setups import make_environment
from verifying import processes

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"


# ---- Saved outputs: classes, figures, comparisons ----

ROW = {"repo": "pallets/flask", "FAIL_TO_PASS": '["t::a"]', "PASS_TO_PASS": '["t::b"]', "image": "nowhere"}
ROW |= {"eval_type": "pass_and_fail", "log_parser": "parse_log_pytest", "eval_script": "#!/bin/bash\ntrue\n"}


def log(*outcomes: str) -> str:
    return "\n".join([START, *outcomes, END, ""])


GOOD = log("PASSED t::a", "PASSED t::b")


@dataclass
class Saved:
    """Outputs of an earlier run, graded again without running anything."""

    host: Host
    folder: Path

    def grade(self, outputs: dict[str, str | None], run: str, *more: str) -> Result:
        """`eval --regrade` with one prediction for each output; None: it is empty."""
        prediction = {"model_name_or_path": "m"}
        rows = [ROW | {"instance_id": name} for name in outputs]
        lines(self.folder / "dataset.jsonl", rows)
        texts = {name: "" if text is None else "diff\n" for name, text in outputs.items()}
        lines(
            self.folder / "preds.jsonl",
            [prediction | {"instance_id": name, "model_patch": text} for name, text in texts.items()],
        )
        for name, text in outputs.items():
            place = self.folder / "out" / LOGS / run / "m" / name
            place.mkdir(parents=True, exist_ok=True)
            (place / "patch.diff").write_text(texts[name])
            if text is not None:
                (place / "test_output.txt").write_text(text)
        options = ["--dataset", self.folder / "dataset.jsonl", "--predictions", self.folder / "preds.jsonl"]
        options += ["--out", self.folder / "out", "--run-id", run, "--regrade"]
        return self.host.run("eval", *map(str, options), *more)

    def summary(self, outputs: dict[str, str | None], run: str, *more: str) -> dict[str, Any]:
        result = self.grade(outputs, run, "--json", *more)
        summary = json.loads(result.check(3 if CLASSES["environment"] in outputs.values() else 0).stdout)["summary"]
        assert summary == json.loads((self.folder / "out" / LOGS / run / "summary.json").read_text())
        return summary


@pytest.fixture
def saved(host: Host, tmp_path: Path) -> Saved:
    return Saved(host, tmp_path)


CLASSES = {
    "issue_remains": log("FAILED t::a - wrong", "PASSED t::b"),
    "tests_break": log("PASSED t::a", "FAILED t::b - wrong"),
    "no_tests_found": log("collected 0 items"),
    "script_ended_early": "bash: cd: /testbed: No such file or directory\n",
    "time_out": f"{START}\nPASSED t::b\n\nTimeout error: 3 seconds exceeded.",
    "environment": "Error response from daemon: no such container\n",
    "issue_tests_not_run": log("PASSED t::b"),
}


@pytest.mark.parametrize("version", ["4", "5"])
def test_failures_are_counted_by_class(saved: Saved, version: str) -> None:
    outputs = {f"a__b-{i}": text for i, text in enumerate(CLASSES.values())}
    summary = saved.summary({**outputs, "a__b-8": GOOD, "a__b-9": None}, "r", "--rules", version)
    assert summary["failures"] == {name: [f"a__b-{i}"] for i, name in enumerate(CLASSES)}
    assert (summary["tasks"], summary["resolved"]) == (9, 1)
    verdict = json.loads((saved.folder / "out" / LOGS / "r" / "m" / "a__b-1" / "verdict.json").read_text())
    assert verdict["failure"] == "tests_break"


def test_the_table_says_what_became_of_each_task(saved: Saved) -> None:
    result = saved.grade({"a__b-1": GOOD, "a__b-22": CLASSES["issue_remains"], "a__b-3": None}, "r").check()
    head, *rows = result.out.splitlines()
    assert head.split() == ["task", "grade", "time", "memory", "why"]
    assert [row.split()[:2] for row in rows] == [["a__b-1", "resolved"], ["a__b-22", "unresolved"], ["a__b-3", "empty"]]
    assert rows[1].endswith("  tests of the issue fail")
    assert "1 of 3 tasks resolved (33.3%; 95%: 6.1 to 79.2%): 1 unresolved, 0 with an error, 1 with an" in result.err
    assert "    1  tests of the issue fail: a__b-22\n" in result.err


def outputs(resolved: set[int], n: int) -> dict[str, str | None]:
    return {f"a__b-{i}": GOOD if i in resolved else CLASSES["issue_remains"] for i in range(n)}


# Wilson's intervals by the formula in another order: (p + z²/2n ± z√(p(1-p)/n + z²/4n²)) / (1 + z²/n).
@pytest.mark.parametrize(
    ("good", "n", "low", "high"), [(0, 10, 0.0, 0.2775), (8, 10, 0.4902, 0.9433), (3, 3, 0.4385, 1.0)]
)
def test_the_interval_is_wilsons(saved: Saved, good: int, n: int, low: float, high: float) -> None:
    assert saved.summary(outputs(set(range(good)), n), "r")["interval_95"] == pytest.approx([low, high], abs=5e-5)


ONCE, AGAIN = {0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}  # of 10 tasks, one is lost and five are gained


@pytest.mark.parametrize("form", ["report", "folder", "logs", "package"])
def test_another_run_is_compared(saved: Saved, form: str) -> None:
    first = saved.grade(outputs(ONCE, 10), "first").check()
    assert "beside" not in first.err
    out, elsewhere = saved.folder / "out", saved.folder / "elsewhere"
    if form == "folder":
        out.rename(elsewhere)
        other = elsewhere
    elif form == "package":  # older reports may have only the list of resolved ids
        report = json.loads((out / "m.first.json").read_text())
        other = saved.folder / "old.json"
        other.write_text(json.dumps({key: report[key] for key in ("completed_ids", "resolved_ids")}))
    else:
        other = out / "m.first.json" if form == "report" else out / LOGS / "first"
    here = {**outputs(AGAIN, 10), "a__b-77": GOOD}
    del here["a__b-9"]
    compared = f"compared with '{other}': 5 gained, 1 lost, 2 in both, 1 in neither (McNemar's exact p = 0.219)"
    assert compared in saved.grade(here, "again", "--compare", str(other)).check().err
    quiet = saved.grade(here, "again", "--compare", str(other), "-q").check()
    assert compared in quiet.err and "graded in" not in quiet.err and "why" in quiet.out
    compared = saved.summary(here, "again", "--compare", str(other))["comparison"]
    assert compared["gained"] == [f"a__b-{i}" for i in (3, 4, 5, 6, 7)]
    assert (compared["lost"], compared["both"], compared["neither"]) == (["a__b-0"], ["a__b-1", "a__b-2"], ["a__b-8"])
    assert (compared["compared"], compared["only_here"], compared["only_there"]) == (9, ["a__b-77"], 1)
    assert compared["mcnemar_p"] == pytest.approx(2 * (1 + 6) / 2**6)


def test_runs_that_agree_differ_by_chance(saved: Saved) -> None:
    saved.grade(outputs(ONCE, 4), "first").check()
    here = saved.summary(outputs(ONCE, 4), "again", "--compare", str(saved.folder / "out" / "m.first.json"))
    assert here["comparison"]["mcnemar_p"] == 1


def test_what_cannot_be_compared_is_one_line(saved: Saved) -> None:
    saved.grade(outputs(ONCE, 4), "first").check()
    saved.grade(outputs(ONCE, 4), "second").check()
    empty = saved.folder / "empty"
    empty.mkdir()
    (saved.folder / "list.json").write_text("[]")
    (saved.folder / "cut.json").write_text('{"resolved_ids": [')
    for other, said in {
        "nowhere": "does not exist",
        "empty": "neither a final report nor report.json files",
        "list.json": "is not a final report",
        "cut.json": "is not a final report",
        "out": "holds several final reports",
        f"out/{LOGS}": "twice; name the folder of one evaluation",
    }.items():
        result = saved.grade(outputs(ONCE, 4), "again", "--compare", str(saved.folder / other))
        result.one_line(2, "--compare", said)


# ---- In a batch ----

HIDDEN = """diff --git a/test_hidden.py b/test_hidden.py
new file mode 100644
--- /dev/null
+++ b/test_hidden.py
@@ -0,0 +1,3 @@
+from pathlib import Path
+print("PASSED t::b")
+print("PASSED t::a" if "blocks, part.days" in Path("%s").read_text() else "FAILED t::a")
"""
RECIPE = {
    "repo": "brook/bill",
    "versions": ["1"],
    "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    "pip": [],
    "test": "python -B test_hidden.py #",
}
SOLVED, UNSOLVED, EMPTY, GONE = "brook__bill-1", "brook__bill-2", "brook__bill-3", "gone__gone-4"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache in which the environment is made once."""
    folder = tmp_path_factory.mktemp("cache")
    make_environment(folder, RECIPE)
    return folder


@dataclass
class Batch:
    """Four tasks of the sample: two with its patch, of which one has a test that never passes, one without a patch, and
    one whose commit is missing."""

    host: Host
    folder: Path
    cache: Path

    def __post_init__(self) -> None:
        repo = repos.sample_repo(self.folder / "repos" / "brook" / "bill")
        row = {"repo": "brook/bill", "base_commit": repo.head, "problem_statement": ISSUE.read_text(), "version": "1"}
        row |= {"test_patch": HIDDEN % CHANGED, "FAIL_TO_PASS": '["t::a"]', "PASS_TO_PASS": '["t::b"]', "patch": ""}
        row |= {"log_parser": "parse_log_pytest"}
        rows = [row | {"instance_id": name} for name in (SOLVED, UNSOLVED, EMPTY, GONE)]
        rows[1]["FAIL_TO_PASS"] = '["t::never"]'
        rows[3]["base_commit"] = "0" * 40
        lines(self.folder / "tasks.jsonl", rows)
        answers = [line | {"instance_id": name} for name in (SOLVED, UNSOLVED) for line in script_lines()]
        self.model = write_script(self.folder / "script.jsonl", answers)
        self.out = self.folder / "out"
        self.recipe()

    def recipe(self, **more: Any) -> None:
        (self.folder / "recipes.json").write_text(json.dumps([RECIPE | more]))

    def options(self, *more: str) -> list[str]:
        options = ["--dataset", self.folder / "tasks.jsonl", "--repos", self.folder / "repos", "--out", self.out, *more]
        return list(map(str, options))

    def run(self, *more: str) -> Result:
        options = self.options("--model", self.model, "--verify=never", *more)
        return self.host.run("swe-bench", *options, env={"XDG_CACHE_HOME": str(self.cache)}, timeout=300)

    def graded(self, *more: str) -> Result:
        return self.run("--grade=environment", "--environments", str(self.folder / "recipes.json"), *more)

    def report(self) -> tuple[Path, dict[str, Any]]:
        (path,) = set(self.out.glob("*.json")) - {self.out / "summary.json"}
        return path, json.loads(path.read_text())


@pytest.fixture
def batch(host: Host, tmp_path: Path, cache: Path) -> Batch:
    sandboxes.need("bubblewrap")
    return Batch(host, tmp_path, cache)


def test_one_command_from_tasks_to_grades(batch: Batch) -> None:
    result = batch.graded("--jobs", "2").check(3)  # as without --grade, because the commit of GONE is missing
    table = {row.split()[0]: row.split()[1] for row in result.out.splitlines()[1:]}
    assert table == {SOLVED: "resolved", UNSOLVED: "unresolved", EMPTY: "empty"}
    (why,) = [line for line in result.out.splitlines() if line.startswith(EMPTY)]
    assert why.endswith("has no more lines for agent 'patch'"), "why the run made no patch"
    assert "1 of 4 tasks resolved (25.0%; 95%: 4.6 to 69.9%): 1 unresolved, 0 with an error, 1 with an" in result.err
    assert "0.000000 USD\n" in result.err
    path, report = batch.report()
    assert (report["resolved_ids"], report["unresolved_ids"]) == ([SOLVED], [UNSOLVED])
    assert (report["empty_patch_ids"], report["incomplete_ids"]) == ([EMPTY], [GONE])
    text = batch.host.run("watch", batch.out, "--once").check().out
    assert text.splitlines()[0] == "4 of 4 tasks, 2 with a patch, 1 failed, 1 none, 3 of 4 graded, 1 resolved"
    for subset in (["--retry-failed"], ["--slice", "1:2"]):  # the other grades stay
        assert "1 of 4 tasks resolved" in batch.graded(*subset).err and batch.report() == (path, report)
    (summary,) = batch.graded("--json").check(3).rows()
    assert {row["instance_id"]: row["grade"] for row in summary["tasks"] if "grade" in row} == table
    # `eval` grades preds.jsonl equally, and keeps existing grades.
    options = batch.options("--predictions", str(batch.out / "preds.jsonl"), "--run-id", "swe-bench", "--verbose")
    options += ["--sandbox", "environment", "--environments", str(batch.folder / "recipes.json")]
    again = batch.host.run("eval", *options, env={"XDG_CACHE_HOME": str(batch.cache)}, timeout=300).check()
    assert sum("(kept)" in line for line in again.progress) == 2
    assert batch.report() == (path, report)
    summary = json.loads((batch.out / LOGS / "swe-bench" / "summary.json").read_text())
    cost = summary["instances"][SOLVED]
    assert 0 < cost["test_seconds"] <= cost["seconds"] <= summary["seconds"]
    assert 0 < cost["peak_bytes"] <= summary["peak_bytes"]


def test_a_shard_grades_its_own_tasks(batch: Batch) -> None:
    """The shards run in another order; merging makes the report of the whole batch, as a single process does."""
    whole, parts = batch.out, batch.folder / "parts"
    one = batch.graded()
    _, report = batch.report()
    batch.out = parts
    for number, ids in (("1/2", {SOLVED, EMPTY}), ("2/2", {UNSOLVED, GONE})):
        result = batch.graded("--shard", number)
        assert "was changed" not in result.err
        (path,) = (batch.out / f"shard-{number[0]}-of-2").glob("*.swe-bench.json")
        own = json.loads(path.read_text())
        keys = ("resolved_ids", "unresolved_ids", "empty_patch_ids", "incomplete_ids")
        assert {name for key in keys for name in own[key]} == ids, result.told()
    grades = parts / "shard-2-of-2" / "grades.json"
    kept = grades.rename(batch.folder / "grades.json")
    batch.host.run("merge", parts).check(1)
    assert not list(parts.glob("*.swe-bench.json"))
    kept.rename(grades)
    batch.graded("--shard", "2/2", "--retry-failed")  # grades of tasks that had not failed stay
    merged = batch.host.run("merge", parts).check(1)  # as a batch ends with 3: GONE lacks its commit
    assert batch.report() == (parts / next(whole.glob("*.swe-bench.json")).name, report)
    table = [[row.split()[:2] for row in result.out.splitlines()][-4:] for result in (merged, one)]
    assert table[0] == table[1]
    sums = [[line.partition(";")[0] for line in result.err.splitlines()[-4:]] for result in (merged, one)]
    assert sums[0][:2] + sums[0][3:] == sums[1][:2] + sums[1][3:]
    told = json.loads(batch.host.run("report", batch.out, "--json").check().stdout)
    assert {row["task"]: row["grade"] for row in told["tasks"]} == {
        **{SOLVED: "resolved", UNSOLVED: "unresolved"},
        **{EMPTY: "empty_patch", GONE: "incomplete"},
    }


def in_environment(batch: Batch, *more: str) -> Result:
    """A batch whose code runs in the tasks' environments, which have the command in a package."""
    batch.recipe(pip=["charset-normalizer==3.3.2"])
    recipes = ["--environments", str(batch.folder / "recipes.json"), "--validate", "normalizer --version"]
    return batch.run("--sandbox", "environment", "--instance", SOLVED, *recipes, *more)


def place_of(batch: Batch) -> dict[str, Any]:
    options = json.loads((batch.out / SOLVED / "meta.json").read_text())["options"]
    return {key: options[key] for key in ("sandbox", "python", "setup", "image", "test_cmd")}


def test_a_task_runs_in_the_environment_that_grades_it(batch: Batch) -> None:
    """The environment is made once, and not again for a finished task; `auto` takes the place that --grade uses."""
    result = in_environment(batch, "--grade=environment").check()
    (row,) = json.loads((batch.out / "summary.json").read_text())["tasks"]
    assert (result.out.split()[5:7], row["setup_seconds"] > row["seconds"]) == ([SOLVED, "resolved"], True), row
    place = place_of(batch)
    (made,) = batch.cache.glob("acr-host/environments/*/lib/*/site-packages/charset_normalizer")
    assert Path(place["python"]).parts[:-2] == made.parts[:-4]
    assert (place["sandbox"], place["test_cmd"]) == ("bubblewrap", RECIPE["test"])
    assert "tests" not in json.loads((batch.out / SOLVED / "result.json").read_text())  # they were not requested
    aside = made.rename(batch.folder / "aside")
    in_environment(batch).check()  # the result comes from its folder
    assert not made.exists()
    aside.rename(made)
    batch.out = batch.folder / "auto"
    result = in_environment(batch, "--sandbox", "auto", "--grade=environment").check()
    assert "--sandbox auto: environment (as --grade)" in result.err
    assert place_of(batch) == place


def test_an_environment_that_cannot_be_made_fails_its_task(batch: Batch) -> None:
    place = ["--sandbox", "environment", "--environments", str(batch.folder / "recipes.json")]
    batch.recipe(versions=["2"])
    batch.run("--instance", SOLVED, *place).one_line(2, f"{SOLVED}: there is no environment", "nothing was run")
    batch.recipe(python="2.99")  # found before a model is called
    said = f"{SOLVED}, {UNSOLVED}: python2.99 is neither in the PATH nor in pyenv; install it (pyenv install 2.99)"
    for more in (place, ["--grade=environment", *place[2:]]):
        batch.run("--slice", "0:2", *more).one_line(2, said)
    batch.recipe(pip=["/nowhere/x.whl"])
    result, said = batch.run("--instance", SOLVED, *place).check(3), "cannot create the environment of Python"
    assert f"{SOLVED}: exit 3: the task's environment: " in result.err and said in result.err
    assert said in json.loads((batch.out / "summary.json").read_text())["tasks"][0]["error"]


def test_a_check_that_compared_nothing_is_said(batch: Batch) -> None:
    """The result, the summary and the end of a batch with several such patches say so."""
    rows = [json.loads(line) for line in (batch.folder / "tasks.jsonl").read_text().splitlines()]
    names = [f"brook__bill-{number}" for number in range(5, 8)]
    lines(batch.folder / "tasks.jsonl", [rows[0] | {"instance_id": name} for name in names])
    write_script(batch.folder / "script.jsonl", [at | {"instance_id": name} for name in names for at in script_lines()])
    batch.recipe(test="python -m unittest test_nothing")
    place = ["--sandbox", "environment", "--environments", str(batch.folder / "recipes.json")]
    result = batch.run(*place, "--regressions=auto").check()
    assert "warning: no project tests were compared for 3 patches" in result.err
    for row in json.loads((batch.out / "summary.json").read_text())["tasks"]:
        tests = json.loads((batch.out / row["instance_id"] / "result.json").read_text())["tests"]
        assert tests == {"why": row["not_compared"]} and tests["why"]
    batch.out = batch.folder / "elsewhere"
    result = batch.graded("--instance", names[0], "--regressions", "--test-cmd", "true")
    said = "--grade runs the tests in the environment, but the runs themselves do not use it; add --sandbox auto"
    assert said in result.err


def test_a_batch_without_grades_prints_none(batch: Batch) -> None:
    result = batch.run("--instance", SOLVED).check()
    assert (result.out, (batch.out / "logs").exists()) == ("", False)


def test_the_time_of_a_batch_bounds_its_tests(batch: Batch) -> None:
    batch.recipe(test="sleep 1000 #")
    late = batch.graded("--instance", SOLVED, "--max-time", "25").check(4)
    assert f"{SOLVED}: not graded: --max-time reached" in late.err
    assert "    1  not graded before --max-time" in late.err
    assert batch.report()[1]["incomplete_ids"] == [SOLVED]
    assert not list(batch.out.glob("logs/**/verdict.json"))
    batch.recipe()
    batch.graded("--instance", SOLVED).check()
    assert batch.report()[1]["resolved_ids"] == [SOLVED]


def test_options_of_grading_are_checked_first(batch: Batch) -> None:
    for more, said in [
        (["--rules", "4"], "--rules needs --grade"),
        (["--run-id", "x"], "--run-id needs --grade"),
        (["--compare", "x"], "--compare needs --grade"),
        (["--timeout", "5"], "--timeout needs --grade"),
        (["--network"], "--network needs --grade"),
        (["--grade=nowhere"], "container, environment"),
        (["--grade", "--run-id", "a/b"], "cannot be used as a folder name"),
        (["--grade", "--compare", "nowhere.json"], "nowhere.json"),
        (["--grade", "--environments", "nowhere.json"], "nowhere.json"),
        (["--environments", "x"], "--environments needs --sandbox environment"),
        (["--image-template", "x"], "--image-template needs --sandbox container"),
        (["--sandbox", "environment", "--python", "python3"], "leave out --python"),
        (["--sandbox", "container", "--setup", "true"], "leave out --python"),
    ]:
        batch.run(*more).one_line(2, said)
        assert not (batch.out / "preds.jsonl").exists()


# ---- Killed ----

CHECK = """diff --git a/check.py b/check.py
new file mode 100644
--- /dev/null
+++ b/check.py
@@ -0,0 +1,6 @@
+import subprocess, time
+import m
+subprocess.Popen(["sleep", "%s"], start_new_session=True)
+time.sleep(0.3)
+print("PASSED t::a" if m.f(1) == 2 else "FAILED t::a")
+print("PASSED t::b")
"""
MARKER = "91.7531"  # how long a process that the tests leave behind sleeps, in seconds
IMAGE = "acr-host-test/together"
SCRIPT = f"#!/bin/bash\nset -x\ncd /testbed\n: '{START}'\npython3 -B check.py\n: '{END}'\n"


class Killed:
    """Three tasks with different trees, graded two at a time, in `place`."""

    def __init__(self, host: Host, folder: Path, place: list[str], env: dict[str, str]) -> None:
        self.host, self.folder, self.place, self.env = host, folder, place, env
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        row = ROW | {"repo": "own/project", "version": "1", "image": IMAGE, "eval_script": SCRIPT, "patch": FIX}
        row |= {"test_patch": CHECK % MARKER}
        rows, repo = [], None
        for number in range(3):
            repo = repos.make_repo(folder / f"commit_{number}", {"m.py": CODE, "n.py": f"N = {number}\n"})
            rows.append(
                row | {"instance_id": f"a__b-{number}", "base_commit": repo.head, "repo": f"own/project_{number}"}
            )
            (folder / "repos" / "own").mkdir(parents=True, exist_ok=True)
            repo.path.rename(folder / "repos" / "own" / f"project_{number}")
        lines(folder / "dataset.jsonl", rows)
        recipe = RECIPE | {"test": "python -B check.py #", "install": "echo made >made.txt"}
        recipes = [recipe | {"repo": f"own/project_{number}"} for number in range(3)]
        (folder / "recipes.json").write_text(json.dumps(recipes))
        texts = [FIX, FIX.replace("x + 1", "x + 2"), FIX]
        predictions = [
            {"instance_id": f"a__b-{number}", "model_name_or_path": "m", "model_patch": text}
            for number, text in enumerate(texts)
        ]
        lines(folder / "preds.jsonl", predictions)

    def command(self, out: Path) -> list[str]:
        options = ["--dataset", self.folder / "dataset.jsonl", "--predictions", self.folder / "preds.jsonl"]
        more = ["--run-id", "r", "--out", str(out), "--jobs", "2", "--official-only"]
        return ["eval", *map(str, options), *more, *self.place]

    def environment(self, cache: Path) -> dict[str, str]:
        return self.env | {"XDG_CACHE_HOME": str(cache), "TMPDIR": str(self.temporary)}

    def run(self, out: Path, cache: Path) -> Result:
        return self.host.run(*self.command(out), env=self.environment(cache), timeout=300).check()

    def kill_after(self, seconds: float, out: Path, cache: Path) -> None:
        """Start the batch, and kill only its own process after that time."""
        child = self.host.start(*self.command(out), env=self.environment(cache))
        time.sleep(seconds)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def check_kills(case: Killed, moments: int, caches: list[Path], seed: int) -> None:
    """Wherever it is killed, the same command ends with the files of an uninterrupted run."""
    whole, cache = case.folder / "whole", caches[0]
    started = time.monotonic()
    result = case.run(whole, cache)
    duration = time.monotonic() - started
    report = (whole / "m.r.json").read_bytes()
    assert json.loads(report)["resolved_ids"] == ["a__b-0", "a__b-2"], result.told()
    moment = random.Random(seed)
    for number in range(moments):
        out = case.folder / f"out_{number}"
        at = moment.uniform(0, duration)
        cache = caches[number % len(caches)]
        case.kill_after(at, out, cache)
        case.run(out, cache)
        assert (out / "m.r.json").read_bytes() == report, f"killed after {at:.3f} s (seed {seed})"
        assert files(out) == files(whole), f"killed after {at:.3f} s (seed {seed})"
    until = time.monotonic() + 60
    while processes(MARKER) and time.monotonic() < until:
        time.sleep(0.1)
    assert processes(MARKER) == []
    assert files(case.temporary) == []
    for cache in caches:
        assert [path for path in cache.glob("acr-host/sandbox/*") if path.name.startswith(("tmp-", "."))] == []
    assert str(case.folder) not in Path("/proc/self/mounts").read_text()


def seed() -> int:
    """The seed of the moments, for failure messages."""
    return int(os.environ.get("ACR_SEED") or random.randrange(10**6))


@pytest.mark.parametrize("moments", [2, pytest.param(30, marks=pytest.mark.full)])
def test_killed_in_bubblewrap(host: Host, tmp_path: Path, cache: Path, moments: int) -> None:
    sandboxes.need("bubblewrap")
    place = ["--sandbox", "environment", "--repos", str(tmp_path / "repos")]
    case = Killed(host, tmp_path, [*place, "--environments", str(tmp_path / "recipes.json")], {})
    # Every second time, trees and set-ups are made again; the environment is made once.
    fresh = tmp_path / "fresh" / "acr-host"
    fresh.mkdir(parents=True)
    case.run(case.folder / "first", cache)
    (fresh / "environments").symlink_to(cache / "acr-host" / "environments")
    check_kills(case, moments, [cache, fresh.parent], seed())


@pytest.mark.full
def test_killed_while_an_environment_is_made(host: Host, tmp_path: Path) -> None:
    sandboxes.need("bubblewrap")
    place = ["--sandbox", "environment", "--repos", str(tmp_path / "repos")]
    case = Killed(host, tmp_path, [*place, "--environments", str(tmp_path / "recipes.json")], {})
    check_kills(case, 6, [tmp_path / f"cache_{number}" for number in range(7)], seed())


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sandboxes.Engine]:
    """podman with an image that contains the project and its test."""
    sandboxes.need("podman")
    check = "".join(
        line[1:] + "\n" for line in (CHECK % MARKER).splitlines() if line.startswith("+") and line[1:2] != "+"
    )
    root = make_root(tmp_path / "image", {"m.py": CODE, "check.py": check})
    started = sandboxes.start("podman", tmp_path / "engine", {IMAGE: root})
    yield started
    started.stop()


@pytest.mark.full
def test_killed_in_containers(host: Host, tmp_path: Path, engine: sandboxes.Engine) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    case = Killed(host, folder, [], {"DOCKER_HOST": f"unix://{engine.socket}"})
    check_kills(case, 30, [tmp_path / "cache"], seed())
    assert engine.containers() == []
    (verdict, *_) = (folder / "whole").rglob("verdict.json")
    assert json.loads(verdict.read_text())["image_bytes"] > 10**7


# ---- Recorded tasks ----

# The published result of each task of this run; the last task has no applicable patch.
RECORDED = {
    "sympy__sympy-22005": "resolved",
    "sympy__sympy-24152": "resolved",
    "pytest-dev__pytest-5227": "resolved",
    "mwaskom__seaborn-3010": "resolved",
    "pallets__flask-4992": "unresolved",
    "pylint-dev__pylint-7228": "empty",
}
RECORDED_RUN = "acr-run-2"


@pytest.mark.full
def test_recorded_tasks_from_answers_to_grades(host: Host, recorded: Path, tmp_path: Path) -> None:
    places = os.environ.get("ACR_REPOS")
    why = sandboxes.missing_for("bubblewrap") or (None if places else "no folder of repositories: set ACR_REPOS")
    if why:
        pytest.skip(why)
    rows = {row["instance_id"]: row for row in map(json.loads, (recorded / "tasks.jsonl").read_text().splitlines())}
    lines(tmp_path / "tasks.jsonl", [rows[name] for name in RECORDED])
    answers = []
    for name in RECORDED:
        command = [sys.executable, str(recorded.parent / "tools" / "make_script.py"), RECORDED_RUN, name]
        made = subprocess.run([*command, str(recorded / "runs.jsonl")], capture_output=True, check=True, text=True)
        answers += [json.loads(line) | {"instance_id": name} for line in made.stdout.splitlines()]
    options = ["--dataset", tmp_path / "tasks.jsonl", "--repos", places, "--out", tmp_path / "out", "--verify=never"]
    options += ["--model", write_script(tmp_path / "answers.jsonl", answers), "--grade=environment", "--jobs", "2"]
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name == "PYENV_ROOT"}
    pyenv = {"PYENV_ROOT": str(Path.home() / ".pyenv")} | kept
    result = host.run("swe-bench", *options, env=pyenv, timeout=1800)
    grades = {row.split()[0]: row.split()[1] for row in result.out.splitlines()[1:]}
    assert grades == RECORDED, result.told()
    assert "4 of 6 tasks resolved (66.7%; 95%: 30.0 to 90.3%)" in result.err
