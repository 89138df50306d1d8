"""acr.report: diffs as replacements, untrusted values as text, and reports on files with any content."""

from __future__ import annotations

import difflib
import itertools
import json
import re
from typing import Any

import pytest
from acr.byte_fields import pack
from acr.report import run_page, service
from acr.report.journal import KEPT, read_journal
from acr.report.parse_diff import changes, parse
from acr.report.plain import text_of, visible
from acr.report.story import stage_words

FORMS = ["html", "text", "markdown", "json", "junit", "sarif", "atif"]


def applied(old: str, diff: str) -> str:
    """The text after the replacements for the diff's only file."""
    lines = old.splitlines(keepends=True)
    (file,) = parse(diff)
    for change in reversed(changes(file)):
        lines[change.first - 1 : change.last] = [change.text]
    return "".join(lines)


def diff_of(old: str, new: str) -> str:
    rows = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), "a/x.py", "b/x.py", n=1)
    written = [row if row.endswith("\n") else row + "\n\\ No newline at end of file\n" for row in rows]
    return "diff --git a/x.py b/x.py\n" + "".join(written)


@pytest.mark.parametrize("ending", ["\n", ""])
def test_a_diff_is_replacements_of_lines(ending: str) -> None:
    texts = [
        "a\nb\nc\nd\ne\nf",
        "a\nc\nd\ne\nf",
        "a\nb\nX\nc\nd\ne\nf",
        "X\nb\nc\nd\ne\nY",
        "b",
        "-- a\n++ b\n@@ c\n\\ d",
    ]
    for old, new in itertools.permutations(texts, 2):
        assert applied(old + ending, diff_of(old + ending, new + ending)) == new + ending, (old, new)


def test_what_is_no_diff_is_left_out() -> None:
    assert parse("") == parse("nonsense\n@@ -1 +1 @@\n-x\n") == []
    new = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    (file,) = parse(new)
    assert (file.old, file.path) == (None, "new.py") and changes(file)[0].text == "a\nb\n"


def test_texts_are_visible_and_bounded() -> None:
    assert visible("a\x1b[1m\u202e\ud800\0\tb\r\nc") == "a\\u001b[1m\\u202e\\ud800\\u0000\tb\nc"
    assert visible("\xad\U000e0041") == "\\u00ad\\ue0041"
    assert visible("é \ufffd 漢") == "é \ufffd 漢"
    assert text_of({"base64": "YQBi"}) == "a\\u0000b" and text_of(None) == "" and text_of([1]) == "[1]"
    long = text_of("x" * 50_000_000)
    assert len(long) < 13_000 and "49,988,000 characters are left out" in long


def test_of_many_steps_the_first_and_the_last_are_kept() -> None:
    record = {
        "event": "model",
        "request": {"agent": "search", "conversation": "attempt_0/search"},
        "time": {"wall_ms": 7},
    }
    found = read_journal(b"\n".join(json.dumps(record | {"n": n}).encode() for n in range(10_000)) + b'\n{"n":')
    assert len(found.steps) <= 2 * KEPT and found.left_out + len(found.steps) == 10_000
    assert found.stages == {"attempt_0/search": [10_000, 70_000, 0]}
    tests = read_journal(json.dumps({"event": "tests", "time": {"wall_ms": 7}}).encode())
    assert tests.stages == {"tests": [1, 7, 0]}, "the project's tests take time, too"


def test_stages_are_named_in_words() -> None:
    assert (
        stage_words("attempt_0/review") == "review" and stage_words("attempt_1/extract") == "attempt 2: bug locations"
    )


def files(value: Any) -> list[bytes]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    names = ["meta", "result", "cost", "selected_patch", "attempt_0/extract_status", "attempt_0/execution_0_1"]
    names += ["attempt_0/review_p1_t1", "attempt_0/regression_1", "attempt_0/search/bug_locations_after_process"]
    names += ["attempt_0/search/tool_call_layers"]
    plain = ["issue.md", "patch.diff", "journal.jsonl", "attempt_0/reproducer_1.py", "(unread)"]
    return [part for name in [*(f"{each}.json" for each in names), *plain] for part in (name.encode(), data)]


