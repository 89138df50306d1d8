"""The verbs as a person or a program uses them: options, JSON, exit codes, streams."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from host import SLOWNESS, Host, Result, without_progress
from repos import Repo, digest
from runs import CHANGED, SCRIPT, arguments, check_patch, fixed, script_lines

RunHost = Callable[..., Result]

VERBS = [
    "run",
    "search",
    "patch",
    "index",
    "swe-bench",
    "replay",
    "exec",
    "reproduce",
    "eval",
    "mcp",
    "tests",
    "config",
    "doctor",
    "report",
    "pr",
    "extensions",
]
ANSWERS = [line["content"] for line in script_lines() if line["agent"] == "patch"]

# Each search call, and the places that it finds as (file, class, func).
FOUND = {
    'search_class("SeasonalTariff")': [(CHANGED, "SeasonalTariff", None)],
    'search_class_in_file("SeasonalTariff", "seasonal.py")': [(CHANGED, "SeasonalTariff", None)],
    'search_method("cost_in_blocks")': [("brookbill/tariffs/blocks.py", None, "cost_in_blocks")],
    'search_method_in_file("split_at", "brookbill/periods.py")': [("brookbill/periods.py", "Period", "split_at")],
    'search_method_in_class("usage_charge", "BlockTariff")': [
        ("brookbill/tariffs/stepped.py", "SteppedTariff", "usage_charge")
    ],
    'search_code("def cost_in_blocks(")': [("brookbill/tariffs/blocks.py", None, "cost_in_blocks")],
    'search_code_in_file("left -= share", "tariffs/seasonal.py")': [(CHANGED, "SeasonalTariff", "usage_charge")],
    'get_code_around_line("brookbill/tariffs/seasonal.py", 66, 2)': [(CHANGED, "SeasonalTariff", "usage_charge")],
}
MISSED = {
    'search_class("Nowhere")': "Nowhere",
    'search_class("SeasonTariff")': "SeasonalTariff",
    'search_method_in_file("split_nowhere", "nofile.py")': "nofile.py",
    'search_code("no such text anywhere")': "no such text anywhere",
    "search_class(1, 2, 3)": "search_class(class_name: str)",
    'frobnicate("x")': "frobnicate",
    "not a call": "",
    'search_class(open("/etc/passwd"))': "",
}


def check_search_row(row: dict[str, Any]) -> None:
    """The object has exactly the promised members, with their types."""
    assert list(row) == ["call", "ok", "failed", "output", "results", "lines"]
    assert isinstance(row["ok"], bool) and isinstance(row["output"], str)
    for place in row["results"]:
        assert set(place) == {"file", "start", "end", "class", "func"}
        assert 1 <= place["start"] <= place["end"]
    for line in row["lines"]:
        assert set(line) == {"file", "line", "column", "text"}


def test_search_json(run_host: RunHost, sample_repo: Repo) -> None:
    before = digest(sample_repo.path)
    result = run_host("search", "--repo", sample_repo, "--json", *FOUND).check()
    assert result.err == ""
    assert [row["call"] for row in result.rows()] == list(FOUND)
    for row in result.rows():
        check_search_row(row)
        assert row["ok"] is True
        places = [(p["file"], p["class"], p["func"]) for p in row["results"]]
        assert places == FOUND[row["call"]], row["call"]
        for file, klass, func in places:
            assert f"<file>{file}</file>" in row["output"]
            assert klass is None or f"<class>{klass}</class>" in row["output"]
            if func:
                assert f"<func>{func}</func>" in row["output"]
    assert digest(sample_repo.path) == before


def test_search_json_names_the_lines_with_the_text(run_host: RunHost, sample_repo: Repo) -> None:
    words = ["search", "--repo", sample_repo]
    (row,) = run_host(*words, "--json", 'search_code("period")').rows()
    lines = [f"{at['file']}:{at['line']}:{at['column']}:{at['text']}" for at in row["lines"]]
    printed = run_host(*words, "--vimgrep", 'search_code("period")').out.splitlines()
    assert len(lines) > len(row["results"]) > 1 and sorted(lines) == sorted(printed)
    (row,) = run_host(*words, "--json", "--limit", 1, 'search_code("period")').rows()
    (place,) = row["results"]
    assert row["lines"] and all(place["start"] <= at["line"] <= place["end"] for at in row["lines"])


def test_search_places_are_where_the_code_is(run_host: RunHost, sample_repo: Repo) -> None:
    calls = ['search_method_in_class("usage_charge", "SeasonalTariff")', 'search_class("SeasonalTariff")']
    method, klass = run_host("search", "--repo", sample_repo, "--json", *calls).rows()
    lines = (sample_repo.path / CHANGED).read_text().splitlines()
    (place,) = method["results"]
    assert lines[place["start"] - 1].strip().startswith("def usage_charge(")
    assert lines[place["end"] - 1].strip() == "return total"
    for number in range(place["start"], place["end"] + 1):
        line = f"{number} {lines[number - 1]}".rstrip()
        assert line in [text.rstrip() for text in method["output"].splitlines()]
    assert "class SeasonalTariff(BlockTariff):" in klass["output"]
    assert "total +=" not in klass["output"], "signatures only"


def test_search_misses(run_host: RunHost, sample_repo: Repo) -> None:
    result = run_host("search", "--repo", sample_repo, "--json", *MISSED).check(2)  # some are no calls
    assert result.err == ""
    assert [row["call"] for row in result.rows()] == list(MISSED)
    for row in result.rows():
        check_search_row(row)
        assert (row["ok"], row["results"]) == (False, [])
        assert row["failed"] == (not row["output"].startswith("Found no "))
        assert row["output"].strip() and MISSED[row["call"]] in row["output"]


def test_search_one_miss_is_exit_1(run_host: RunHost, sample_repo: Repo) -> None:
    good, bad = 'search_class("Period")', 'search_class("Nowhere")'
    result = run_host("search", "--repo", sample_repo, "--json", bad, good).check(1)
    assert [row["ok"] for row in result.rows()] == [False, True]


def test_search_from_stdin(run_host: RunHost, sample_repo: Repo) -> None:
    """One call per line; empty lines and CRLF do no harm; the answers equal those to arguments."""
    lines = "\n\r\n".join(FOUND) + "\r\n\n"
    piped = run_host("search", "--repo", sample_repo, "--json", input=lines).check()
    given = run_host("search", "--repo", sample_repo, "--json", *FOUND).check()
    assert piped.stdout == given.stdout
    text = run_host("search", "--repo", sample_repo, input=lines).check().out
    outputs = [row["output"] for row in given.rows()]
    assert text == "\n".join(output.rstrip("\n") + "\n" for output in outputs)


def test_a_message_is_one_line_whatever_it_repeats(run_host: RunHost, tmp_path: Path) -> None:
    """A name in a message can contain neither a line end nor terminal escapes."""
    where = tmp_path / "no\nsuch\x1b[31m"
    for args in (["index", "--repo", where], ["index", "--repo", tmp_path, where]):
        result = run_host(*args)
        said = result.one_line(result.exit, "such")
        assert result.exit in (2, 3) and "\x1b" not in said and "[31m" in said


@pytest.mark.parametrize("verb", ["search", "patch", "run"])
def test_interrupted_at_stdin(host: Host, sample_repo: Repo, tmp_path: Path, verb: str) -> None:
    """The first Ctrl-C ends the wait for input."""
    more = ["--issue=-", "--out", tmp_path / "out", "--model", f"script:{SCRIPT}"]
    child = host.start(verb, "--repo", sample_repo, *(more if verb == "run" else []), stdin=subprocess.PIPE)
    wait_for_read(child.pid)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60 * SLOWNESS) == 130
    assert child.stderr and b"interrupted" in child.stderr.read()


def wait_for_read(pid: int) -> None:
    """Wait until the process's main thread waits for standard input."""
    end = time.monotonic() + 30 * SLOWNESS
    where = Path(f"/proc/{pid}/task/{pid}/syscall")
    polls = ("7", "73")  # the number of poll on x86-64, and of ppoll on arm64
    while where.read_text().split()[0] not in polls:
        assert time.monotonic() < end, "it does not read"
        time.sleep(0.02)


