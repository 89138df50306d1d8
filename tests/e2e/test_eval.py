"""Grading predictions: saved outputs get the grades of SWE-bench's own package, and tests run in containers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import repos
import sandboxes
from graded import CODE, FIX, LOGS, SCRIPT, lines, make_root
from host import Host, Result

RUN = "trial"
IMAGE = "acr-host-test/graded"


def grade(host: Host, folder: Path, *more: str, **options: Any) -> Result:
    """`eval` of folder/dataset.jsonl and folder/preds.jsonl into folder/out."""
    known = ["--dataset", folder / "dataset.jsonl", "--run-id", RUN, "--out", folder / "out"]
    given = [] if "--predictions" in more else ["--predictions", folder / "preds.jsonl"]
    return host.run("eval", *map(str, [*known, *given]), *more, **options)


# ---- Saved outputs ----


@pytest.mark.parametrize("version", ["4", "5"])
def test_recorded_logs_are_graded_as_by_the_package(host: Host, recorded: Path, tmp_path: Path, version: str) -> None:
    subprocess.run(["tar", "-xJf", recorded / "logs.tar.xz", "-C", tmp_path], check=True)
    official = sorted(tmp_path.glob(f"*/official-{version}.*.json"))
    assert len(official) == 5
    for path in official:
        run = path.parent.name
        options = ["--dataset", tmp_path / "dataset.jsonl", "--predictions", path.parent / "preds.jsonl"]
        options += ["--out", path.parent, "--run-id", run, "--rules", version, "--regrade", "--json"]
        final = json.loads(host.run("eval", *map(str, options)).check().stdout)
        wanted = json.loads(path.read_text())
        for name, report in wanted.items():
            (ours,) = path.parent.glob(f"logs/run_evaluation/*/*/{name}/report.json")
            assert json.loads(ours.read_text()) == {name: report}
        assert final["resolved_ids"] == sorted(name for name, report in wanted.items() if report["resolved"])
        assert final["error_ids"] == []
        assert final.pop("summary")["resolved"] == len(final["resolved_ids"])
        assert final == json.loads((path.parent / f"gpt-4-0125-preview.{run}.json").read_text())


ROW = {"instance_id": "a__b-1", "repo": "pallets/flask", "FAIL_TO_PASS": '["t::a"]', "PASS_TO_PASS": '["t::b"]'}
ROW |= {"image": IMAGE, "eval_type": "pass_and_fail", "log_parser": "parse_log_pytest"}
ROW |= {"eval_script": "#!/bin/bash\ntrue\n"}
PREDICTION = {"instance_id": "a__b-1", "model_name_or_path": "m/x", "model_patch": "diff\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines(tmp_path / "dataset.jsonl", [ROW])
    lines(tmp_path / "preds.jsonl", [PREDICTION])
    return tmp_path


@pytest.mark.parametrize(
    ("predictions", "more", "said"),
    [
        ([PREDICTION, PREDICTION], [], "two predictions for 'a__b-1'"),
        ([PREDICTION, PREDICTION | {"instance_id": "c__d-2"}], [], "for tasks that the data set lacks (1): c__d-2"),
        ([{"instance_id": "a__b-1"}], [], "model_patch"),
        ([{"instance_id": "a__b-1", "model_patch": 3}], [], "model_patch"),
        ([{"model_patch": ""}], [], "instance_id"),
        ([ROW | {"patch": "diff\n"}], [], "(a__b-1) is a task, not a prediction"),
        ([PREDICTION | {"model_name_or_path": ".."}], [], "cannot be used as a folder name"),
        ([PREDICTION | {"model_name_or_path": "a\nb"}], [], "cannot be used as a folder name"),
        ([], [], "has no predictions"),
        ([PREDICTION], ["--instance", "c__d-2"], "no instance 'c__d-2'"),
        ([PREDICTION], ["--run-id", "../x"], "cannot be used as a folder name"),
        ([PREDICTION], ["--run-id", ""], "--run-id is missing"),
        ([PREDICTION], ["--rules", "6"], "--rules"),
        ([PREDICTION], ["--predictions", "nowhere.jsonl"], "nowhere.jsonl"),
        ([PREDICTION], ["--predictions", "gold"], "the row of 'a__b-1' has no \"patch\""),
    ],
)
def test_bad_input_is_one_line(host: Host, folder: Path, predictions: list[Any], more: list[str], said: str) -> None:
    lines(folder / "preds.jsonl", predictions)
    result = grade(host, folder, "--regrade", *more)
    assert result.exit == 2
    assert said in result.err
    assert len(result.err.splitlines()) <= 2  # the second line is the hint at --help
    assert not (folder / "out").exists()


def test_a_batch_keeps_its_folder_for_its_own_predictions(host: Host, folder: Path) -> None:
    """Reports would show the grades of others as the batch's."""
    (folder / "out").mkdir()
    lines(folder / "out" / "preds.jsonl", [PREDICTION])
    grade(host, folder).one_line(2, "holds a batch with its own predictions; choose another --out")


