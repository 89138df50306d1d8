"""Proves patches for recorded issues by running code that fails before and passes after, on source releases that
replace the commits.

The answers of search agent and patch writer are recorded; reproducers and reviews were written for this test. Each
review expects, word for word, the script's output without and with the patch when it ran here, with git and Python
alone. Needs the recorded data, the package registry and bubblewrap.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import pytest

# isort: off
from recorded_tools import encoded, environments, tasks, trees

# isort: on
from host import ROOT, Host, Result
from repos import Repo, digest
from runs import journal, read_json, write_script
from verifying import need_bubblewrap

REPRODUCERS = ROOT / "tests" / "fixtures" / "reproducers"
SECONDS = 240
NAME = "reproducer.py"

Line = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """A recorded run that resolved its task, and the release with the same files to fix."""

    instance: str
    run: str
    package: str
    release: str

    @property
    def name(self) -> str:
        """The task in the form of the reproducers' names: `sympy-24152`."""
        return self.instance.rsplit("__", 1)[1]


SYMPY_24152 = Known("sympy__sympy-24152", "acr-run-1", "sympy", "1.11.1")
SYMPY_21847 = Known("sympy__sympy-21847", "acr-run-2", "sympy", "1.8")
SYMPY_22005 = Known("sympy__sympy-22005", "acr-val-sbfl", "sympy", "1.9")
SYMPY_23117 = Known("sympy__sympy-23117", "acr-val-sbfl", "sympy", "1.10.1")
PYTEST_5227 = Known("pytest-dev__pytest-5227", "acr-run-2", "pytest", "4.4.2")
# Compiling sympy takes longest, so only test_recorded_sympy runs it by default.
FEW = (PYTEST_5227, pytest.param(SYMPY_24152, marks=pytest.mark.full))
MORE = tuple(pytest.param(known, marks=pytest.mark.full) for known in (SYMPY_21847, SYMPY_22005, SYMPY_23117))
# Compiled once for each tree, because every execution imports everything.
SETUPS = {"sympy": "'{python}' -c 'import sympy'"}


@dataclass(frozen=True)
class Answer:
    """An answer of the patch writer, and the same change as a diff for git."""

    content: str
    diff: bytes

    @property
    def added(self) -> list[str]:
        """The lines that it adds, without indentation."""
        lines = self.diff.decode().splitlines()
        return [line[1:].strip() for line in lines if re.match(r"\+(?!\+\+ )\s*\S", line)]


@dataclass(frozen=True)
class Seen:
    """The result of a script in one state of the tree."""

    exit: int
    stderr: str

    def told(self, when: str) -> str:
        """The result in the words for the agents, under the heading `when`."""
        how = "the script exits with 0"
        if self.exit:
            (*_, number) = re.findall(rf'File ".*/{NAME}", line (\d+)', self.stderr)
            how = f"line {number} of the script raises {self.stderr.splitlines()[-1]}"
        head = f"{when}, the script exited with {self.exit} ({how}).\nIts stdout is empty.\n"
        return f"{head}Its stderr:\n<stderr>\n{self.stderr}</stderr>\n"


@dataclass(frozen=True)
class Trial:
    """A script without and with a patch."""

    before: Seen
    after: Seen

    @property
    def told(self) -> str:
        """Both executions in the words for the agents."""
        return f"{self.before.told('Without the patch')}\n{self.after.told('With the patch')}"

    @property
    def swapped(self) -> Trial:
        """The text if the program confused both executions."""
        return Trial(self.after, self.before)