@pytest.mark.parametrize(
    "value",
    [
        None, 1, "text", [], [None], [[1]], {}, [{}], [{"edits": 1, "try": "x", "role": "bug", "start": -1}],
        {"verdict": [], "cost": 1, "options": [], "total": "x", "selected": 3}, b"\xff\xfe\0", b"", b"[" * 200_000,
        {"event": "model", "request": {"messages": [1, {"role": 2}]}, "answer": []}, {"event": {}, "time": []},
        [{"role": "bug", "file": {"base64": "!"}, "start": 1e400, "end": True, "file_name": "\ud800"}],
    ],
)  # fmt: skip
def test_files_of_any_content_have_a_report(value: Any) -> None:
    for form in [*FORMS, "csv"]:
        out = form == "csv" or service.run(pack([form.encode(), b"0", *files(value)])).decode()
        assert out and (form != "sarif" or json.loads(out)["version"] == "2.1.0")
        if form not in ("sarif", "atif"):
            names = [b"t1/result.json", b"t1/cost.json", b"final.json", b"shared/live.json"]
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            pairs = [part for name in names for part in (name, data)]
            assert service.tasks(pack([form.encode(), b"0", b"1", b"4", *pairs, *pairs]))


def test_a_run_tells_what_is_charged_beyond_its_answers() -> None:
    total = {"calls": 3, "cost_microusd": 200, "charged_microusd": 1_500_000, "unknown_cost_calls": 2}
    run = [b"cost.json", json.dumps({"total": total}).encode()]
    for form in ("text", "markdown", "html"):
        told = service.run(pack([form.encode(), b"0", *run])).decode()
        assert "0.0002 USD and 2 calls of unknown cost, 1.5000 USD charged" in told, form
    assert json.loads(service.run(pack([b"json", b"0", *run])))["cost"]["charged_microusd"] == 1_500_000


def test_a_batch_has_its_rate_and_the_words_of_the_terminal() -> None:
    files = {f"t{n}/result.json": {"verdict": verdict} for n, verdict in enumerate(["refused", "none", "verified"])}
    files |= {f"t{n}/cost.json": {"total": {"cost_microusd": 1000}} for n in range(3)}
    fields = [part for name, value in files.items() for part in (name.encode(), json.dumps(value).encode())]
    assert b"1 refused, 1 no patch, 1 verified\n" in service.tasks(pack([b"text", b"0", b"0", b"6", *fields]))
    about = json.dumps({"charged_microusd": 5000}).encode()  # of it 2000 for a task that was killed
    told = service.tasks(pack([b"text", b"0", b"0", b"7", *fields, b"(about)", about]))
    assert told.endswith(b"\n0.0030 USD for answers, 0.0050 USD charged\n")
    row = {"instance_id": "t1", "status": "interrupted", "seconds": 2, "setup_seconds": 30}
    summary = json.dumps({"tasks": [row], "instances": {"t1": {"seconds": 3, "setup_seconds": 1}}}).encode()
    told = service.tasks(pack([b"csv", b"0", b"0", b"7", *fields, b"summary.json", summary]))
    assert b",2.000,3.000,0,,31.000\r\n" in told and b",,0.000,0,,0.000\r\n" in told
    told = service.tasks(pack([b"text", b"0", b"0", b"7", *fields, b"summary.json", summary]))
    assert b"1 refused, 1 interrupted, 1 verified\n" in told
    final = json.dumps({"resolved_ids": ["t2"], "unresolved_ids": ["t0"], "empty_patch_ids": ["t1"]}).encode()
    page = service.tasks(pack([b"html", b"0", b"0", b"7", *fields, b"m.r.json", final])).decode()
    assert "resolved 1 of 3 (33.3 %, 95 % interval 6.1 to 79.2 %), 0.0030 USD for each resolved task" in page
    assert "empty patch" in page and "Why tasks failed" not in page
    ungraded = service.tasks(pack([b"text", b"0", b"1", b"7", *fields, b"m.r.json", final, *fields])).decode()
    assert ungraded.endswith(
        "0 gained, 0 lost, 0 in both, 0 in neither (McNemar's exact p = 1); 0 tasks compared, 3 graded only here, "
        "0 only there\n0 tasks changed: too few to tell a difference from noise (p < 0.05)\n"
    )
    both = service.tasks(pack([b"text", b"0", b"1", b"6", *fields, *fields]))
    assert both.endswith(b"compared with '': not graded: nothing to compare\n")
    about = json.dumps({"models": ["a/b"], "tag": "mine", "dataset": "tasks.jsonl", "date": "2024-05-31"}).encode()
    long = f"test_old[{300 * 'x'}]"
    status = {"FAIL_TO_PASS": {"failure": [f"test_{n}" for n in range(5)]}, "PASS_TO_PASS": {"failure": [long]}}
    failing = {"t0": {"tests_status": status}}
    more = [b"(about)", about, b"t0/report.json", json.dumps(failing).encode(), b"t1/(page)", b"t1/report.html"]
    page = service.tasks(pack([b"html", b"0", b"0", b"10", *fields, b"m.r.json", final, *more])).decode()
    rows = service.tasks(pack([b"csv", b"0", b"0", b"10", *fields, b"m.r.json", final, *more])).decode()
    assert (
        ',refused,unresolved,false,,"[""test_0"", ""test_1"",' in rows
        and ",none,empty,false,there is no patch,," in rows
    )
    assert "<h1>3 tasks, 1 resolved: a/b, tag mine, tasks.jsonl, 2024-05-31</h1>" in page
    assert '<td class="n" data-head="unresolved">1</td>' in page  # verdicts by grades
    text = service.tasks(pack([b"text", b"0", b"0", b"10", *fields, b"m.r.json", final, *more])).decode()
    why = f"tests fail: test_0, test_1, test_2 and 2 more; broken: {re.escape(long)}\n"  # whole names
    assert re.search(r"t0 +unresolved +refused +0.0010 USD +" + why, text)
    assert "verdict   empty patch  resolved  unresolved\nno patch  1            0         0\n" in text
    assert "test_0, test_1, test_2 and 2 more; broken: test_old" in page and '<a href="t1/report.html">t1</a>' in page