def test_predictions_that_are_no_json(host: Host, folder: Path) -> None:
    (folder / "preds.jsonl").write_text('{"instance_id": \n')
    grade(host, folder, "--regrade").one_line(2, "line 1 of", "preds.jsonl")


def saved(folder: Path, text: str) -> Path:
    place = folder / "out" / LOGS / RUN / "m__x" / "a__b-1"
    place.mkdir(parents=True)
    (place / "test_output.txt").write_text(text)
    return place


PASSED = ">>>>> Start Test Output\nPASSED t::a\nPASSED t::b\n>>>>> End Test Output\n"


PATCHES = {"a__b-1": {key: value for key, value in PREDICTION.items() if key != "instance_id"}}  # by id
OF_PRO = {"instance_id": "a__b-1", "patch": PREDICTION["model_patch"], "prefix": PREDICTION["model_name_or_path"]}
FORMS = {
    **{"list": [PREDICTION], "object": {"any": PREDICTION}, "lines": PREDICTION, "alone": PREDICTION},
    **{"by id": PATCHES, "of Pro": [OF_PRO]},
}


@pytest.mark.parametrize(("form", "around"), [*((form, "\n{}\n\n") for form in FORMS), ("lines", "\ufeff{}\r\n\r\n")])
def test_the_forms_of_predictions(host: Host, folder: Path, form: str, around: str) -> None:
    (folder / "preds.jsonl").write_text(around.format(json.dumps(FORMS[form])), newline="")
    place = saved(folder, PASSED)
    report = json.loads(grade(host, folder, "--regrade", "--json").check().stdout)
    assert report["resolved_ids"] == ["a__b-1"]
    assert json.loads((place / "report.json").read_text())["a__b-1"]["resolved"]
    assert (folder / "out" / f"m__x.{RUN}.json").is_file()
    assert json.loads((folder / "out" / LOGS / RUN / "run.json").read_text())["task_repo"] is None


@pytest.mark.parametrize(
    "name",
    [
        "all_preds.jsonl",
        "preds.json",
        "a__b-1.diff",
        "a__b-1.patch",
        "a__b-1/patch.diff",
        "a__b-1.pred",
        "a__b-1/a__b-1.pred",
    ],
)
def test_a_folder_holds_a_file_of_predictions_or_a_diff_each(host: Host, folder: Path, name: str) -> None:
    place = folder / "m__x"
    (place / name).parent.mkdir(parents=True)
    (place / name).write_text("diff\n" if name.endswith(("diff", "patch")) else json.dumps(PREDICTION))
    (place / "other.txt").write_text("no prediction")
    saved(folder, PASSED)
    report = json.loads(grade(host, folder, "--regrade", "--predictions", str(place), "--json").check().stdout)
    assert report["resolved_ids"] == ["a__b-1"]