@dataclass
class Case:
    """A recorded task, the place of its code, and the way to run it."""

    known: Known
    issue: str
    script: list[Line]  # of the recorded run, without the patch writer
    fixed: Answer
    repo: Repo
    python: Path
    folder: Path
    host: Host
    places: tasks.Places
    tree: Repo = field(init=False)  # a copy in which the scripts run outside the program
    trials: dict[tuple[str, bytes], Seen] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "issue.md").write_text(self.issue, "utf-8")
        trees.make_tree(self.repo.path, self.repo.head, self.folder / "tree")
        self.tree = Repo(self.folder / "tree")
        if setup := self.setup:
            env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
            subprocess.run(setup, cwd=self.tree.path, env=env, shell=True, check=True, timeout=SECONDS)

    def recorded(self, run: str) -> Answer:
        """The last answer of another recorded run."""
        return last_answer(self.places, self.known.instance, run)

    def reproducer(self, name: str = "") -> str:
        """The text of a reproducer of this task."""
        return (REPRODUCERS / f"{self.known.name}{name}.py").read_text("utf-8")

    @property
    def setup(self) -> str:
        """The shell command that compiles the tree; "" if the tree is small."""
        return SETUPS.get(self.known.package, "").format(python=self.python)

    def _run(self, script: str, diff: bytes) -> Seen:
        """Run a script in the copy with a diff applied; paths are shown as in the program's copy."""
        if diff:
            self.tree.apply(diff)
        self.tree.write({NAME: script})
        done = subprocess.run(
            [self.python, NAME],
            cwd=self.tree.path,
            env={
                "PATH": os.environ["PATH"],
                "LC_ALL": "C.UTF-8",
                "PYTHONHASHSEED": "0",
                # Compiled files are older than patched ones, so no stale one is used.
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(self.tree.path / "src"),
            },
            capture_output=True,
            check=False,
            text=True,
            timeout=SECONDS,
        )
        assert done.stdout == "", done.stdout
        self.tree.git("checkout", "-q", "--", ".")
        self.tree.write({NAME: None})
        where = str(self.repo.path.resolve())
        return Seen(done.returncode, done.stderr.replace(str(self.tree.path), where))

    def seen(self, script: str, diff: bytes = b"") -> Seen:
        """Like _run, but each is run once."""
        if (script, diff) not in self.trials:
            self.trials[script, diff] = self._run(script, diff)
        return self.trials[script, diff]

    def trial(self, script: str, answer: Answer) -> Trial:
        """A script without and with the change of an answer."""
        return Trial(self.seen(script), self.seen(script, answer.diff))

    def run(self, lines: list[Line], clue: Seen, out: Path) -> Result:
        """A run with these lines and the recorded search, which sees the reproducer's output."""
        first, *rest = self.script
        first = first | {"expect": [clue.stderr, *first.get("expect", [])]}
        model = write_script(out.with_suffix(".jsonl"), [first, *rest, *lines])
        setup = self.setup
        result = self.host.run(
            *("run", "--repo", self.repo, "--rev", "HEAD", "--issue", self.folder / "issue.md", "--out", out),
            *("--model", model, "--python", self.python, "--verify=always"),
            *(["--setup", setup] if setup else []),
            timeout=SECONDS,
        )
        if result.exit == 0:
            asked = [record["request"].get("agent") for record in journal(out)]
            for agent in {line["agent"] for line in lines}:
                wanted = [line["agent"] for line in lines].count(agent)
                assert asked.count(agent) == wanted, f"of {agent}'s {wanted} lines {asked.count(agent)} were used"
        return result


def last_answer(places: tasks.Places, instance: str, run: str) -> Answer:
    """The answer whose diff was the final one of a recorded run."""
    for row in tasks.raw_runs(places):
        if (row["run"], row["instance_id"]) == (run, instance):
            final = [patch for patch in row["patches"] if patch["status"] == tasks.APPLICABLE][-1]
            return Answer(final["response"], encoded(final["diff"]))
    raise AssertionError(f"no recorded run {run} of {instance}")


def search_script(places: tasks.Places, known: Known) -> list[Line]:
    """The lines of search agent and extract agent; each search must find the recorded results."""
    command = [sys.executable, str(places.make_script), "--expect", known.run]
    command += [known.instance, str(places.recorded / "runs.jsonl")]
    made = subprocess.run(command, capture_output=True, check=True)
    lines = [json.loads(line) for line in made.stdout.splitlines()]
    return [line for line in lines if line["agent"] != "patch"]


@pytest.fixture(scope="module")
def case(
    recorded: Path,
    binary: Path,
    release_repo: Callable[[str, str], Repo],
    pinned_python: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Known], Case]]:
    """case(known) -> the case, made once; the runs of a case share one cache."""
    made: dict[str, Case] = {}

    def make(known: Known) -> Case:
        if known.name in made:
            return made[known.name]
        folder = tmp_path_factory.mktemp(known.name)
        places = tasks.Places(recorded.parent, folder, folder, 1)
        task = tasks.load_tasks(places)[known.instance]
        entry = environments.choose_entry(tasks.load_environments(places), task)
        assert entry is not None
        repo = release_repo(known.package, known.release)
        python = pinned_python(entry["pip"], entry["python"])
        (folder / "home").mkdir()
        host = Host(folder / "home", binary)
        need_bubblewrap()
        made[known.name] = Case(
            known,
            task.problem_statement,
            search_script(places, known),
            last_answer(places, known.instance, known.run),
            *(repo, python, folder, host, places),
        )
        return made[known.name]

    yield make
    for one in made.values():
        one.host.close()