def test_tasks_of_a_killed_batch_are_unfinished() -> None:
    """t1 was running; t2 had ended, but the batch was killed before it wrote the row; t3 had no folder yet; t4 was not begun."""
    spent = {"calls": 2, "cost_microusd": 100, "charged_microusd": 3000}
    running = [{"task": f"t{n}", "repo": "o/r", "begun_ms": 1} for n in (1, 2, 3)]
    row = {"instance_id": "t0", "status": "patch", "seconds": 2, "repo": "o/r"}
    files = {
        "summary.json": {"tasks": [row]}, "shared/live.json": {"tasks": [f"t{n}" for n in range(5)], "running": running},
        "t0/result.json": {"verdict": "unverified"}, "t0/cost.json": {}, "t1/result.json": {}, "t1/cost.json": {},
        "t1/live.json": {"spent": spent}, "t2/result.json": {"verdict": "unverified"}, "t2/cost.json": {}, "t2/live.json": {},
    }  # fmt: skip
    fields = [part for name, value in files.items() for part in (name.encode(), json.dumps(value).encode())]
    told = {
        form: service.tasks(pack([form, b"0", b"0", b"10", *fields])).decode() for form in (b"text", b"csv", b"html")
    }
    assert (
        "2 unverified, 2 unfinished\n0.0001 USD for answers, 0.0030 USD charged\n1 task not begun: t4\n"
        in told[b"text"]
    )
    assert "t0,o/r,patch,unverified," in told[b"csv"] and ",2.000,0.000," in told[b"csv"]
    assert "t1,o/r,unfinished,,,,the run has no result yet,,0,2,0,0,0,0.000100,0.003000,,0.000,0," in told[b"csv"]
    assert "t2,o/r,patch,unverified,,,,,0,0,0,0,0,0.000000,0.000000,,0.000,0," in told[b"csv"]
    assert "no patch" not in told[b"html"] and "4 tasks: 2 unverified, 2 unfinished" in told[b"html"]


