"""Tests of tools/recorded: parsers, comparison of diffs, trees, grading and replay."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "recorded"))

import changes  # noqa: E402
import environments  # noqa: E402
import grade  # noqa: E402
import host  # noqa: E402
import replay_runs  # noqa: E402
import report  # noqa: E402
import tasks  # noqa: E402
import testlogs  # noqa: E402
import trees  # noqa: E402
from small_repository import SOURCE, TESTS, git, make_repository  # noqa: E402

NEW_TEST = "\n\ndef test_half():\n    assert maths.half(4) == 2\n"
FIX = ("maths.py", SOURCE.replace("// 3", "// 2"))
OTHER = ("maths.py", SOURCE.replace("// 3", "// 4"))
RUNNER = """
import sys, traceback
sys.path.insert(0, '.')
module = __import__('test_maths')
for name in sorted(vars(module)):
    if name.startswith('test_'):
        try:
            getattr(module, name)()
            print('PASSED test_maths.py::' + name)
        except AssertionError:
            print('FAILED test_maths.py::' + name + ' - AssertionError')
"""


def tree_of(project: Path, root: Path, tag: str = "") -> Path:
    """A private work tree of the project's commit."""
    commit = git(project, "rev-parse", "HEAD").strip()
    trees.make_tree(project, commit, root / "tree", tag)
    return root / "tree"


def diff_of(repository: Path, *changed: tuple[str, str]) -> str:
    """The diff that writes these (path, text) pairs; the repository is left as it was."""
    for name, text in changed:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    git(repository, "add", "-A", "-N")
    text = git(repository, "diff", "--full-index")
    git(repository, "reset", "-q", "--hard")
    git(repository, "clean", "-fdq")
    return text


@pytest.fixture(name="project")
def fixture_project(tmp_path: Path) -> Path:
    """A git repository `repos/acme+maths` with one commit."""
    files = {"maths.py": SOURCE, "test_maths.py": TESTS, "runner.py": RUNNER}
    return make_repository(tmp_path / "repos" / "acme+maths", files)


MAKE_SCRIPT = """
import json, sys
args = [a for a in sys.argv[1:] if a != '--expect']
rows = [json.loads(line) for line in open(args[2])]
row = next(r for r in rows if r['run'] == args[0] and r['instance_id'] == args[1])
for patch in row['patches']:
    print(json.dumps({'agent': 'patch', 'content': patch['response']}))
"""

HOST = """#!{python}
import json, pathlib, sys
args = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if sys.argv[1] == 'replay':
    patch = pathlib.Path(sys.argv[2], 'patch.diff')
    if patch.exists():
        sys.stdout.buffer.write(patch.read_bytes())
    sys.exit(0 if patch.exists() else 1)
assert pathlib.Path(args['--issue']).read_text() == 'half is wrong'
script = args['--model'].removeprefix('script:')
first = json.loads(open(script).readline())['content']
out = pathlib.Path(args['--out'])
(out / 'attempt_0').mkdir(parents=True)
status = 'APPLICABLE_PATCH' if first else 'NO_PATCH'
(out / 'attempt_0' / 'extract_status.json').write_text(json.dumps([{{'status': status}}]))
if first == 'crash':
    sys.exit('request lacks an expected string')
if first:
    (out / 'patch.diff').write_text(first)
    sys.stdout.write(first)
sys.exit(0 if first else 1)
"""


