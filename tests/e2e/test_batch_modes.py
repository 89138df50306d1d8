"""`swe-bench` with a single step: only reproducers, only rankings, or only predictions from saved answers."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from host import SLOWNESS, Host
from repos import make_repo
from runs import write_script
from verifying import guard, sandbox_options, test_line

NONE, USAGE, ENVIRONMENT = 1, 2, 3
FILES = {
    "m.py": "def f(x):\n    return x + 2\n\n\ndef g(x):\n    return x\n",
    "tests/__init__.py": "",
    "tests/test_m.py": (
        "import time\nimport unittest\nimport m\n\n\nclass T(unittest.TestCase):\n"
        "    def test_f(self):\n        self.assertEqual(m.f(1), 2)\n\n"
        "    def test_g(self):\n        self.assertEqual(m.g(1), 1)\n"
    ),
}
PASSING = FILES["tests/test_m.py"].replace("m.f(1), 2", "m.f(1), 3")
SHOWS = "import m\n\nassert m.f(1) == 2, m.f(1)\n"
ANSWER = "<file>m.py</file>\n<original>\n    return x + 2\n</original>\n<patched>\n    return x + 1\n</patched>\n"
WRONG = ANSWER.replace("x + 2", "y")
TASKS = ["o__n-1", "o__n-2", "o__n-3"]


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Set:
    """Three tasks of one repository, the last of which has no failing test, and commands that run them."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder, self.out = host, folder, folder / "out"
        repo = make_repo(folder / "repos" / "o" / "n", FILES)
        first = repo.head
        repo.commit({"tests/test_m.py": PASSING}, "no test fails")
        heads = [first, first, repo.head]
        rows = [
            {"instance_id": name, "repo": "o/n", "base_commit": head, "problem_statement": "f(1) is 3, not 2."}
            for name, head in zip(TASKS, heads)
        ]
        self.dataset = lines(folder / "tasks.jsonl", rows)

    def command(self, *more: object) -> list[object]:
        return ["swe-bench", "-d", self.dataset, "-r", self.folder / "repos", "-o", self.out, *more]

    def times(self, name: str) -> dict[str, int]:
        """The time at which the output of each task was written."""
        return {task: file.stat().st_mtime_ns for task in TASKS if (file := self.out / task / name).exists()}

    def predictions(self) -> dict[str, str]:
        rows = [json.loads(line) for line in (self.out / "preds.jsonl").read_text().splitlines()]
        return {row["instance_id"]: row["model_patch"] for row in rows}


@pytest.fixture
def tasks(host: Host, tmp_path: Path) -> Set:
    return Set(host, tmp_path)


def test_saved_answers_become_predictions(tasks: Set) -> None:
    """The first applicable answer is used. If none applies, the patch is empty; a task without answers has no line.
    Only tasks whose answers have changed are processed again.
    """
    answers = [{"instance_id": TASKS[0], "answer": ["I cannot.", ANSWER]}, {"instance_id": TASKS[1], "answer": WRONG}]
    path = lines(tasks.folder / "nano.jsonl", answers)
    command = tasks.command("--extract-patches", path)
    result = tasks.host.run(*command).check()
    assert "3 tasks: 1 with a patch, 2 without, 0 failed; predictions in" in result.err
    told = " ".join([*result.progress, result.err])
    assert re.search(r"(^| )[123]/3 o__n-1: 1 edit applied", told) and "o__n-3: no saved answer" in told
    assert "o__n-2: Edit 1 (m.py): the code of <original> is not in m.py." in told
    tasks.host.run("report", tasks.out).one_line(USAGE, "has only predictions")
    patches = tasks.predictions()
    assert list(patches) == TASKS[:2] and "+    return x + 1" in patches[TASKS[0]] and patches[TASKS[1]] == ""
    assert '"model_name_or_path":"nano"' in (tasks.out / "preds.jsonl").read_text()
    before = tasks.times("extract_status.json")
    lines(path, [*answers, {"instance_id": TASKS[1], "answer": ANSWER}, {"instance_id": "o__n-9", "answer": ANSWER}])
    tasks.host.run(*command, "--model", "openai/x").one_line(USAGE, "give --extract-patches or --model, not both")
    result = tasks.host.run(*command, "--model-name", "mine", "--instance", TASKS[1]).check()
    assert "1 task of the saved answers is not in the data set: o__n-9\n" in result.err
    tasks.host.run(*command, "--model-name", "mine").check()
    after = tasks.times("extract_status.json")
    assert after[TASKS[0]] == before[TASKS[0]] and after[TASKS[1]] > before[TASKS[1]]
    assert tasks.predictions()[TASKS[1]] == patches[TASKS[0]]
    assert '"model_name_or_path":"mine"' in (tasks.out / "preds.jsonl").read_text()