def test_what_is_graded_again_needs_no_script(host: Host, folder: Path) -> None:
    row = {key: value for key, value in ROW.items() if key not in ("eval_script", "image")} | {"repo": "own/none"}
    lines(folder / "dataset.jsonl", [row])
    assert 'is not a known project: add "eval_script", or' in grade(host, folder).check(2).err
    saved(folder, PASSED)
    for more in ([], ["--sandbox", "environment"]):
        assert json.loads(grade(host, folder, "--regrade", "--json", *more).check().stdout)["resolved_ids"] == [
            "a__b-1"
        ]


def test_predictions_of_several_models_have_one_report(host: Host, folder: Path) -> None:
    """It has the name of the first model, as that of the package."""
    lines(folder / "dataset.jsonl", [ROW, ROW | {"instance_id": "c__d-2"}])
    other = {"instance_id": "c__d-2", "model_name_or_path": "a", "model_patch": ""}
    lines(folder / "preds.jsonl", [PREDICTION | {"model_patch": ""}, other])
    assert "of 2 models: the report is named after the model of the first\n" in grade(host, folder).check().err
    assert json.loads((folder / "out" / f"m__x.{RUN}.json").read_text())["empty_patch_ids"] == ["a__b-1", "c__d-2"]
    assert f",a+{PREDICTION['model_name_or_path']}," in host.run("report", folder / "out", "-f", "csv").check().out


def test_an_object_holds_patches_by_id(host: Host, folder: Path) -> None:
    (folder / "preds.jsonl").write_text(json.dumps({"a__b-1": "diff\n"}))
    assert json.loads(grade(host, folder, "--regrade", "--json").check(3).stdout)["submitted_ids"] == ["a__b-1"]


def test_what_is_left_out_is_counted(host: Host, folder: Path) -> None:
    lines(folder / "dataset.jsonl", [ROW, ROW | {"instance_id": "a__b-2"}])
    lines(folder / "preds.jsonl", [PREDICTION | {"instance_id": name} for name in ("a__b-1", "a__b-2", "c__d-2")])
    saved(folder, PASSED)
    only = ["--instance", "a__b-1", "--ignore-unknown"]
    result = grade(host, folder, "--regrade", "--json", *only).check()
    assert json.loads(result.stdout)["submitted_ids"] == ["a__b-1"]
    assert "skipped predictions for tasks that the data set lacks (1): c__d-2" in result.err
    assert "skipped 1 of 2 predictions, because their tasks are not selected" in result.err


def test_what_has_no_saved_output_is_an_error_of_its_own(host: Host, folder: Path) -> None:
    result = grade(host, folder, "--regrade", "--json").check(3)
    assert json.loads(result.stdout)["error_ids"] == ["a__b-1"]
    assert "no saved output" in result.err


@pytest.mark.parametrize("error", [None, "the patch does not apply"])
def test_grading_again_keeps_what_it_cannot_find_out(host: Host, folder: Path, error: str | None) -> None:
    kept = {"resolved": False, "why": "a doubt", "has_experiments": True, "is_weak": False, "evidence": ["a fact"]}
    kept |= {"failure": None, "is_gradable": True, "why_not_gradable": None}
    kept |= {"wall_ms": 1500, "total_ms": 2000, "peak_bytes": 7, "error": error, "official_resolved": not error}
    place = saved(folder, PASSED)
    if error:
        (place / "test_output.txt").unlink()
    (place / "verdict.json").write_text(json.dumps({"schema_version": 3, "digest": "0"} | kept))
    for _ in range(2):
        result = grade(host, folder, "--regrade").check()
        assert (f"error (kept): {error}" if error else "resolved, not believed: a doubt") in result.err
        assert json.loads((place / "verdict.json").read_text()).items() >= kept.items()
        assert "2.0 s" in result.out