def test_a_batch_shows_what_patches_change_or_why_there_is_none() -> None:
    rows: list[dict[str, Any]] = [
        {"verdict": "verified", "status": "APPLICABLE_PATCH", "patch": diff_of("a\n", "b\nc\n")},
        {"verdict": "none", "status": "NO_PATCH"},
    ]
    summary = {"tasks": [{"instance_id": "t2", "status": "failed", "error_class": "usage"}]}
    graded = {"instances": {"t3": {"seconds": 1, "repo": "own/project"}}}
    found = {f"t{n}/result.json": json.dumps(row) for n, row in enumerate(rows)}
    found |= {"summary.json": json.dumps(summary), "run/summary.json": "", "r.json": json.dumps(graded)}
    found["t3/patch.diff"] = diff_of("a\n", "b\n")
    fields = [part for name, text in found.items() for part in (name.encode(), text.encode())]
    for form in (b"html", b"live"):
        page = service.tasks(pack([form, b"0", b"0", b"6", *fields])).decode()
        assert all(f">{cell}</td>" in page for cell in ("+2\xa0-1", "the model wrote no edit", "+1\xa0-1", "usage"))
        assert "4 tasks: " in page and "; 0 USD" in page and ">error</button>" not in page
    assert 'id="running" hidden=""' in page
    assert b"\r\nt3,own/project," in service.tasks(pack([b"csv", b"0", b"0", b"6", *fields]))


def test_two_runs_stand_side_by_side() -> None:
    runs = [{"result.json": json.dumps({"verdict": verdict}).encode(), "patch.diff": b"", "(folder)": folder}
            for verdict, folder in (("verified", b"/a"), ("refused", b"/b"))]  # fmt: skip
    one, other = ([part for name, data in run.items() for part in (name.encode(), data)] for run in runs)
    page = service.run(pack([b"html", b"0", *one, b"(other run)", b"", *other])).decode()
    assert page.index("/a") < page.index("verified") < page.index("/b") < page.index("refused")


def test_a_run_has_the_command_that_applies_its_patch_and_words_for_codes() -> None:
    meta = json.dumps({"options": {"repo": "/my repo"}}).encode()
    result = json.dumps({"verdict": "unverified", "status": "NO_PATCH"}).encode()
    files = [
        b"meta.json",
        meta,
        b"result.json",
        result,
        b"(folder)",
        b"/out",
        b"patch.diff",
        diff_of("a\n", "b\n").encode(),
    ]
    page = service.run(pack([b"html", b"0", *files])).decode()
    assert "git -C &#x27;/my repo&#x27; apply /out/patch.diff" in page and ">Copy</button>" in page
    assert '<span class="d" data-n="1  ">-a</span><span class="a" data-n="  1">+b</span>' in page
    assert "the model wrote no edit" in service.run(pack([b"text", b"0", *files])).decode()
    files[3] = json.dumps({"verdict": "refused"}).encode()
    assert "git -C" not in service.run(pack([b"html", b"0", *files])).decode(), "nobody should apply a refused patch"


def test_an_experiment_is_told_in_words() -> None:
    """Its code is code."""
    assert str(run_page.experiment_words("`a` is 3")) == "<span><code>a</code> is 3</span>"
    changed = ("the files are rewritten", "the files are rewritten, without the patch")
    table = [{"experiment": "rewritten", "changed": what, "agrees": True} for what in changed]
    ran = {"result": "passed", "exit": 0, "why": "the script exits with 0"}
    found = {"result.json": {"verdict": "verified", "experiments": {"table": table}}, "meta.json": {"verb": "verify"}}
    found |= {f"attempt_0/execution_{patch}_1.json": ran for patch in (0, 1)}
    fields = [part for name, value in found.items() for part in (name.encode(), json.dumps(value).encode())]
    page = service.run(pack([b"html", b"0", *fields])).decode()
    assert "<td><span>rewritten</span></td>" in page and "<td><span>rewritten, without the patch</span></td>" in page
    assert page.count("the script passes (exit code 0)") == 2 and "exits with 0" not in page
