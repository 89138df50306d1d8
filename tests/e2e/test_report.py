"""`report`: a run, and a folder of many runs, as a page and in other programs' formats; nothing in a hostile run folder is executed."""

from __future__ import annotations

import base64
import csv
import hashlib
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Result
from packages import npm_package, wheel
from repos import Repo
from runs import CHANGED, arguments, fixed, folder_digest

RunHost = Callable[..., Result]
EVIL = "</pre></script><script>document.title='owned'</script><img src=x onerror=alert(1)>\x1b[31m\u202e\"'`$title ]]>"
MAX_PAGE = 1_000_000


class Page(html.parser.HTMLParser):
    """The elements, attributes, and the texts of scripts and styles of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.text = path.read_text("utf-8")
        assert len(self.text.encode()) < MAX_PAGE
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] in ("script", "style") and data.strip():
            self.inside.setdefault(self.elements[-1][0], data)

    def check(self) -> None:
        """Nothing is loaded, and only the page's own script runs. Errors: AssertionError."""
        tags = [tag for tag, _ in self.elements]
        assert tags.count("script") == tags.count("style") == 1
        assert not {"img", "iframe", "link", "object", "embed", "base", "form"} & set(tags)
        for tag, attributes in self.elements:
            assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")], tag
            assert re.fullmatch(
                r"#[a-z]+|[\w-]+/report\.html|(\.\./)?logs/[\w/-]+/test_output\.txt", attributes.get("href") or "#x"
            ), attributes
        (policy,) = [a["content"] or "" for tag, a in self.elements if tag == "meta" and "http-equiv" in a]
        for tag in ("script", "style"):
            digest = base64.b64encode(hashlib.sha256(self.inside[tag].encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", self.text)


@pytest.fixture
def run_folder(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> Path:
    """A finished run of the sample."""
    run_host(*arguments(sample_repo, tmp_path / "out")).check()
    return tmp_path / "out"


def poison(value: Any) -> Any:
    if isinstance(value, str):
        return EVIL + value
    if isinstance(value, list):
        return [poison(each) for each in value]
    return {key: poison(each) for key, each in value.items()} if isinstance(value, dict) else value


def make_hostile(out: Path) -> None:
    """Replace every text of a run folder; add a journal of 10,000 rounds and an answer of 50 MB."""
    kept = ("meta.json", "journal.jsonl")
    for path in [path for path in out.rglob("*") if path.is_file() and not {"prompts", "snapshot"} & set(path.parts)]:
        if path.suffix == ".json" and path.name not in kept:
            path.write_text(json.dumps(poison(json.loads(path.read_text("utf-8")))), "utf-8")
        elif path.suffix in (".md", ".diff", ".py"):
            path.write_text(EVIL + "\n" + path.read_text("utf-8") + EVIL, "utf-8")
    meta = json.loads((out / "meta.json").read_text("utf-8"))
    meta["options"] |= {"model": [EVIL], "instance_id": EVIL}
    (out / "meta.json").write_text(json.dumps(meta), "utf-8")
    row = {
        "event": "model",
        "request": {"agent": EVIL, "conversation": EVIL, "messages": [{"role": EVIL, "content": EVIL}]},
    }
    with (out / "journal.jsonl").open("w", encoding="utf-8") as journal:
        for n in range(10_000):
            journal.write(json.dumps(row | {"n": n, "answer": {"content": EVIL}}) + "\n")
        journal.write(json.dumps(row | {"n": n, "answer": {"content": "<script>alert(1)</script>" * 2_000_000}}) + "\n")


def test_a_run_has_a_page(run_host: RunHost, run_folder: Path) -> None:
    before = folder_digest(run_folder)
    assert run_host("report", run_folder).check().out == f"{run_folder}/report.html\n"
    page = Page(run_folder / "report.html")
    page.check()
    for words in ("Two-month bill", "unverified", "usage_charge", "ambiguous", "part.days)", "search, round 3"):
        assert words in page.text
    (run_folder / "report.html").unlink()
    after = folder_digest(run_folder)
    assert {name: entry for name, entry in after.items() if name != "."} == {
        name: entry for name, entry in before.items() if name != "."
    }
    elsewhere = run_folder.parent / "page.html"
    run_host("report", run_folder, "-o", elsewhere).check()
    assert run_host("report", run_folder, "-o", "-").check().out == elsewhere.read_text("utf-8") == page.text
    run_host("replay", run_folder).check()


def test_the_other_formats_say_the_same(run_host: RunHost, run_folder: Path) -> None:
    told = json.loads(run_host("report", run_folder, "--json").check().stdout)
    assert told["verdict"] == "unverified" and told["files"] == [CHANGED] and told["cost"]["calls"] == 11
    assert [edit["status"] for edit in told["edits"]] == ["ambiguous", "applied", "applied"]
    assert "verdict   unverified" in run_host("report", run_folder, "-f", "text").check().out
    markdown = run_host("report", run_folder, "--format=markdown").check().out
    assert markdown.startswith("### acr-host: unverified\n") and "\n```diff\n" in markdown
    junit = run_host("report", run_folder, "-f", "junit").check().out
    assert 'tests="2" failures="0"' in junit and 'classname="/' not in junit


def test_the_fix_of_sarif_is_the_patch(run_host: RunHost, run_folder: Path, sample_repo: Repo) -> None:
    log = json.loads(run_host("report", run_folder, "-f", "sarif").check().stdout)
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == CHANGED and place["region"] == {"startLine": 55, "endLine": 70}
    lines = (sample_repo.path / CHANGED).read_text("utf-8").splitlines(keepends=True)
    (change,) = result["fixes"][0]["artifactChanges"]
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        assert region["startColumn"] == region["endColumn"] == 1
        lines[region["startLine"] - 1 : region["endLine"] - 1] = [replacement["insertedContent"]["text"]]
    assert "".join(lines).encode() == fixed((sample_repo.path / CHANGED).read_bytes())


def test_a_trajectory_has_the_calls_with_their_results_and_the_patch(run_host: RunHost, run_folder: Path) -> None:
    told = json.loads(run_host("report", run_folder, "-f", "atif").check().stdout)
    steps, final = told["steps"], told["final_metrics"]
    assert told["schema_version"] == "ATIF-v1.7" and [at["step_id"] for at in steps] == [*range(1, len(steps) + 1)]
    assert steps[0] == {"step_id": 1, "source": "user", "message": (run_folder / "issue.md").read_text("utf-8")}
    journal = [json.loads(line) for line in (run_folder / "journal.jsonl").read_text("utf-8").splitlines()]
    answers = [record["answer"]["content"] for record in journal if record["event"] == "model"]
    assert [at["message"] for at in steps if at.get("llm_call_count") == 1] == answers
    (layer,) = json.loads((run_folder / "attempt_0" / "search" / "tool_call_layers.json").read_text("utf-8"))[:1]
    searched = next(at for at in steps if at.get("tool_calls"))
    calls = [(at["function_name"], at["arguments"]) for at in searched["tool_calls"]]
    assert calls == [(at["func_name"], at["arguments"]) for at in layer]
    results = searched["observation"]["results"]
    assert [at["source_call_id"] for at in results] == [at["tool_call_id"] for at in searched["tool_calls"]]
    sent = [message["content"] for at in journal if at["event"] == "model" for message in at["request"]["messages"]]
    assert "".join(at["content"] for at in results) in sent
    (submit,) = steps[-1]["tool_calls"]
    assert submit["arguments"] == {"patch": (run_folder / "patch.diff").read_text("utf-8")}
    assert final["total_steps"] == len(steps) and final["total_cost_usd"] == 0
    assert json.loads(run_host("report", run_folder, "--json").check().stdout)["steps"] == steps


def test_a_hostile_run_shows_text_alone(run_host: RunHost, run_folder: Path) -> None:
    make_hostile(run_folder)
    run_host("report", run_folder).check()
    page = Page(run_folder / "report.html")
    page.check()
    assert "document.title=&#x27;owned&#x27;" in page.text and "steps are left out here" in page.text
    (run_folder / "journal.jsonl").write_text("")  # the other inputs are as hostile, and faster
    for form in ("text", "markdown", "json", "junit", "sarif", "atif"):
        out = run_host("report", run_folder, f"--format={form}").check().out
        assert "\x1b" not in out and "\u202e" not in out and len(out) < MAX_PAGE
    (run_folder / "issue.md").unlink()
    (run_folder / "issue.md").symlink_to("/etc/passwd")
    linked = run_host("report", run_folder, "-o", "-").check().out
    assert "root:" not in linked and "symbolic link" in linked


def many(folder: Path, run: Path, verdicts: list[str], resolved: list[int]) -> Path:
    """A folder of run folders with these verdicts, and a final report."""
    for number, verdict in enumerate(verdicts):
        task = folder / f"task-{number}"
        task.mkdir(parents=True)
        shutil.copy(run / "meta.json", task)
        (task / "result.json").write_text(json.dumps({"verdict": verdict, "why": f"{EVIL}{number}"}))
        (task / "cost.json").write_text(json.dumps({"total": {"calls": number, "cost_microusd": number * 1000}}))
    (folder / "m.id.json").write_text(
        json.dumps({"resolved_ids": [f"task-{n}" for n in resolved], "error_ids": ["gone"]})
    )
    failed = {"instance_id": f"lost{EVIL}", "status": "failed", "error": EVIL, "error_class": "usage", "seconds": 1e999}
    (folder / "summary.json").write_text(json.dumps({"tasks": [failed, 7, {"instance_id": "task-0", "seconds": 1.5}]}))
    graded = folder / "logs" / "run_evaluation" / "id"
    graded.mkdir(parents=True)
    graded = graded / "summary.json"
    graded.write_text(json.dumps({"instances": {"task-0": {"seconds": 2}, "gone": {"failure": "environment"}, "x": 3}}))
    return folder


def test_many_runs_have_a_table(run_host: RunHost, run_folder: Path, tmp_path: Path) -> None:
    first = many(tmp_path / "a", run_folder, ["verified", "none", "refused"], [0])
    second = many(tmp_path / "b", run_folder, ["verified", "none", "unverified"], [1])
    graded = first / "logs" / "run_evaluation" / "id" / "m" / "task-0"
    graded.mkdir(parents=True)
    (graded / "verdict.json").write_text(json.dumps({"official_resolved": True}))
    (graded / "test_output.txt").write_text("ok")
    assert run_host("report", first, "--compare", second).check().out == f"{first}/comparison.html\n"
    assert not (first / "report.html").exists()
    page = Page(first / "comparison.html")
    page.check()
    counted = "0 gained, 0 lost, 0 in both, 1 in neither (McNemar's exact p = 1); 1 task compared, 1 graded only here, 1 only there"
    assert f"compared with &#x27;{second}&#x27; (" in page.text and "6 tasks: " in page.text
    assert f"): {counted}" in run_host("report", first, "--compare", second, "-f", "text").check().out
    assert '<a href="task-0/report.html">task-0</a>' in page.text
    assert '<a href="logs/run_evaluation/id/m/task-0/test_output.txt">test log</a>' in page.text
    page = Page(first / "task-0" / "report.html")
    page.check()
    assert '<a href="../logs/run_evaluation/id/m/task-0/test_output.txt">test log</a>' in page.text
    assert f"test log  {graded}/test_output.txt\n" in run_host("report", first / "task-0", "-f", "text").check().out
    told = json.loads(run_host("report", first, "--compare", second, "--json").check().stdout)
    rows = [(row["task"], row["outcome"], row["before"], row["cost_microusd"]) for row in told["tasks"]]
    assert rows.pop(1)[1:] == ("failed", "failed", 0) and rows.pop()[0] == "x"
    whys = {row["task"]: (row["error_class"], row["seconds"]) for row in told["tasks"]}
    assert whys["gone"] == ("environment", 0) and whys["task-0"] == (None, 3.5)
    assert rows == [
        ("gone", "error", "error", 0),
        ("task-0", "resolved", "not graded there", 0),
        ("task-1", "none", "graded only there", 1000),
        ("task-2", "refused", "unverified", 2000),
    ]
    assert told["comparison"]["neither"] == ["gone"] and told["comparison"]["only_here"] == ["task-0"]
    table = run_host("report", first, "--compare", second, "-f", "csv").check().out
    assert [row["before"] for row in csv.DictReader(io.StringIO(table)) if row["instance_id"] == "task-1"] == [
        "graded only there"
    ]
    assert 'tests="6" failures="3" errors="2"' in run_host("report", first, "-f", "junit").check().out
    assert "6 tasks" in run_host("report", first, "-f", "markdown").check().out
    assert len(run_host("report", first, "-f", "text").check().out.splitlines()) == 13
    check_table(run_host, first)


def test_runs_of_no_batch_have_their_own_values(run_host: RunHost, run_folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(run_folder, tmp_path / "many" / name)
    with (tmp_path / "many" / "two" / "journal.jsonl").open("a") as journal:
        journal.write('{"n":9999,"event":"test","request":{},"answer":{},"time":{"wall_ms":1500}}\n')
    meta = json.loads((run_folder / "meta.json").read_text())
    own = meta["options"]["model"]
    meta["options"]["model"] = ["other/model"]
    (tmp_path / "many" / "two" / "meta.json").write_text(json.dumps(meta))
    table = run_host("report", tmp_path / "many", "-f", "csv").check().out
    one, two = csv.DictReader(io.StringIO(table, newline=""), strict=True)
    assert ([one["model"]], two["model"]) == (own, "other/model")
    assert float(two["seconds"]) - float(one["seconds"] or 0) == 1.5 and one["repository"] == meta["options"]["repo"]
    run_host("watch", tmp_path / "many", "--once").one_line(2, "holds several run folders", "acr-host report")


def check_table(run_host: RunHost, folder: Path) -> None:
    """The table for spreadsheets, and the tasks that were not begun."""
    (folder / "shared").mkdir()
    names = ["task-0", *(f"late-{n}" for n in range(12))]
    (folder / "shared" / "live.json").write_text(json.dumps({"tasks": names, "next": 1}))
    summary = json.loads((folder / "summary.json").read_text())
    row = summary["tasks"][0]
    row |= {
        "instance_id": "failed",
        "repo": "own/project",
        "error": '=1+1,"x"',
        "cost": {"calls": 2, "charged_microusd": 1500},
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    patch = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    (folder / "task-0" / "result.json").write_text(json.dumps({"verdict": "verified", "patch": patch}))
    spent = {
        "total": {"calls": 1},
        "by_stage": {"attempt_0/search": {}, "attempt_0/patch": {}, "attempt_1/patch": {}, "select": {}},
    }
    (folder / "task-0" / "cost.json").write_text(json.dumps(spent))
    table = run_host("report", folder, "-f", "csv").check().out
    rows = {row["instance_id"]: row for row in csv.DictReader(io.StringIO(table, newline=""), strict=True)}
    assert table.count("\r\n") == len(table.splitlines()) == 19 and set(map(len, rows.values())) == {20}
    bad, good = rows["failed"], rows["task-0"]
    assert (bad["repository"], bad["reason"], bad["charged_usd"], bad["calls"]) == (
        "own/project", "'=1+1,\"x\"", "0.001500", "2",
    )  # fmt: skip
    assert (good["verdict"], good["grade"], good["resolved"], bad["resolved"]) == ("verified", "resolved", "true", "")
    assert (rows["gone"]["grade"], rows["gone"]["resolved"]) == ("error", ""), "it could not be graded"
    assert rows["gone"]["calls"] == rows["gone"]["cost_usd"] == "", "nobody knows what its patch cost"
    assert (good["patch_lines"], good["attempts"]) == ("2", "2") and rows["late-11"]["state"] == "not_begun"
    shown = ", ".join(names[1:11])
    assert f"12 tasks not begun: {shown} and 2 more\n" in run_host("report", folder, "-f", "text").check().out
    assert "12 tasks not begun: " in run_host("report", folder, "-f", "markdown").check().out
    run_host("report", folder).check()
    page, told = Page(folder / "report.html").text, json.loads(run_host("report", folder, "--json").check().out)
    assert "12 tasks not begun: late-0, " in page and told["not_begun"] == names[1:]
    extra = told["charged_microusd"] - told["cost_microusd"]
    assert extra == 1500 and f"USD for answers, {told['charged_microusd'] / 1e6:.4f} USD charged" in page


def test_one_of_several_evaluations_is_reported(run_host: RunHost, tmp_path: Path) -> None:
    """The newest or the named one; every format shows its doubts."""
    for age, name in enumerate(("new", "old")):
        graded = tmp_path / "logs" / "run_evaluation" / name
        (graded / "m" / "a").mkdir(parents=True)
        (graded / "summary.json").write_text(json.dumps({"models": ["m"], "dataset": "d.jsonl", "instances": {}}))
        os.utime(graded / "summary.json", ns=(10**18 + 9 - age, 10**18 + 9 - age))
        (tmp_path / f"m.{name}.json").write_text(json.dumps({"resolved_ids": ["a"] if age else [], "error_ids": ["b"]}))
        (graded / "m" / "a" / "verdict.json").write_text(json.dumps({"official_resolved": True, "why": "it cheats"}))
    newest = run_host("report", tmp_path, "--json").check()
    assert "has 2 evaluations: new, old; this is the newest, 'new'" in newest.err
    assert [row["task"] for row in json.loads(newest.out)["tasks"]] == ["a", "b"]
    for named in ((tmp_path, "--run-id", "old"), (tmp_path / "logs" / "run_evaluation" / "old",)):
        text = run_host("report", *named, "-f", "text").check()
        assert "resolved (not believed)" in text.out and "not believed: it cheats" in text.out and not text.err
        assert text.out.startswith("m, d.jsonl, run old, 2001-09-09\n")
    assert "| not believed: it cheats |" in run_host("report", *named, "-f", "markdown").check().out
    assert 'errors="1" skipped="1"' in run_host("report", *named, "-f", "junit").check().out
    compared = run_host("report", *named, "--compare", tmp_path, "-f", "text").check()
    assert (
        "this is the newest, 'new'; name another as" in compared.err
        and "run new, 2001-09-09): 0 gained" in compared.out
    )
    run_host("report", tmp_path, "--compare", tmp_path, "-f", "junit").one_line(2, "does not support --format junit")
    run_host("report", tmp_path, "--run-id", "x").one_line(2, "has no evaluation 'x'; it has new, old")


def test_one_of_several_models_of_an_evaluation_is_reported(run_host: RunHost, tmp_path: Path) -> None:
    """The newest or the named one, also of an evaluation that did not end."""
    run = tmp_path / "logs" / "run_evaluation" / "r"
    for age, model in enumerate(("old:1", "new")):
        (run / model / "a").mkdir(parents=True)
        verdict = {"official_resolved": age == 0, "total_ms": 2000, "failure": "issue_remains" if age else None}
        (run / model / "a" / "verdict.json").write_text(json.dumps(verdict))
        final = tmp_path / f"{model.replace(':', '_')}.r.json"
        ids = {"resolved_ids": [] if age else ["a"], "unresolved_ids": ["a"] if age else [], "incomplete_ids": ["b"]}
        final.write_text(json.dumps(ids))
        os.utime(final, ns=(10**18 + age, 10**18 + age))
    (run / "summary.json").write_text(json.dumps({"models": ["new"], "instances": {"a": {"seconds": 1}}}))
    text = run_host("report", tmp_path, "-f", "text").check()
    assert "predictions of 2 models: new, old_1; this is the newest, 'new'; name another as" in text.err
    assert text.out.startswith("new, run r") and "tests of the issue fail" in text.out and "resolved 0 of 2" in text.out
    for named in (tmp_path / "old_1.r.json", run / "old:1"):
        other = run_host("report", named, "-f", "text").check()
        assert re.search("^old[:_]1, run r", other.out) and "resolved 1 of 2" in other.out and not other.err
        assert json.loads(run_host("report", named, "--json").check().out)["tasks"][0]["seconds"] == 2
    page = run_host("report", tmp_path, "-f", "html", "-o", "-").check().out
    assert '<td class="warn">without a prediction</td>' in page and "USD" not in page and ">-</td>" in page
    (run / "summary.json").write_text(json.dumps({"models": ["new"], "late": ["b"], "instances": {}}))
    assert "b     not graded before --max-time" in run_host("report", tmp_path, "-f", "text").check().out
    left = {"tasks": ["a", "b", "c", "d"], "models": ["old:1"], "empty_patch_ids": ["d"]}
    (run / "unfinished.json").write_text(json.dumps(left))
    text = run_host("report", tmp_path, "-f", "text").check()
    assert "this is the newest, 'old:1'" in text.err and "1 resolved, 1 empty patch; resolved 1 of 2" in text.out
    assert text.out.endswith("\ngrading unfinished, 2 of 4 graded; rerun the same command\n2 tasks not begun: b, c\n")
    for form in ("html", "markdown"):
        told = run_host("report", tmp_path, "-f", form, "-o", "-").check().out
        assert "grading unfinished, 2 of 4 graded" in told and "2 tasks not begun: b, c" in told
    told = json.loads(run_host("report", tmp_path, "--json").check().out)
    assert told["unfinished_grading"] == {"graded": 2, "tasks": 4, "runs": False} and told["not_begun"] == ["b", "c"]


def test_what_cannot_be_reported(run_host: RunHost, run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "other.json").write_text("{}")
    run_host("report", tmp_path / "empty").one_line(2, "is not the folder of a run")
    run_host("report").one_line(2, "give the folder of a run")
    batch = many(tmp_path / "above" / "batch", run_folder, ["none"], [])
    run_host("report", batch.parent).one_line(2, f"; inside it are: {batch}")
    run_host("report", batch, "--compare", run_folder).one_line(2, "is the folder of one run, but")
    run_host("report", run_folder, "--compare", run_folder, "-f", "junit").one_line(2, "supports only --format html")
    pair = run_host("report", run_folder, "--compare", run_folder, "-f", "text").check().out
    assert pair.count(f"{run_folder}\n") == 2 and pair.endswith("Both runs wrote the same patch.\n")
    run_host("report", run_folder, "--instances", run_folder / "issue.md").one_line(
        2, "--instances needs a folder of many"
    )
    run_host("report", run_folder, "-f", "pdf").one_line(2, "html, text, markdown")
    run_host("report", run_folder, "-f", "junit", "--json").one_line(2, "give --json or --format junit, not both")
    run_host("report", run_folder, "-f", "csv").one_line(2, "--format csv needs a folder of many runs")
    run_host("report", run_folder, "-o", tmp_path / "no" / "x.html").one_line(3, "no/x.html")
    batch = many(tmp_path / "a", run_folder, ["none"], [])
    for form in ("sarif", "atif"):
        run_host("report", batch, "-f", form).one_line(2, f"--format {form} needs the folder of one run")


# ---- Official schemas, and a browser --------------------------------------------------------------

VALIDATE = """
import json, sys
from jsonschema import Draft7Validator
from lxml import etree
sarif, schema, junit, xsd = sys.argv[1:]
Draft7Validator(json.load(open(schema))).validate(json.load(open(sarif)))
etree.XMLSchema(etree.parse(xsd)).assertValid(etree.parse(junit))
"""


@pytest.mark.full
def test_the_official_schemas_hold(
    run_host: RunHost,
    run_folder: Path,
    tmp_path: Path,
    pinned_python: Callable[..., Path],
    release_repo: Callable[[str, str], Repo],
) -> None:
    python = pinned_python(["jsonschema==4.23.0", "lxml==5.3.0"])
    schema = npm_package("@microsoft/jest-sarif", "1.0.0-beta.0") / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json"
    xsd = release_repo("pytest", "8.3.4").path / "testing" / "example_scripts" / "junit-10.xsd"
    for state in ("usual", "hostile"):
        if state == "hostile":
            make_hostile(run_folder)
        for form in ("sarif", "junit"):
            run_host("report", run_folder, "-f", form, "-o", tmp_path / form).check()
        subprocess.run([python, "-c", VALIDATE, tmp_path / "sarif", schema, tmp_path / "junit", xsd], check=True)


@pytest.mark.full
def test_harbor_accepts_a_trajectory(
    run_host: RunHost, run_folder: Path, tmp_path: Path, pinned_python: Callable[..., Path]
) -> None:
    python, harbor = pinned_python(["pydantic==2.11.7"]), wheel("harbor", "0.26.0")
    check = (
        "import sys; from harbor.models.trajectories import Trajectory as T; T.model_validate_json(sys.stdin.read())"
    )
    for state in ("usual", "hostile"):
        if state == "hostile":
            make_hostile(run_folder)
        told = run_host("report", run_folder, "-f", "atif").check().stdout
        subprocess.run([python, "-c", check], input=told, env={"PYTHONPATH": str(harbor)}, check=True)


@pytest.mark.full
def test_a_browser_finds_nothing_to_complain_of(run_host: RunHost, run_folder: Path, tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("there is no chromium")
    axe = (npm_package("axe-core", "4.14.1") / "axe.min.js").read_text("utf-8")
    make_hostile(run_folder)
    run_host("report", run_folder).check()
    words = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--v=0"]
    words += ["--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"]
    shown = subprocess.run([*words, f"file://{run_folder}/report.html"], check=True, capture_output=True, text=True)
    assert "CONSOLE" not in shown.stderr and "<title>owned" not in shown.stdout
    page = re.sub(r"<meta http-equiv[^>]*>", "", (run_folder / "report.html").read_text("utf-8"))
    check = "axe.run().then(r => { document.title = 'axe: ' + r.violations.map(v => v.id).join(' ') + '.' })"
    (tmp_path / "axe.html").write_text(
        page.replace("</body>", f"<script>{axe}</script><script>{check}</script></body>")
    )
    for mode in ([], ["--force-dark-mode"]):
        shown = subprocess.run(
            [*words, *mode, f"file://{tmp_path}/axe.html"], check=True, capture_output=True, text=True
        )
        assert "<title>axe: .</title>" in shown.stdout