def test_a_link_in_place_of_a_folder_is_not_followed(host: Host, folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "test_output.txt").write_text(PASSED)
    (folder / "out" / LOGS / RUN / "m__x").mkdir(parents=True)
    (folder / "out" / LOGS / RUN / "m__x" / "a__b-1").symlink_to(elsewhere)
    result = grade(host, folder, "--regrade", "--json").check(3)
    assert json.loads(result.stdout)["error_ids"] == ["a__b-1"]
    assert "a part of its path is a symbolic link" in result.err
    assert sorted(path.name for path in elsewhere.iterdir()) == ["test_output.txt"]


def test_a_row_that_cannot_be_graded_does_not_cost_the_others(host: Host, folder: Path) -> None:
    other = ROW | {"instance_id": "a__b-2", "repo": "x/y", "log_parser": "parse_log_nobody"}
    others = [other, other | {"instance_id": "a__b-3"}]
    lines(folder / "dataset.jsonl", [*others, ROW])
    lines(folder / "preds.jsonl", [*(PREDICTION | {"instance_id": row["instance_id"]} for row in others), PREDICTION])
    saved(folder, PASSED)
    result = grade(host, folder, "--regrade", "--json").check(3)
    assert result.err.splitlines()[-1].startswith("acr-host eval: 2 of 3 tasks could not be graded on this machine")
    report = json.loads(result.stdout)
    assert (report["error_ids"], report["resolved_ids"]) == (["a__b-2", "a__b-3"], ["a__b-1"])
    assert result.err.count("parse_log_nobody") == 1 and "a__b-3: error: (as above)" in result.err


# ---- In containers ----

FUZZY = FIX.replace(" def f(x):\n", " def f(y):\n")  # the file has changed since: only `patch` applies this