def test_search_of_a_commit_and_of_the_tree(run_host: RunHost, sample_repo: Repo) -> None:
    sample_repo.write({"brookbill/extra.py": "class Extra:\n    pass\n"})
    call = 'search_class("Extra")'
    tree = run_host("search", "--repo", sample_repo, "--json", call).check()
    assert tree.rows()[0]["results"] == [
        {"file": "brookbill/extra.py", "start": 1, "end": 2} | {"class": "Extra", "func": None}
    ]
    run_host("search", "--repo", sample_repo, "--rev", "HEAD", call).check(1)


@pytest.mark.parametrize("words", [["search", "--json", "f()"], ["index"], ["patch", __file__]])
def test_a_revision_that_is_not_there_is_one_line(run_host: RunHost, sample_repo: Repo, words: list[str]) -> None:
    run_host(words[0], "--repo", sample_repo, "--rev", "nope", *words[1:]).one_line(3, "no revision 'nope'")


def test_search_names_nested_classes_with_dots(run_host: RunHost, make_repo: Callable[..., Repo]) -> None:
    text = "class A:\n    class B:\n        def f(self):\n            def g():\n"
    repo = make_repo({"m.py": text + "                return 'needle'\n"})
    result = run_host("search", "--repo", repo, "--json", 'search_code("needle")')
    (place,) = result.check().rows()[0]["results"]
    assert (place["class"], place["func"]) == ("A.B", "g")