def write_data(root: Path, project: Path, runs: list[dict[str, Any]]) -> tasks.Places:
    """Write shared data for one task `acme__maths-1` and these runs; returns the places."""
    (root / "shared" / "recorded").mkdir(parents=True)
    (root / "shared" / "tools").mkdir()
    (root / "shared" / "tools" / "make_script.py").write_text(MAKE_SCRIPT)
    task = {
        "instance_id": "acme__maths-1",
        "repo": "acme/maths",
        "base_commit": git(project, "rev-parse", "HEAD").strip(),
        "version": "1.0",
        "problem_statement": "half is wrong",
        "patch": diff_of(project, FIX),
        "test_patch": diff_of(project, ("test_maths.py", TESTS + NEW_TEST)),
        "FAIL_TO_PASS": json.dumps(["test_maths.py::test_half"]),
        "PASS_TO_PASS": ["test_maths.py::test_name", "[100%]"],
    }
    entry = {
        "repo": "acme/maths",
        "versions": ["1.0"],
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "pip": [],
        "install": "",
        "test": "python runner.py",
    }
    folder = root / "shared" / "recorded"
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    (folder / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
    (folder / "environments.json").write_text(json.dumps([entry]))
    (root / "work").mkdir()
    return tasks.Places(root / "shared", root / "repos", root / "work", 2)


def run_of(name: str, *answers: tuple[str, str], resolved: bool = False) -> dict[str, Any]:
    """A recorded run with (status, diff) answers; the answer's text is the diff itself."""
    patches = [{"status": s, "diff": d, "response": d} for s, d in answers]
    return {
        "run": name,
        "instance_id": "acme__maths-1",
        "patches": patches,
        "resolved": resolved,
    }


def stand_in(root: Path) -> Path:
    """A program that takes acr-host's arguments and returns the script's first answer as diff."""
    path = root / "stand-in"
    path.write_text(HOST.format(python=sys.executable))
    path.chmod(0o755)
    return path


def here_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Python that runs the tests stand for every venv."""

    def linked(work: Path, entry: dict[str, Any], owner: str) -> Path:
        folder = work / "venvs" / "here"
        with trees.locked(folder):
            (folder / "bin").mkdir(parents=True, exist_ok=True)
            if not (folder / "bin" / "python").exists():
                (folder / "bin" / "python").symlink_to(sys.executable)
        return folder

    monkeypatch.setattr(environments, "make_venv", linked)


# --- logs


def test_pytest_summary_lines_give_second_word() -> None:
    log = "PASSED t/a.py::one\nFAILED t/a.py::two - assert 1 == 2\nxPASSED no\nPASSED\n"
    assert testlogs.parse_log("pallets/flask", log) == {
        "t/a.py::one": "PASSED",
        "t/a.py::two": "FAILED",
    }


def test_pytest_id_with_a_blank_is_cut_and_the_worst_status_counts() -> None:
    log = "PASSED t.py::f[a b]\nFAILED t.py::f[a c] - x\nPASSED t.py::f[a d]\n"
    assert testlogs.parse_log("pallets/flask", log) == {"t.py::f[a": "FAILED"}


def test_pytest_verbose_lines_with_colours_and_progress() -> None:
    log = "t.py::f \x1b[32mPASSED\x1b[0m   [ 50%]\nt.py::g SKIPPED\nt.py::h ERROR [100%]\n"
    assert testlogs.parse_log("astropy/astropy", log) == {
        "t.py::f": "PASSED",
        "t.py::g": "SKIPPED",
        "t.py::h": "ERROR",
    }


def test_progress_marks_and_skip_counts_are_no_tests() -> None:
    log = "PASSED    [100%]\nSKIPPED [2] t.py:3: why\nFAILED [ 50%]\n"
    assert testlogs.parse_log("pytest-dev/pytest", log) == {}


def test_path_parameters_keep_their_last_part_for_pylint_only() -> None:
    log = "PASSED t.py::f[/tmp/x/y.py]\nPASSED t.py::g[http://h/p]\nPASSED t.py::h[//n/p]\n"
    named = {"t.py::f[/y.py]", "t.py::g[http://h/p]", "t.py::h[//n/p]"}
    assert set(testlogs.parse_log("pylint-dev/pylint", log)) == named
    assert "t.py::f[/tmp/x/y.py]" in testlogs.parse_log("pallets/flask", log)


def test_sympy_marks_and_failure_headings() -> None:
    log = "test_a ok\ntest_b F\ntest_c E\ntest_d f\ntest_e Timeout\n"
    log += "test_g ok   [OK]\n____ sympy/x/tests/test_y.py:test_a ____\n"
    assert testlogs.parse_log("sympy/sympy", log) == {
        "test_a": "FAILED",
        "test_b": "FAILED",
        "test_c": "ERROR",
        "test_d": "XFAIL",
        "test_g": "PASSED",
    }


def test_django_ok_on_a_later_line_belongs_to_the_open_test() -> None:
    log = "test_a (m.T) ... ok\ntest_b (m.T) ... some output\nok\n"
    log += "test_c (m.T) ... skipped 'no'\ntest_d (m.T) ... FAIL\nERROR: test_a (m.T)\n"
    assert testlogs.parse_log("django/django", log) == {
        "test_a (m.T)": "ERROR",
        "test_b (m.T)": "PASSED",
        "test_c (m.T)": "SKIPPED",
        "test_d (m.T)": "FAILED",
    }


def test_absent_skipped_and_failed_tests_do_not_resolve() -> None:
    task = tasks.Task("i", "r/r", "c", "1", "", "", "", ("a", "b"), ("c", "d", "[100%]"))
    found = {"a": "PASSED", "b": "XFAIL", "c": "PASSED", "d": "SKIPPED"}
    row = grade.verdict(task, {}, found, "")
    assert not row["resolved"] and row["pass_to_pass"] == {
        "passed": ["c"],
        "failed": ["d"],
    }
    assert grade.verdict(task, {"exclude": "^d$"}, found, "")["resolved"]
    assert not grade.verdict(task, {"exclude": "^d$"}, {"a": "PASSED"}, "")["resolved"]


# --- diffs


def test_touched_files_of_changed_added_and_deleted() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/data.json\n"
    diff += "--- a/old.py\n+++ /dev/null\n"
    assert grade.touched_files(diff) == {
        "x.py": True,
        "data.json": True,
        "old.py": False,
    }
    assert grade.test_files(diff) == ["x.py"]


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("a/tests/b.py", True),
        ("test/b.py", True),
        ("a/test_b.py", True),
        ("a/b_test.py", True),
        ("conftest.py", True),
        ("a/testing/b.py", False),
        ("a/contest.py", False),
        ("a/tests.py", False),
    ],
)
def test_test_files_are_told_by_their_path(path: str, is_test: bool) -> None:
    assert changes.is_test_file(path) == is_test


def test_diffs_are_compared_by_what_they_make(project: Path, tmp_path: Path) -> None:
    tree = tree_of(project, tmp_path)
    full = diff_of(project, FIX)
    short = full.replace("index ", "index 0000000..1111111 #", 1)
    short = "\n".join(n for n in short.split("\n") if not n.startswith("index "))
    with_test = diff_of(project, FIX, ("test_maths.py", TESTS + NEW_TEST))
    for produced in (full, short, with_test):
        assert changes.compare(tree, produced.encode(), [full]).kind == "same"
    result = changes.compare(tree, diff_of(project, OTHER).encode(), [full])
    assert (result.kind, result.why) == ("other", "maths.py differs from line 2")


def test_an_earlier_recorded_diff_and_an_extra_file_are_named(project: Path, tmp_path: Path) -> None:
    tree = tree_of(project, tmp_path)
    first, last = diff_of(project, OTHER), diff_of(project, FIX)
    result = changes.compare(tree, first.encode(), [first, last])
    assert (result.kind, result.why) == ("other", "equals recorded diff 1 of 2")
    more = diff_of(project, FIX, ("new.py", "a = 1\n"))
    assert changes.compare(tree, more.encode(), [last]).why == "new.py changed by ours only"


def test_nothing_produced_and_nothing_recorded(project: Path, tmp_path: Path) -> None:
    tree = tree_of(project, tmp_path)
    tests_only = diff_of(project, ("test_maths.py", TESTS + NEW_TEST))
    fix = diff_of(project, FIX)
    assert changes.compare(tree, b"", []) == changes.Comparison("none", True, "")
    assert changes.compare(tree, b"", [tests_only]).recorded_none
    assert changes.compare(tree, b"", [fix]).kind == "none"
    assert changes.compare(tree, fix.encode(), []).why == "the recorded run has no diff"


def test_hunks_of_test_files_need_not_apply(project: Path, tmp_path: Path) -> None:
    tree = tree_of(project, tmp_path)
    foreign = "diff --git a/test_maths.py b/test_maths.py\n--- a/test_maths.py\n"
    foreign += "+++ b/test_maths.py\n@@ -90,1 +90,1 @@\n-nowhere\n+here\n"
    fix = diff_of(project, FIX)
    assert changes.compare(tree, fix.encode(), [foreign + fix]).kind == "same"
    with pytest.raises(trees.GitError):
        trees.post_image(tree, "base", foreign.encode())


# --- trees


def listing(path: Path) -> list[tuple[str, bytes, int]]:
    """Every file under `path` with its bytes and time."""
    files = sorted(p for p in path.rglob("*") if p.is_file())
    return [(str(p), p.read_bytes(), p.stat().st_mtime_ns) for p in files]


def test_a_tree_is_reset_and_its_source_is_not_touched(project: Path, tmp_path: Path) -> None:
    (project / "dirty.py").write_text("dirty")
    before = listing(project)
    tree = tree_of(project, tmp_path, tag="1.0.0")
    assert git(tree, "describe").strip() == "1.0.0"
    assert not (tree / "dirty.py").exists()
    (tree / "maths.py").unlink()
    (tree / "more.pyc").write_text("x")
    trees.reset_tree(tree)
    assert (tree / "maths.py").read_text() == SOURCE and not (tree / "more.pyc").exists()
    assert listing(project) == before


def test_absent_blobs_are_left_out(project: Path, tmp_path: Path) -> None:
    blob = git(project, "rev-parse", "HEAD:runner.py").strip()
    (project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    tree = tree_of(project, tmp_path)
    assert (tree / "maths.py").exists() and not (tree / "runner.py").exists()


# --- grading and replay


def test_grading_with_the_fix_without_it_and_with_a_diff_that_does_not_apply(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here_python(monkeypatch)
    grader = grade.Grader(write_data(tmp_path, project, []))
    fix, other = diff_of(project, FIX), diff_of(project, OTHER)
    pairs = [("acme__maths-1", diff) for diff in (fix, other, fix.replace("n // 3", "n // 7"))]
    good, bad, broken = grader.grade_all(pairs)
    assert good["why"] == "" and good["pass_to_pass"]["passed"] == ["test_maths.py::test_name"]
    assert not bad["resolved"] and bad["why"] == "1 of 1 fail-to-pass tests do not pass"
    assert not broken["resolved"] and broken["why"].startswith("patch does not apply")
    assert grade.verify(grader, ["acme__maths-1"]) == 0
    assert grader.grade("acme__maths-1", "")["why"] == "empty patch"
    assert grader.grade("nobody", fix)["why"] == "no such task"


def test_a_patch_cannot_keep_its_own_copy_of_the_tests(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here_python(monkeypatch)
    grader = grade.Grader(write_data(tmp_path, project, []))
    cheat = diff_of(project, ("test_maths.py", "def test_half():\n    pass\n"))
    assert not grader.grade("acme__maths-1", cheat)["resolved"]


def test_a_task_without_an_entry_or_repository_is_not_graded(project: Path, tmp_path: Path) -> None:
    places = write_data(tmp_path, project, [])
    fix = diff_of(project, FIX)
    project.rename(tmp_path / "gone")
    assert grade.Grader(places).grade("acme__maths-1", fix)["why"] == "no repository"
    (places.recorded / "environments.json").write_text("[]")
    assert grade.Grader(places).grade("acme__maths-1", fix)["why"] == "no environment"


def test_an_entry_that_names_the_task_comes_first() -> None:
    task = tasks.Task("i-1", "r/r", "c", "1", "", "", "", (), ())
    plain = {"repo": "r/r", "versions": ["1"]}
    named = {"repo": "r/r", "versions": ["0"], "tasks": ["i-1"]}
    other = {"repo": "r/r", "versions": ["1"], "tasks": ["i-2"]}
    assert environments.choose_entry([other, plain, named], task) is named
    assert environments.choose_entry([other, plain], task) is plain
    assert environments.choose_entry([other], task) is None


def test_a_venv_is_made_once_and_apart_where_the_install_step_writes_to_it(
    tmp_path: Path,
) -> None:
    pytest.importorskip("ensurepip", reason="this Python makes no venvs")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    entry = {"repo": "r/r", "python": version, "pip": [], "install": ""}
    first = environments.make_venv(tmp_path, entry, "a")
    (first / "mark").write_text("")
    assert environments.make_venv(tmp_path, entry, "b") == first
    assert (first / "mark").exists() and (first / "bin" / "python").exists()
    missing = entry | {"python": "2.0"}
    with pytest.raises(environments.EnvironmentFailure, match="no Python 2.0"):
        environments.make_venv(tmp_path, missing, "a")


def test_two_tasks_with_an_install_step_share_no_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "find_python", lambda version: Path("python"))
    entry = {"repo": "r/r", "python": "3.9", "pip": [], "install": "true"}
    made = lambda command, what: Path(command[-1]).mkdir()  # noqa: E731
    monkeypatch.setattr(environments, "_must", made)
    first, second = (environments.make_venv(tmp_path, entry, owner) for owner in "ab")
    assert first != second
    assert environments.make_venv(tmp_path, entry, "a") == first


def replay(root: Path, places: tasks.Places, **wanted: bool) -> list[dict[str, Any]]:
    """Replay all runs of `places` through the stand-in."""
    asked = {"expect": False, "properties": False, "validated": False} | wanted
    driver = host.Host(stand_in(root), 30, root / "work" / "cache")
    plan = replay_runs.Plan(places, driver, **asked)
    runs, known = tasks.load_runs(places), tasks.load_tasks(places)
    return replay_runs.replay_all(plan, known, runs, root / "work" / "results.jsonl")


def test_replay_tells_same_other_none_and_crash(project: Path, tmp_path: Path) -> None:
    fix, other = diff_of(project, FIX), diff_of(project, OTHER)
    crash = run_of("crash", ("RAW_PATCH_BUT_UNMATCHED", ""))
    crash["patches"][0]["response"] = "crash"
    runs = [
        run_of("same", (tasks.APPLICABLE, fix), resolved=True),
        run_of("early", (tasks.APPLICABLE, other), (tasks.APPLICABLE, fix)),
        run_of("none", ("RAW_PATCH_BUT_UNPARSED", "")),
        crash,
    ]
    rows = replay(tmp_path, write_data(tmp_path, project, runs), properties=True)
    assert [r["kind"] for r in rows] == ["same", "other", "none", "none"]
    assert [r["exit"] for r in rows] == [0, 0, 1, 1]
    assert [set(r["properties"].values()) for r in rows] == [{""}] * 4
    assert rows[1]["why"] == "equals recorded diff 1 of 2"
    assert [r["run"] for r in report.differing(rows)] == ["early"]
    text = report.summary(rows)
    assert "| acme/maths | 4 | 0 | 2 | 2 | 0 | 1 | 1 | 2 | 2 |" in text


def test_replay_leaves_out_answers_that_were_refused(project: Path, tmp_path: Path) -> None:
    fix, other = diff_of(project, FIX), diff_of(project, OTHER)
    unmatched = ("RAW_PATCH_BUT_UNMATCHED", other)
    runs = [run_of("early", (tasks.APPLICABLE, other), unmatched, (tasks.APPLICABLE, fix))]
    rows = replay(tmp_path, write_data(tmp_path, project, runs), validated=True)
    assert rows[0]["kind"] == "same"


def test_replay_counts_unmet_expectations(project: Path, tmp_path: Path) -> None:
    crash = run_of("crash", ("RAW_PATCH_BUT_UNMATCHED", ""))
    crash["patches"][0]["response"] = "crash"
    runs = [crash, run_of("met", ("RAW_PATCH_BUT_UNPARSED", ""))]
    rows = replay(tmp_path, write_data(tmp_path, project, runs), expect=True)
    assert [report.expectations_met(r) for r in rows] == [False, True]
    assert "met in 1 of 2 runs (50.0 %)" in report.summary(rows)
    assert "request lacks an expected string" in report.summary(rows)


def test_replay_without_the_repository_is_counted(project: Path, tmp_path: Path) -> None:
    places = write_data(tmp_path, project, [run_of("x", (tasks.APPLICABLE, "d"))])
    project.rename(tmp_path / "gone")
    rows = replay(tmp_path, places)
    assert rows[0]["kind"] == "no repository" and report.differing(rows) == []


def test_resolved_runs_are_graded_again(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here_python(monkeypatch)
    fix, other = diff_of(project, FIX), diff_of(project, OTHER)
    runs = [
        run_of("good", (tasks.APPLICABLE, fix), resolved=True),
        run_of("bad", (tasks.APPLICABLE, other), resolved=True),
        run_of("not", (tasks.APPLICABLE, other)),
    ]
    places = write_data(tmp_path, project, runs)
    rows = replay(tmp_path, places)
    replay_runs.grade_rows(places, rows)
    assert [r.get("graded", {}).get("resolved") for r in rows] == [True, False, None]
    assert "| **all** | 2 | 2 | 1 | 50.0 % |" in report.summary(rows)


def test_a_wrong_diff_breaks_the_git_property(project: Path, tmp_path: Path) -> None:
    tree = tree_of(project, tmp_path)
    fix = diff_of(project, FIX).encode()
    assert replay_runs.check_diff(tree, fix) == ""
    short = re.sub(rb"([0-9a-f]{7})[0-9a-f]{33}", rb"\1", fix)
    assert replay_runs.check_diff(tree, short).startswith("git diff differs in line 2")
    broken = replay_runs.check_diff(tree, fix.replace(b"n // 3", b"n // 9"))
    assert broken.startswith("git apply: ")


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "slow"
    path.write_text("#!/bin/sh\nsleep 600\n")
    path.chmod(0o755)
    outcome = host.Host(path, 0.5, tmp_path).call(["run"])
    assert outcome.exit is None and outcome.seconds < 600


def test_statuses_and_the_last_message_are_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "attempt_0"
    folder.mkdir(parents=True)
    rows = [{"status": "NO_PATCH", "message": "no edit\nblock"}, {"status": tasks.APPLICABLE}]
    (folder / "extract_status.json").write_text(json.dumps(rows))
    outcome = host.Outcome(3, 0.1, b"", "first\nlast line")
    text = "NO_PATCH, APPLICABLE_PATCH; no edit block; last line"
    assert host.reason(tmp_path, outcome) == text


@pytest.mark.parametrize("line", ["{", '{"instance_id": 1}', "[]"])
def test_a_bad_prediction_names_its_line(line: str) -> None:
    good = json.dumps({"instance_id": "a", "model_patch": None})
    with pytest.raises(tasks.DataError, match="line 2"):
        grade.read_predictions([good, line])


def test_missing_data_ends_with_one_line(tmp_path: Path) -> None:
    tool = ROOT / "tools" / "recorded" / "replay_runs.py"
    places = [
        "--shared",
        str(tmp_path),
        "--work",
        str(tmp_path),
        "--repos",
        str(tmp_path),
    ]
    done = subprocess.run(
        [sys.executable, str(tool), *places],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_the_recorded_data_is_read_where_it_is() -> None:
    shared = tasks.default_shared()
    if not (shared / "recorded" / "runs.jsonl").is_file():
        pytest.skip(f"no recorded data at {shared}: set ACR_SHARED")
    places = tasks.Places(shared, Path(os.devnull), Path(os.devnull), 1)
    known, runs = tasks.load_tasks(places), tasks.load_runs(places)
    entries = tasks.load_environments(places)
    assert runs and all(run.instance_id in known for run in runs)
    assert all(run.final_diff for run in runs if run.resolved)
    flask = [t for t in known.values() if t.repo == "pallets/flask"]
    assert flask and all(environments.choose_entry(entries, t) for t in flask)
    for task in known.values():
        assert task.fail_to_pass and grade.test_files(task.test_patch)