# ---- The lines of the verify roles -----------------------------------------------------------------


def reproducible(case: Case) -> Line:
    """The answer that the issue can be reproduced."""
    content = json.dumps({"reproducible": "yes", "why": "It gives an example."})
    return {"agent": "reproducible", "content": content, "expect": [case.issue.splitlines()[0]]}


def test_line(script: str, *expect: str) -> Line:
    """The reproducer as its writer's answer."""
    content = f"This script does what the issue does.\n\n```python\n{script}```\n"
    return {"agent": "test", "content": content, "expect": list(expect)}


test_line.__test__ = False  # type: ignore[attr-defined]


def patch_line(answer: Answer, *expect: str) -> Line:
    """An answer of the patch writer."""
    return {"agent": "patch", "content": answer.content, "expect": list(expect)}


PATCH_WRONG = ("The patch leaves a part of the issue as it is.", "Treat all that the issue tells of.")
TEST_WRONG = ("The script is not about the issue as a whole.", "Assert all that the issue asks for.")


def review_line(right: bool, script: str, answer: Answer, trial: Trial) -> Line:
    """A review of patch and script, both right or both wrong, which must show both and their executions."""
    patch, test = ("", "") if right else PATCH_WRONG, ("", "") if right else TEST_WRONG
    content = {
        "patch-correct": "yes" if right else "no",
        "test-correct": "yes" if right else "no",
        **{"patch-analysis": patch[0], "patch-advice": patch[1]},
        **{"test-analysis": test[0], "test-advice": test[1]},
    }
    expect = [trial.told, script, *answer.added]
    return {"agent": "review", "content": json.dumps(content), "expect": expect}


# ---- Checks of a run -------------------------------------------------------------------------------


def check_red_and_green(trial: Trial) -> None:
    """The script, run by Python alone, fails by an assertion before and passes after."""
    assert trial.before.exit == 1 and trial.after.exit == 0, trial.told
    assert re.search(r"^AssertionError", trial.before.stderr.splitlines()[-1]), trial.told
    assert "Traceback" not in trial.after.stderr and trial.after.stderr, trial.told


def check_execution(out: Path, patch: int, test: int, seen: Seen) -> None:
    """The execution of a patch (0: none) and a test equals the one outside the program."""
    saved = read_json(out / f"attempt_0/execution_{patch}_{test}.json")
    assert (saved["exit"], saved["stdout"], saved["stderr"]) == (seen.exit, "", seen.stderr)
    assert (saved["limit"], saved["signal"], saved["doubts"]) == (None, None, [])


def check_same_change(case: Case, diff: bytes) -> None:
    """The diff makes the same files as the recorded one, and git writes the same bytes."""

    def after(change: bytes) -> dict[str, bytes]:
        case.tree.apply(change)
        names = case.tree.git("diff", "--name-only").splitlines()
        files = {name: (case.tree.path / name).read_bytes() for name in names}
        assert change != diff or case.tree.git_bytes("diff", "--full-index") == diff
        case.tree.git("checkout", "-q", "--", ".")
        return files

    assert after(diff) == after(case.fixed.diff)


def check_verified(case: Case, result: Result, out: Path, patch: int, test: int) -> None:
    """The run ends with the recorded run's patch, verified."""
    result.check()
    selected = read_json(out / "selected_patch.json")
    why = selected["reason"]
    assert why.startswith(f"reproducer_{test}.py fails without the patch and passes with it; "), result.told()
    assert result.err.splitlines()[-1] == f"acr-host run: verified: yes ({why})", result.told()
    assert selected["selected"] == f"attempt_0/extracted_patch_{patch}.diff"
    assert selected["proof"] == "verified"
    assert (out / "patch.diff").read_bytes() == result.stdout
    check_same_change(case, result.stdout)


# ---- Red before, green after -----------------------------------------------------------------------


def prove(case: Case, out: Path, trial: Trial) -> Result:
    """A run whose reviewer approves at once, and must be shown `trial`; it must end verified."""
    script = case.reproducer()
    lines = [
        reproducible(case),
        test_line(script, case.issue.splitlines()[0]),
        patch_line(case.fixed),
        review_line(True, script, case.fixed, trial),
    ]
    result = case.run(lines, case.seen(script), out)
    check_verified(case, result, out, patch=1, test=1)
    check_execution(out, 0, 1, trial.before)
    check_execution(out, 1, 1, trial.after)
    return result