@pytest.fixture(scope="module", params=["podman", pytest.param("dockerd", marks=pytest.mark.full)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Engine]:
    """An engine with an image that contains the project as git has it."""
    folder = tmp_path_factory.mktemp(request.param)
    started = sandboxes.start(request.param, folder / "engine", {IMAGE: make_root(folder, {"m.py": CODE})})
    yield started
    assert started.containers() == []
    started.stop()


class Case:
    """A data set of one task, and a prediction for it."""

    def __init__(self, host: Host, folder: Path, engine: sandboxes.Engine) -> None:
        self.host, self.folder, self.engine = host, folder, engine
        self.place = folder / "out" / LOGS / RUN / "m__x" / "a__b-1"

    def run(
        self, patch: str | None, *more: str, script: str = SCRIPT, how: str = "--official-only", **row: Any
    ) -> Result:
        """Grade a patch, without experiments unless `how` requests them."""
        lines(self.folder / "dataset.jsonl", [ROW | {"eval_script": script, "patch": FIX} | row])
        lines(self.folder / "preds.jsonl", [PREDICTION | {"model_patch": patch}])
        env = {"DOCKER_HOST": f"unix://{self.engine.socket}"}
        return grade(self.host, self.folder, "--json", how, *more, env=env, timeout=180)

    def ended(self, patch: str | None, *more: str, **options: Any) -> str:
        """The grade of the prediction."""
        report = json.loads(self.run(patch, *more, **options).check().stdout)
        (ending,) = (name for name in ("resolved", "unresolved", "error", "empty_patch") if report[f"{name}_ids"])
        return ending

    def verdict(self) -> dict[str, Any]:
        """Our verdict beside the report."""
        return json.loads((self.place / "verdict.json").read_text())


@pytest.fixture
def case(host: Host, tmp_path: Path, engine: sandboxes.Engine) -> Case:
    return Case(host, tmp_path, engine)


def test_a_patch_that_mends_resolves(case: Case) -> None:
    assert case.ended(FIX, how="--verbose") == "resolved"
    assert case.verdict()["applied_by"] == "git apply --verbose"
    assert (case.place / "patch.diff").read_text() == FIX
    assert ">>>>> Applied Patch" in (case.place / "run_instance.log").read_text()
    assert "SWEBENCH_TEST_EXIT_CODE=$?" in (case.place / "eval.sh").read_text()
    assert ">>>>> Test Exit Code: 0" in (case.place / "test_output.txt").read_text()


def test_a_patch_that_only_patch_takes(case: Case) -> None:
    assert case.ended(FUZZY) == "resolved"
    assert case.verdict()["applied_by"].startswith("patch --batch --forward --fuzz=5")


def test_a_patch_that_nothing_takes_is_an_error(case: Case) -> None:
    assert case.ended(FIX.replace("return", "yield")) == "error"
    assert not (case.place / "report.json").exists()
    assert not (case.place / "test_output.txt").exists()
    assert ">>>>> Patch Apply Failed" in (case.place / "run_instance.log").read_text()


@pytest.mark.parametrize("patch", ["", None])
def test_no_patch_is_not_run(case: Case, patch: str | None) -> None:
    assert case.ended(patch) == "empty_patch"
    assert not case.place.exists()


def test_gold_resolves_and_empty_does_not(case: Case) -> None:
    assert case.ended("", "--predictions", "gold") == "resolved"
    assert case.ended("", "--predictions", "empty") == "unresolved"


def test_a_report_is_kept_for_the_same_patch_only(case: Case) -> None:
    assert case.ended(FIX) == "resolved"
    before = (case.place / "test_output.txt").stat().st_mtime_ns
    again = case.run(FIX, "-v").check()
    assert "(kept)" in " ".join(again.progress), again.told()
    assert (case.place / "test_output.txt").stat().st_mtime_ns == before
    assert case.ended(FIX.replace("x + 1", "x + 2")) == "unresolved"
    assert case.ended(FIX, script=SCRIPT.replace("== 2", "== 3")) == "unresolved"
    assert case.ended(FIX, FAIL_TO_PASS='["t::c"]') == "unresolved"


def test_a_log_that_is_cut_inside_a_character(case: Case) -> None:
    assert case.ended(FIX, script=SCRIPT + "printf '\\342\\202'\n") == "resolved"


@pytest.mark.full
def test_a_log_that_is_longer_than_is_kept(case: Case) -> None:
    endless = SCRIPT.replace("import m\n", "import m\nimport sys\nwhile True:\n    sys.stdout.write('x' * 65536)\n")
    assert case.ended(FIX, "--timeout", "120", script=endless) == "error"
    assert case.engine.containers() == []


def test_no_network_unless_it_is_asked_for(case: Case) -> None:
    alone = SCRIPT.replace("import m\n", "import m, os\nassert os.listdir('/sys/class/net') == ['lo']\n")
    assert case.ended(FIX, script=alone) == "resolved"


def test_an_image_that_is_not_there(case: Case) -> None:
    result = case.run(FIX, image="acr-host-test/nowhere").check(3)
    assert json.loads(result.stdout)["error_ids"] == ["a__b-1"]
    assert "acr-host-test/nowhere" in result.err
    assert case.ended(FIX) == "resolved"  # failures of the environment are retried


def test_a_killed_harness_loses_one_task_and_leaves_no_container(case: Case) -> None:
    slow = SCRIPT.replace("import m\n", "import m, time\ntime.sleep(600)\n")
    lines(case.folder / "dataset.jsonl", [ROW | {"eval_script": slow}])
    lines(case.folder / "preds.jsonl", [PREDICTION | {"model_patch": FIX}])
    options = ["--dataset", case.folder / "dataset.jsonl", "--predictions", case.folder / "preds.jsonl"]
    options += ["--run-id", RUN, "--out", case.folder / "out"]
    started = case.host.start("eval", *map(str, options), env={"DOCKER_HOST": f"unix://{case.engine.socket}"})
    end = time.monotonic() + 120
    while not case.engine.containers() and time.monotonic() < end:
        time.sleep(0.1)
    started.send_signal(signal.SIGKILL)
    started.wait()
    told = case.host.run("report", str(case.folder / "out"), "-f", "text").check().out
    assert case.engine.containers() and "unfinished, 0 of 1 graded; rerun the same command\n1 task not begun: " in told
    assert case.ended(FIX) == "resolved" and not (case.place.parents[1] / "unfinished.json").exists()
    assert case.engine.containers() == []


# ---- In environments ----

TESTS = """import m
print("PASSED t::a" if m.f(1) == 2 else "FAILED t::a - wrong")
print("PASSED t::b")
"""
HIDDEN = """diff --git a/test_m.py b/test_m.py
--- a/test_m.py
+++ b/test_m.py
@@ -1,3 +1,4 @@
 import m
+import test_new
 print("PASSED t::a" if m.f(1) == 2 else "FAILED t::a - wrong")
 print("PASSED t::b")
diff --git a/test_new.py b/test_new.py
new file mode 100644
--- /dev/null
+++ b/test_new.py
@@ -0,0 +1 @@
+print("PASSED t::c")
"""
RECIPE = {
    "repo": "own/project",
    "versions": ["1"],
    "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    "pip": [],
    "install": "echo VALUE = 1 >made.py",
    "test": "python -B test_m.py #",
    "env": {"GREETING": "it's"},
}


class Project:
    """A task of a project of our own, with a recipe."""

    def __init__(self, host: Host, folder: Path, cache: Path) -> None:
        self.host, self.folder, self.cache = host, folder, cache
        repo = repos.make_repo(folder / "repos" / "own" / "project", {"m.py": CODE, "test_m.py": TESTS})
        self.row = ROW | {"repo": "own/project", "version": "1", "base_commit": repo.git("rev-parse", "HEAD")}
        self.row |= {"test_patch": HIDDEN, "patch": FIX, "PASS_TO_PASS": '["t::b", "t::c"]'}
        self.place = folder / "out" / LOGS / RUN / "m__x" / "a__b-1"
        self.ids = ["a__b-1"]

    def run(self, patch: str, how: str = "--official-only", env: dict[str, str] | None = None, **recipe: Any) -> Result:
        predicted = PREDICTION | {"model_patch": patch}
        lines(self.folder / "dataset.jsonl", [self.row | {"instance_id": each} for each in self.ids])
        lines(self.folder / "preds.jsonl", [predicted | {"instance_id": each} for each in self.ids])
        (self.folder / "recipes.json").write_text(json.dumps([RECIPE | recipe]))
        options = ["--sandbox", "environment", "--repos", str(self.folder / "repos")]
        options += ["--environments", str(self.folder / "recipes.json"), "--json"]
        caches = {"XDG_CACHE_HOME": str(self.cache)}
        return grade(self.host, self.folder, *options, how, env=caches | (env or {}), timeout=180)

    def report(self, patch: str, **recipe: Any) -> dict[str, Any]:
        """The content of report.json for a patch."""
        self.run(patch, **recipe).check()
        report: dict[str, Any] = json.loads((self.place / "report.json").read_text())["a__b-1"]
        return report


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache in which the tests' environment is made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(host: Host, tmp_path: Path, cache: Path) -> Project:
    sandboxes.need("bubblewrap")
    return Project(host, tmp_path, cache)


def test_an_environment_grades_without_an_engine(project: Project) -> None:
    made: list[int] = []
    for patch in (FIX, FIX.replace("x + 1", "x + 2")):
        assert project.report(patch, how="--verbose")["resolved"] == (patch == FIX)
        verdict = json.loads((project.place / "verdict.json").read_text())
        made += [verdict["setup_ms"], verdict["total_ms"]]
    assert made[0] > max(500, made[1], made[3], 5 * made[2]), "the first task makes the environment for all"
    environments = project.cache / "acr-host" / "environments"
    assert len([path for path in environments.iterdir() if path.is_dir()]) == 1
    assert not (project.folder / "repos" / "own" / "project" / "made.py").exists()


def test_excluded_tests_are_named(project: Project) -> None:
    """In every format, with the number of those that the patch should fix."""
    project.row |= {"PASS_TO_PASS": '["t::b", "t::lost"]', "FAIL_TO_PASS": '["t::a", "t::also_lost"]'}
    assert not project.report(FIX)["resolved"]
    result = project.run(FIX, exclude="lost$").check()
    assert "1  graded without tests of FAIL_TO_PASS, which the recipe excludes: a__b-1\n" in result.err
    summary = json.loads(result.stdout)["summary"]
    graded, verdict = summary["instances"]["a__b-1"], json.loads((project.place / "verdict.json").read_text())
    for told in (graded, verdict):
        assert (told["not_counted"], told["not_counted_fail_to_pass"]) == (["t::also_lost", "t::lost"], 1)
    assert summary["resolved"] == 1 and verdict["official_resolved"]
    for form in ("text", "csv", "html", "json"):
        told = project.host.run("report", str(project.folder / "out"), "-f", form, "-o", "-").check().out
        assert "1 FAIL_TO_PASS test excluded: also_lost" in told and ": also_lost, lost" not in told, form


def test_what_a_patch_does_to_test_files_is_undone(project: Project) -> None:
    cheats = (
        FIX.replace("x + 1", "x + 2")
        + """diff --git a/test_m.py b/test_m.py
--- a/test_m.py
+++ b/test_m.py
@@ -1,3 +1,3 @@
 import m
-print("PASSED t::a" if m.f(1) == 2 else "FAILED t::a - wrong")
+print("PASSED t::a")
 print("PASSED t::b")
diff --git a/test_new.py b/test_new.py
new file mode 100644
--- /dev/null
+++ b/test_new.py
@@ -0,0 +1,2 @@
+print("PASSED t::a")
+raise SystemExit
"""
    )
    report = project.report(cheats)
    assert report["tests_status"]["FAIL_TO_PASS"]["failure"] == ["t::a"]
    assert report["tests_status"]["PASS_TO_PASS"]["failure"] == []


def test_the_environment_and_its_variables_are_seen_by_the_tests(project: Project) -> None:
    test = "python -c 'import os, made; print(os.environ[\"GREETING\"])'; python -B test_m.py #"
    assert project.report(FIX, test=test)["resolved"]
    assert "it's\n" in (project.place / "test_output.txt").read_text()


def test_an_environment_that_cannot_be_made_is_one_line(project: Project) -> None:
    result = project.run(FIX, install="echo alas >&2; exit 3").check(3)
    assert json.loads(result.stdout)["error_ids"] == ["a__b-1"]
    assert "alas" in result.err
    assert not (project.place / "report.json").exists()
    project.ids = ["a__b-1", "a__b-2"]
    project.run(FIX, python="2.1").one_line(2, "a__b-1, a__b-2: python2.1 is neither in the PATH nor in pyenv; install")


def test_a_recipe_that_fails_is_tried_once(project: Project, tmp_path: Path) -> None:
    """The other tasks name the task with the reason; a rerun tries again."""
    project.ids = ["a__b-1", "a__b-2", "a__b-3"]
    base = tmp_path / "bin" / "python9.9"
    base.parent.mkdir()
    base.write_text("#!/bin/sh\necho no module named venv >&2\nexit 1\n")
    base.chmod(0o755)
    for _ in range(2):
        result = project.run(FIX, env={"PATH": f"{base.parent}:{os.environ['PATH']}"}, python="9.9")
        assert json.loads(result.stdout)["error_ids"] == project.ids
        (begun,) = [line for line in result.progress if "creating the environment own/project 1 (Python " in line]
        first = begun.rpartition(" ")[2]
        assert result.err.count(f"could not be created (see task {first})") == 1, result.err
        assert result.err.count(": (as above)") == 1 and result.err.count("no module named venv") == 1


@pytest.mark.full
def test_a_log_without_end_is_an_error(project: Project) -> None:
    summary = json.loads(project.run(FIX, test="yes #").check().stdout)["summary"]
    assert summary["failures"] == {"too_much_output": ["a__b-1"]} and not (project.place / "report.json").exists()


REMOVED = """diff --git a/m.py b/m.py
deleted file mode 100644
--- a/m.py
+++ /dev/null
@@ -1,2 +0,0 @@
-def f(x):
-    return x
"""


@pytest.mark.parametrize(
    ("patch", "command", "why"),
    [
        (FIX, "-m nowhere", "the test command does not start: No module named nowhere"),
        (FIX, "-c 'import nowhere'", "the environment lacks 'nowhere'"),
        (FIX, "-c 'print(\"INTERNALERROR> OSError: x\")'", "pytest's INTERNALERROR: OSError: x"),
        (REMOVED, "-m m", "no tests were found in the output: No module named m"),
        (REMOVED, "-c 'import m'", "no tests were found in the output: no module named 'm'"),
    ],
)
def test_what_is_missing_is_a_verdict_only_if_the_patch_removes_it(
    project: Project, patch: str, command: str, why: str
) -> None:
    is_verdict = patch == REMOVED
    result = project.run(patch, test=f"python -B {command} #").check(0 if is_verdict else 3)
    report, verdict = json.loads(result.stdout), json.loads((project.place / "verdict.json").read_text())
    assert report["unresolved_ids" if is_verdict else "error_ids"] == ["a__b-1"]
    assert verdict["failure"] == ("no_tests_found" if is_verdict else "environment")
    assert verdict["is_gradable"] == is_verdict == (why not in result.err) and "cannot be graded here" not in result.err
    assert f"  {why}\n" in project.host.run("report", str(project.folder / "out"), "-f", "text").check().out


def test_all_that_the_rows_lack_is_said_before_anything_starts(project: Project) -> None:
    """At once, and only if no task can be graded is nothing run."""
    whole = dict(project.row)
    for field in ("version", "test_patch", "base_commit", "FAIL_TO_PASS", "log_parser"):
        del project.row[field]
    (project.folder / "repos").rename(project.folder / "elsewhere")
    lacks = project.run(FIX).check(2).err.splitlines()
    assert 'the row has no "base_commit", "test_patch", "FAIL_TO_PASS"; ' in lacks[0] and '"log_parser"' in lacks[0]
    assert 'there is no environment for own/project; add "version" to the row' in lacks[0]
    assert "cannot find a repository of 'own/project'" in lacks[1] and "nothing was run" in lacks[2]
    (project.folder / "elsewhere").rename(project.folder / "repos")
    assert not (project.folder / "out").exists()
    project.row = whole | {"base_commit": "0" * 40}
    assert "no revision '0000000" in project.run(FIX).check(2).err


def test_a_bad_recipe_is_refused_before_any_task_starts(project: Project) -> None:
    assert 'has an unknown field "instal"' in project.run(FIX, instal="make").one_line(2, "recipes.json': recipe 1")
    assert not project.place.exists()


def test_a_fuzzy_patch_in_an_environment(project: Project) -> None:
    """A damaged report is made again."""
    assert project.report(FUZZY)["resolved"]
    assert json.loads((project.place / "verdict.json").read_text())["applied_by"].startswith("patch --batch")
    (project.place / "report.json").write_text('{"a__b-1": {"resol')
    assert project.report(FUZZY)["resolved"]


def test_environments_need_repositories(host: Host, folder: Path) -> None:
    grade(host, folder, "--sandbox", "environment").one_line(2, "--repos")
    grade(host, folder, "--sandbox", "elsewhere").one_line(2, "neither container nor environment")