def test_patch_of_files(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    for number, text in enumerate([*ANSWERS, "I do not know."], 1):
        (tmp_path / f"{number}.md").write_text(text, "utf-8")
    files = [tmp_path / f"{number}.md" for number in (1, 2, 3)]
    before = digest(sample_repo.path)
    result = run_host("patch", "--repo", sample_repo, "--json", *files).check(1)
    assert digest(sample_repo.path) == before
    assert result.err == ""
    refused, applied, prose = result.rows()
    for row, file in zip(result.rows(), files, strict=True):
        assert list(row) == ["file", "status", "message", "diff", "edits"]
        assert row["file"] == str(file)
        for edit in row["edits"]:
            assert set(edit) == {"file", "level", "start", "end", "status"}
    assert (refused["status"], refused["diff"]) == ("RAW_PATCH_BUT_UNMATCHED", None)
    assert [edit["status"] for edit in refused["edits"]] == ["ambiguous"]
    assert "lines 66, 69" in refused["message"]
    assert (applied["status"], applied["message"]) == ("APPLICABLE_PATCH", "")
    assert [(e["file"], e["level"], e["start"], e["end"], e["status"]) for e in applied["edits"]] == [
        (CHANGED, "indent", 63, 67, "applied"),
        (CHANGED, "trailing", 68, 70, "applied"),
    ]
    assert (prose["status"], prose["diff"]) == ("RAW_PATCH_BUT_UNPARSED", None)
    assert (prose["edits"], bool(prose["message"])) == ([], True)
    check_patch(applied["diff"].encode(), sample_repo.clone(tmp_path / "checkout"))


def test_patch_as_text(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """Diffs on stdout, from stdin and from files; each rejected edit is reported once on stderr."""
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(ANSWERS[1], "utf-8")
    bad.write_text(ANSWERS[0], "utf-8")
    piped = run_host("patch", "--repo", sample_repo, input=ANSWERS[1]).check()
    assert run_host("patch", "--repo", sample_repo, "-", input=ANSWERS[1]).check().stdout == piped.stdout
    run = run_host(*arguments(sample_repo, tmp_path / "out")).check()
    assert piped.stdout == run.stdout
    both = run_host("patch", "--repo", sample_repo, bad, good).check(1)
    assert both.stdout == piped.stdout
    assert both.err.count("quote code that is missing or occurs several times. The model would be told:\n") == 1
    assert both.err.startswith(f"{bad}: ")
    sample_repo.apply(piped.stdout)
    again = run_host("patch", "--repo", sample_repo, good).check(1)
    assert again.stdout == b""
    old = run_host("patch", "--repo", sample_repo, "--rev", "HEAD", good).check()
    assert old.stdout == piped.stdout


def test_patch_of_a_diff(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """A diff is a valid answer: it gives itself, also beside tags with the same change."""
    diff = run_host("patch", "--repo", sample_repo, input=ANSWERS[1]).check().stdout
    assert run_host("patch", "--repo", sample_repo, input=diff).check().stdout == diff
    both = f"{ANSWERS[1]}\nAs a diff:\n```diff\n{diff.decode()}```\n"
    assert run_host("patch", "--repo", sample_repo, input=both).check().stdout == diff
    elsewhere = run_host("patch", "--repo", sample_repo, input=diff.replace(b"brookbill/", b"src/brookbill/")).check()
    assert (
        elsewhere.stdout == diff
        and f"there is no file 'src/{CHANGED}'; applied its edits to '{CHANGED}'" in elsewhere.err
    )
    renamed = f"diff --git a/{CHANGED} b/moved.py\nrename from {CHANGED}\nrename to moved.py\n"
    row = run_host("patch", "--repo", sample_repo, "--json", input=renamed).check()
    assert [(e["file"], e["level"], e["start"], e["end"], e["status"]) for e in row.rows()[0]["edits"]] == [
        (CHANGED, "exact", 0, 0, "applied")
    ]
    checkout = sample_repo.clone(tmp_path / "checkout")
    before = (checkout.path / CHANGED).read_bytes()
    checkout.apply(row.rows()[0]["diff"].encode())
    assert (checkout.path / "moved.py").read_bytes() == before
    assert not (checkout.path / CHANGED).exists()


def test_patch_of_a_whole_function_for_a_line_of_it(run_host: RunHost, make_repo: Callable[..., Repo]) -> None:
    """Such a patch may also be the verb's first answer, for which nothing is indexed yet."""
    code = "class Cart:\n    def total(self):\n        n = 0\n        for i in self.items:\n            n += i\n        return n\n"
    whole = code.split("\n", 1)[1].replace("n += i", "n += 2 * i")
    answer = f"<file>cart.py</file>\n<original>\n            n += i\n</original>\n<patched>\n{whole}</patched>\n"
    repo = make_repo({"cart.py": code})
    repo.apply(run_host("patch", "--repo", repo, input=answer).check().stdout)
    assert (repo.path / "cart.py").read_text("utf-8") == code.replace("n += i", "n += 2 * i")


def test_patch_of_a_file_that_is_missing(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    good = tmp_path / "good.md"
    good.write_text(ANSWERS[1], "utf-8")
    missing = tmp_path / "missing.md"
    result = run_host("patch", "--repo", sample_repo, missing, good)
    result.one_line(2, str(missing))
    assert CHANGED in result.out, "the other answer is still handled"


def test_index_json(run_host: RunHost, sample_repo: Repo) -> None:
    sample_repo.write({"brookbill/broken.py": "def f(:\n", "notes.txt": "x\n"})
    result = run_host("index", "--repo", sample_repo, "--json").check()
    (row,) = result.rows()
    python = [
        path for path in sample_repo.path.rglob("*.py") if "tests" not in path.relative_to(sample_repo.path).parts
    ]
    assert row["files"] == len(python)
    assert row["unparsable"] == 1
    assert row["symbols"] > 100
    assert row["entries"] == len(sample_repo.git("ls-files").splitlines()) + 2
    text = run_host("index", "--repo", sample_repo).check().out
    assert re.search(rf"^files +{row['files']}$", text, re.MULTILINE)
    told = run_host("index", "--repo", sample_repo, "--json", "--verbose").check()
    (bad,) = told.rows()[0]["unparsable_files"]
    assert bad["file"] == "brookbill/broken.py" and bad["reason"]


@pytest.mark.parametrize("verb", VERBS)
def test_help(run_host: RunHost, verb: str) -> None:
    """--help has the common options on one screen, --help-all all options; both end with examples."""
    short = run_host(verb, "--help").check()
    options, _, examples = short.out.partition("\nExamples:\n")
    assert re.search(rf"^  acr-host {verb}\b", examples, re.M)
    assert len(options.splitlines()) <= 40 and max(map(len, short.out.splitlines())) <= 120
    has_more = "--help-all" in short.out
    result = run_host(verb, "--help-all").check() if has_more else short
    assert result.err == "" and set(short.out.splitlines()) <= set(result.out.splitlines())
    assert f"acr-host {verb}" in result.out.splitlines()[1]
    wanted = {
        "run": ["--repo", "--rev", "--issue", "--issue-text", "--model", "--out"]
        + ["--rounds", "--tries", "--attempts", "--verify", "--temperature"]
        + ["--prompts", "--retries", "--apply", "--verbose", "--sandbox", "--image"]
        + ["--python", "--setup", "--setup-network", "--validate"],
        "search": ["--repo", "--rev", "--json"],
        "patch": ["--repo", "--rev", "--json"],
        "index": ["--repo", "--rev", "--json"],
        "swe-bench": ["--dataset", "--repos", "--instance", "--model", "--out"] + ["--jobs", "--rounds", "--retries"],
        "replay": ["RUNDIR"],
        "exec": ["--repo", "--rev", "--patch", "--sandbox", "--image", "--setup", "CMD"]
        + ["--timeout", "--memory", "--processes", "--output-limit", "--network", "--json"],
        "tests": ["--repo", "--rev", "--patch", "--test-cmd", "--test-time", "--python", "--list", "--json"],
        "reproduce": ["--repo", "--rev", "--issue", "--model", "--out", "--sandbox"],
        "eval": ["--dataset", "--predictions", "--run-id", "--out", "--rules", "--regrade", "--jobs", "--timeout"],
        "config": ["VERB", "--json"],
        "report": ["OUT", "--format", "--output", "--compare", "--json"],
        "pr": ["OUT", "--repo", "--template", "--branch", "--push", "--open", "--base"]
        + ["--dry-run", "--forge", "--api-url", "--json"],
        "doctor": ["--model", "--online", "--sandbox", "--json"],
        "extensions": ["new NAME", "test FILE", "--extension", "--repo", "--json"],
        "mcp": ["--repo", "--timeout", "--prompts", "--no-cache", "--jobs"],
    }[verb]
    assert [word for word in wanted if word not in result.out] == []
    assert "--shared-dir" not in result.out
    assert run_host(verb, "-h").check().stdout == short.stdout


def test_usage_and_version(run_host: RunHost) -> None:
    version = run_host("--version").check()
    assert run_host("-V").check().out == version.out
    assert re.fullmatch(r"acr-host \d+\.\d+\.\d+\n", version.out)
    told = json.loads(run_host("--version", "--json").check().stdout)
    assert version.out == f"acr-host {told['version']}\n"
    names = {"python", "glib", "libgit2", "libcurl", "libmicrohttpd", "cjson", "sqlite", "pcre2"}
    assert set(told["libraries"]) == names and all(re.match(r"\d+\.\d+", each) for each in told["libraries"].values())
    text = run_host("--help").check().out
    assert [verb for verb in VERBS if not re.search(rf"^  {verb} ", text, re.M)] == []


@pytest.mark.parametrize(
    "words,said",
    [
        (["frobnicate"], "there is no verb 'frobnicate' ("),
        (["serach"], "there is no verb 'serach'; did you mean 'search'?"),
        (["rnu"], "there is no verb 'rnu'; did you mean 'run'?"),
        (["version"], "there is no verb 'version'; did you mean '--version'?"),
        (["help", "model"], "there is no topic 'model' (did you mean 'models-and-money'?)"),
        (["help", "serach"], "there is no topic 'serach' (did you mean 'search'?)"),
        (["\x1b[31mno\nverb"], "there is no verb '\\u001b[31mno verb'"),
        (["--frobnicate"], "there is no verb '--frobnicate'"),
        (["run", "--frobnicate"], "--frobnicate"),
        (["run", "--out", "o", "--issue", "i", "--model", "m"], "no git repository around"),
        (["run", "--repo", ".", "--issue", "i", "--out", "o"], "--model is missing"),
        (["run", "--repo", ".", "--model", "m", "--out", "o"], "--issue FILE or --issue-text TEXT (see"),
        (["run", "--repo", "."], "--issue-text TEXT, and the model with --model PROVIDER/NAME"),
        (["run", "--rounds", "many"], "many"),
        (["run", "--repo"], "--repo"),
        (["search", "--frobnicate"], "--frobnicate"),
        (["patch", "file.md"], "no git repository around"),
        (["index"], "no git repository around"),
        (["index", "--repo", ".", "more"], "'more'"),
        (["replay", "a", "b"], "give only one folder"),
        (["merge", __file__], "is not a folder"),
        (["tests", "--repo", ".", "--test-cmd", ""], "--test-cmd is empty"),
        (["exec", "--", "true"], "no git repository around"),
        (["exec", "--repo", "."], "command"),
        (["exec", "--repo", ".", "--timeout", "-1", "--", "true"], "--timeout"),
        (["reproduce", "--issue", "i", "--model", "m", "--out", "o"], "no git repository around"),
    ],
)
def test_wrong_usage(run_host: RunHost, tmp_path: Path, words: list[str], said: str) -> None:
    result = run_host(*words, cwd=tmp_path)
    line = result.one_line(2, said)
    assert line.startswith("acr-host")
    assert result.stdout == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    "replay a b|watch a b|report a b|pr a b|config serach|search -e|search -A1 f()|patch --rev HEAD none.md|index more|runs --limit 0"
    "|tests --patch none.diff|exec --patch none.diff -- true|extensions new|localize --repo . --formula no|doctor more|ask one two"
    "|run --issue none.md --model m|reproduce|verify --script none.py|eval --predictions none.json|demo --no".split(
        "|"
    ),
)
def test_wrong_usage_is_an_object_with_json(run_host: RunHost, sample_repo: Repo, words: str) -> None:
    verb, *options = words.split()
    result = run_host(verb, "--json", *options, cwd=sample_repo.path).check(2)
    (told,) = result.rows()
    assert told["error"]["class"] == "usage" and told["error"]["message"] in result.one_line(2)


@pytest.mark.parametrize(
    "options,said",
    [
        (["--rounds", "0"], "--rounds must be from 1 to 1000, not '0'"),
        (["--tries", "101"], "--tries must be from 1 to 100, not '101'"),
        (["--attempts", "-1"], "--attempts must be from 0 to 100, not '-1'"),
        (["--temperature", "2.5"], "--temperature"),
        (["--verify", "maybe"], "--verify must be one of auto, always, never, not 'maybe'"),
        (["--issue-text", "x"], "--issue"),
        (["--model", "nobody/x"], "names an unknown provider; known are"),
        (["--model", "antropic/x"], "names an unknown provider (did you mean 'anthropic'?)"),
        (["--model", "opnai"], "cannot tell the provider of model 'opnai' (did you mean 'openai'?); write"),
        (["--issue", "fix: total is wrong"], "there is no file 'fix: total is wrong'; give the text of an issue with"),
        (["more"], "'more'"),
    ],
)
def test_options_that_cannot_be(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, options: list[str], said: str
) -> None:
    run = arguments(sample_repo, tmp_path / "out", *options)
    run_host(*run).one_line(2, said)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words", [["--verify", "always"], ["--verify=always"], ["--verify"], ["--verify", "--rounds=2"]]
)
def test_always_verifying_is_no_pretence(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, words: list[str]
) -> None:
    """Without a sandbox this is impossible, and the message says so."""
    run = arguments(sample_repo, tmp_path / "out", *words)
    empty = tmp_path / "empty"
    empty.mkdir()
    result = run_host(*run, env={"PATH": str(empty)})
    result.one_line(3, "code cannot be run here: bubblewrap is not installed")


def closed_pipe(host: Host, *args: object) -> tuple[int, bytes]:
    """Run with a standard output whose reader is closed; return exit code and stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    child = host.start(*args, stdout=writer)
    os.close(writer)
    _, stderr = child.communicate(timeout=60)
    return child.returncode, stderr


def test_reader_that_has_gone(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(ANSWERS[1], "utf-8")
    calls = ['search_code("e")'] * 50
    repo = ["--repo", sample_repo]
    assert closed_pipe(host, "search", *repo, *calls) == (0, b"")
    assert closed_pipe(host, "index", *repo) == (0, b"")
    assert closed_pipe(host, "patch", *repo, tmp_path / "answer.md") == (0, b"")
    assert closed_pipe(host, "run", "--help") == (0, b"")
    code, err = closed_pipe(host, *arguments(sample_repo, tmp_path / "out"))
    assert (code, without_progress(err)[0]) == (0, b"")
    assert CHANGED in (tmp_path / "out" / "patch.diff").read_text()
    assert closed_pipe(host, "replay", tmp_path / "out") == (0, b"")


def test_head_of_many_answers(host: Host, sample_repo: Repo) -> None:
    calls = ['search_code("e")'] * 200
    command = [str(host.program), "search", "--repo", str(sample_repo), *calls]
    head = subprocess.run(
        ["bash", "-c", '"$@" | head -1; exit "${PIPESTATUS[0]}"', "-", *command],
        env=host.environment({}),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (head.returncode, head.stderr) == (0, b"")
    assert len(head.stdout.splitlines()) == 1 and b"lines with e" in head.stdout


def test_standard_output_that_is_full(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    calls = ['search_class("Period")'] * 3
    run = arguments(sample_repo, tmp_path / "out")
    repo = ["--repo", sample_repo]
    command = ["exec", *repo, "--sandbox=plain", "--", "echo", "hi"]
    words = ["search", *repo, "code", "def"]
    for args in (["search", *repo, *calls], words, ["index", *repo], command, ["--help"], ["--version"], run):
        with open("/dev/full", "wb") as full:
            result = host.run(*args, stdout=full)
        result.one_line(3, "cannot write to standard output")
    assert CHANGED in (tmp_path / "out" / "patch.diff").read_text()


def test_apply_needs_the_working_tree(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    run = arguments(sample_repo, tmp_path / "out", "--apply", "--rev", "HEAD")
    run_host(*run).one_line(2, "--apply", "--rev")
    before = (sample_repo.path / CHANGED).read_bytes()
    assert before != fixed(before)
    assert not (tmp_path / "out").exists()