@pytest.mark.parametrize("known", [*FEW, *MORE], ids=lambda known: known.name)
def test_red_before_and_green_after(case: Callable[[Known], Case], tmp_path: Path, known: Known) -> None:
    here = case(known)
    before = digest(here.repo.path)
    trial = here.trial(here.reproducer(), here.fixed)
    check_red_and_green(trial)
    result = prove(here, tmp_path / "out", trial)
    assert digest(here.repo.path) == before
    replayed = here.host.run("replay", tmp_path / "out", env={"PATH": ""}, timeout=SECONDS).check()
    assert replayed.stdout == result.stdout


@pytest.mark.parametrize("known", FEW, ids=lambda known: known.name)
def test_before_and_after_are_not_taken_for_one_another(
    case: Callable[[Known], Case], tmp_path: Path, known: Known
) -> None:
    here = case(known)
    trial = here.trial(here.reproducer(), here.fixed)
    with pytest.raises(
        AssertionError, match=r"the request to agent 'review' .* lacks .Without the patch, the script exited with 0 "
    ):
        prove(here, tmp_path / "out", trial.swapped)


# ---- Sent back -------------------------------------------------------------------------------------


def send_back(case: Case, out: Path, test: str, wrong: Answer) -> None:
    """First, script and patch are both wrong: both writers get the reason, and then correct them."""
    script = case.reproducer()
    first, second = case.trial(test, wrong), case.trial(script, case.fixed)
    check_red_and_green(second)
    assert first.before.exit == 1, first.told
    assert case.seen(script, wrong.diff).exit == 1, "the patch is not wrong"
    lines = [
        reproducible(case),
        test_line(test),
        patch_line(wrong),
        review_line(False, test, wrong, first),
        patch_line(case.fixed, test, first.told, *PATCH_WRONG),
        test_line(script, first.told, *wrong.added, *TEST_WRONG),
        review_line(True, script, case.fixed, second),
    ]
    result = case.run(lines, first.before, out)
    check_verified(case, result, out, patch=2, test=2)
    check_execution(out, 0, 1, first.before)
    check_execution(out, 1, 1, first.after)
    check_execution(out, 0, 2, second.before)
    check_execution(out, 2, 2, second.after)
    reviews = {path.name: read_json(path) for path in (out / "attempt_0").glob("review_*")}
    decisions = {name: (row["patch-correct"], row["test-correct"]) for name, row in reviews.items()}
    assert decisions == {"review_p1_t1.json": ("no", "no"), "review_p2_t2.json": ("yes", "yes")}


@pytest.mark.full
def test_a_patch_and_a_script_that_say_too_little(case: Callable[[Known], Case], tmp_path: Path) -> None:
    """Failing before and passing after does not make them right, because the script sees only what the patch handles."""
    here = case(SYMPY_21847)
    wrong, narrow = here.recorded("acr-run-3"), here.reproducer("_narrow")
    check_red_and_green(here.trial(narrow, wrong))
    send_back(here, tmp_path / "out", narrow, wrong)


@pytest.mark.full
def test_a_patch_that_changes_nothing_and_a_script_that_wants_something_else(
    case: Callable[[Known], Case], tmp_path: Path
) -> None:
    here = case(SYMPY_22005)
    wrong, other = here.recorded("acr-run-1"), here.reproducer("_none")
    assert here.trial(other, wrong).after.exit == 1
    assert here.seen(other, here.fixed.diff).exit == 1, "the script is not wrong"
    send_back(here, tmp_path / "out", other, wrong)


@pytest.mark.full
def test_a_patch_and_a_script_that_agree_on_something_else(case: Callable[[Known], Case], tmp_path: Path) -> None:
    here = case(PYTEST_5227)
    file, old = "src/_pytest/logging.py", '"%(filename)-25s %(lineno)4d %(levelname)-8s %(message)s"'
    new = old.replace("filename", "name")
    text = (here.tree.path / file).read_text("utf-8")
    here.tree.write({file: text.replace(old, new)})
    diff = here.tree.git_bytes("diff")
    here.tree.git("checkout", "-q", "--", ".")
    edit = f"<file>{file}</file>\n<original>DEFAULT_LOG_FORMAT = {old}</original>\n"
    wrong = Answer(f"```\n{edit}<patched>DEFAULT_LOG_FORMAT = {new}</patched>\n```\n", diff)
    other = here.reproducer("_first")
    check_red_and_green(here.trial(other, wrong))
    assert here.seen(other, here.fixed.diff).exit == 1, "the script is not wrong"
    send_back(here, tmp_path / "out", other, wrong)