def test_answers_of_a_folder(tasks: Set) -> None:
    """Files are named after their tasks; other files are ignored."""
    folder = tasks.folder / "answers"
    folder.mkdir()
    (folder / f"{TASKS[2]}.md").write_text(ANSWER)
    (folder / "notes.log").write_text("x")
    tasks.host.run(*tasks.command("--extract-patches", folder)).check()
    assert "+    return x + 1" in tasks.predictions()[TASKS[2]] and len(tasks.predictions()) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "contains no saved answer"),
        ("{}\n", "line 1: a saved answer must be an object"),
        ('{"instance_id": "o__n-1", "answer": "x"}\n{"instance_id": "o__n-2", "answer": [1]}\n', "line 2"),
    ],
)
def test_answers_that_are_none(tasks: Set, text: str, why: str) -> None:
    path = tasks.folder / "a.jsonl"
    path.write_text(text)
    tasks.host.run(*tasks.command("--extract-patches", path)).one_line(USAGE, why)
    assert not (tasks.out / "preds.jsonl").exists()


def test_a_run_folder_is_left_alone(tasks: Set) -> None:
    (tasks.out / TASKS[0]).mkdir(parents=True)
    (tasks.out / TASKS[0] / "meta.json").write_text("{}")
    path = lines(tasks.folder / "a.jsonl", [{"instance_id": TASKS[0], "answer": ANSWER}])
    result = tasks.host.run(*tasks.command("--extract-patches", path)).check(ENVIRONMENT)
    assert "is a run folder; use another --out" in result.err and "1 failed" in result.err
    assert [file.name for file in (tasks.out / TASKS[0]).iterdir()] == ["meta.json"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--sbfl-only", "--reproduce-only"], "exclude each other"),
        (["--extract-patches", "a", "--grade"], "run 'acr-host eval --predictions OUT/preds.jsonl'"),
        (["--sbfl-only", "--shard", "1/2"], "--slice"),
        (["--reproduce-only"], "--model is missing"),
        (["--hidden-tests"], "--hidden-tests needs --sbfl-only"),
    ],
)
def test_options_that_do_not_go_together(tasks: Set, options: list[str], why: str) -> None:
    tasks.host.run(*tasks.command(*options)).one_line(USAGE, why)


def test_rankings(tasks: Set) -> None:
    """The function that the failing test runs is ranked first; a rerun after a kill runs only missing tasks."""
    command = tasks.command("--sbfl-only", *sandbox_options())
    process = tasks.host.start(*command)
    until = time.monotonic() + 60 * SLOWNESS
    while not tasks.times("sbfl.json") and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = tasks.times("sbfl.json")
    result = tasks.host.run(*command).check()
    assert before and before.items() <= tasks.times("sbfl.json").items()
    assert "3 tasks: 2 ranked, 1 without a ranking, 0 failed" in result.err
    told = " ".join([*result.progress, result.err])
    assert "o__n-1: 1 test fails; first: f (m.py)" in told and "o__n-3: no test fails" in told
    kept = json.loads((tasks.out / TASKS[1] / "sbfl.json").read_text())
    assert kept["output"][0]["methods"][0]["func"] == "f" and not (tasks.out / "preds.jsonl").exists()
    assert tasks.host.run(*command).check().err.splitlines()[-1] == result.err.splitlines()[-1]


def test_scripts(tasks: Set) -> None:
    """Each task is a run folder of `reproduce`, which a rerun keeps; there are no predictions."""
    script = [
        line | {"instance_id": TASKS[0]}
        for line in (guard(), test_line("assert import_m\n"), test_line(SHOWS, "import_m"))
    ]
    model = write_script(tasks.folder / "script.jsonl", script)
    command = tasks.command("--reproduce-only", "--model", model, "--instance", TASKS[0], *sandbox_options())
    result = tasks.host.run(*command)
    assert "1 task: 1 with a script, 0 without" in result.err and "scripts in" in result.err
    told = " ".join([*result.progress, result.err])
    assert "1 reproduced" in tasks.host.run("report", tasks.out, "--format", "text").check().out.splitlines()[-1]
    assert "o__n-1: reproduced" in told and "patch" not in told and "verdicts" not in told
    assert json.loads((tasks.out / TASKS[0] / "meta.json").read_text())["verb"] == "reproduce"
    assert not (tasks.out / "preds.jsonl").exists()
    calls = (tasks.out / TASKS[0] / "journal.jsonl").read_bytes()
    assert tasks.host.run(*command).exit == result.exit
    assert (tasks.out / TASKS[0] / "journal.jsonl").read_bytes() == calls
