"""Extensions: what they add to runs, `search` and `mcp`; forty broken or hostile extensions; replays without extensions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

import pytest
from fewer import usually
from host import ROOT, Host, Result
from indexing import SANITIZED
from mcp_client import Client
from repos import Repo, make_repo
from runs import EXTRACT_1, EXTRACT_2_AGAIN, ISSUE, SELECT_2, arguments, journal, read_json, script_lines, write_script

RunHost = Callable[..., Result]
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
HEAD = """\
import ctypes, os, sys, time
from acr.extensions import *
API = 1
"""
CALL = 'CALLED = 0\n\n@search_call\ndef {name}(repo, word: str, number: int) -> str:\n    """Tells.\n\n    word: Any word\n    """\n'

# The error, and words of the line about it.
AT_LOAD: dict[str, tuple[str | bytes, str]] = {
    "syntax": (HEAD + "def f(:\n", "SyntaxError"),
    "raises": (HEAD + "def f():\n    raise ValueError('bad day')\nf()\n", "ValueError: bad day (line 6 in <module>, line 5 in f)"),
    "exits": (HEAD + "sys.exit(0)\n", "SystemExit"),
    "ends": (HEAD + "os._exit(3)\n", "its process ended with exit code 3"),
    "crashes": (HEAD + "ctypes.string_at(0)\n", "its process crashed (signal 11)"),
    "hangs": (HEAD + "while True:\n    print('x' * 10000)\n", "the call took longer than 2 s"),
    "recursion": (HEAD + "def f():\n    f()\nf()\n", "RecursionError"),
    "memory": (HEAD + "bytearray(10 << 30)\n", "MemoryError"),
    "later": ("API = 2\n", "the file is for version 2 of the interface; acr-host has version 1"),
    "no_api": ("x = 1\n", "the file declares no API = 1"),
    "not_text": (b"\xff\xfe\x00API = 1\n", "Error: source code"),
    "no_module": ("import a_module_that_is_not_there\n", "ModuleNotFoundError"),
    "no_decorator": ("from acr.extensions import search_cal\n", "cannot import name 'search_cal' from 'acr.extensions'; the module has "),
    "bare": (HEAD + "@log_parser\ndef f(log):\n    return {}\n", "write @log_parser"),
    "of_the_repo": ("import brookbill\n", "ModuleNotFoundError"),
    "no_docstring": (HEAD + "@search_call\ndef f(repo, a: str):\n    return a\n", "needs a docstring"),
    "arguments": (HEAD + "@search_call\ndef f(repo, a: str, b: str, c: str, d: str, e: str):\n    'F.'\n", "has 5 arguments"),
    "kind": (HEAD + "@search_call\ndef f(repo, a: float):\n    'F.'\n", "the argument a of the call f must be"),
    "event": (HEAD + "@on('dinner')\ndef f(event):\n    pass\n", "there is no event 'dinner'"),
    "builtin": (HEAD + "@search_call\ndef search_class(repo, a: str):\n    'Mine.'\n    return a\n", "has the name of another call"),
    "closes": (HEAD + "os.closerange(3, 200)\n", "its process"),
    "garbage": (HEAD + "for fd in range(3, 30):\n    try:\n        os.write(fd, b'x' * 1000)\n    except OSError:\n        pass\n", "its process"),
    "its_text": (HEAD + "class E(Exception):\n    def __str__(self):\n        raise self\nraise E\n", "E: the error cannot be converted to text"),
    "long_text": (HEAD + "raise ValueError('line\\n' * 100000 + '\\ud800')\n", "ValueError: line line"),
    "klass": (HEAD + "@patch_check\nclass C:\n    pass\n", "this decorator applies only to functions, not to type (line 4"),
    "method": (HEAD + "class C:\n    @patch_check\n    def f(patch):\n        pass\n", "would never call the function f: no global name"),
    "redefined": (HEAD + "@on('call')\ndef f(event):\n    pass\n\n@on('result')\ndef f(event):\n    pass\n", "acr-host would never call the function f: no global name of the file refers to it"),
    "same_name": (HEAD + "a = patch_check(lambda patch: None)\nb = patch_check(lambda patch: None)\n", "would never call the function <lambda>: 2 functions of its kind (check) have that name"),
    "odd_name": (HEAD + "@log_parser('a\\n\\x1b[2J')\ndef f(log):\n    pass\n", r"the name 'a\n\x1b[2J' must be printable and have at most 64 characters"),
    "many": (HEAD + "for i in range(51):\n    globals()[f'f{i}'] = log_parser(f'f{i}')(lambda log: {})\n", "the file has 51 functions of one kind (parser); at most 50 are allowed"),
    "signature": (HEAD + "@patch_check\ndef f(patch, name):\n    pass\n", "the check function must be `def f(patch)`: missing a required argument: 'name'"),
    "setting": (HEAD + "S = setting('s', ['a'])\n", "must be a str, int, float or bool, not list"),
    "interrupt": (HEAD + "raise KeyboardInterrupt\n", "KeyboardInterrupt"),
}  # fmt: skip
IN_A_RUN: dict[str, tuple[str, str]] = {
    "call_raises": (HEAD + "@on('call')\ndef f(event):\n    1 / 0\n", "on:call 'f' failed: ZeroDivisionError: division by zero (line 6 in f)"),
    "call_ends": (HEAD + "@on('call')\ndef f(event):\n    os._exit(0)\n", "its process ended with exit code 0"),
    "answer_hangs": (HEAD + "@on('answer')\ndef f(event):\n    time.sleep(1000)\n", "on:answer 'f' failed: the call took longer than 2 s (--extension-time)"),
    "verdict_hangs": (HEAD + "@on('verdict')\ndef f(event):\n    os.setpgid(0, os.getpgid(os.getppid()))\n    time.sleep(1000)\n", "the call took longer than 2 s"),
    "answer_object": (HEAD + "@on('answer')\ndef f(event):\n    return object()\n", "the function must return a text or None, not object"),
    "result_exits": (HEAD + "@on('result')\ndef f(event):\n    sys.exit(1)\n", "SystemExit: 1"),
    "patch_raises": (HEAD + "@on('patch')\ndef f(event):\n    raise event.nothing\n", "AttributeError"),
    "its_own_loader": (HEAD + "import acr.extension_worker as w\n@on('call')\ndef f(event):\n    w._state.clear()\n    1 / 0\n", "failed: "),
    "verdict": (HEAD + "@on('verdict')\ndef f(event):\n    raise KeyboardInterrupt\n", "KeyboardInterrupt"),
}  # fmt: skip
BAD_CHECKS: dict[str, tuple[str, str]] = {
    "check_raises": (HEAD + "@patch_check\ndef f(patch):\n    assert not patch.files\n", "check 'f' failed: AssertionError (line 6 in f)"),
    "check_number": (HEAD + "@patch_check\ndef f(patch):\n    return 42\n", "not int"),
    "check_crashes": (HEAD + "@patch_check\ndef f(patch):\n    ctypes.string_at(0)\n", "crashed (signal 11)"),
    "check_hangs": (HEAD + "@patch_check\ndef f(patch):\n    time.sleep(1000)\n", "the call took longer than 2 s"),
}  # fmt: skip
# One for each way in which loading ends: an exception, the process's end, a limit, what the file lacks or declares.
FEW = "syntax raises ends hangs memory not_text no_module of_the_repo garbage redefined signature interrupt".split()
# With sanitizers there is no limit on memory.
BROKEN = {
    name: case for name, case in (AT_LOAD | IN_A_RUN | BAD_CHECKS).items() if not SANITIZED or case[1] != "MemoryError"
}


def write(folder: Path, sources: dict[str, Any]) -> list[object]:
    """Write files of extensions; return the options that name them."""
    options: list[object] = []
    folder.mkdir(exist_ok=True)
    for name, source in sources.items():
        path = folder / f"{name}.py"
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        options += ["--extension", path]
    return options


def check_lines(done: Result, names: Iterable[str]) -> None:
    """Each extension is reported in clear lines: the reason, each time, and that it is switched off."""
    for name in names:
        wanted = BROKEN[name][1]
        told = [line for line in done.err.splitlines() if f"'{name}.py'" in line]
        assert told and wanted in told[0], f"{name}: {told}\n{done.told()}"
        assert len(told) <= 4, told


def broken(folder: Path, names: Iterable[str]) -> list[object]:
    """The options of a run with these extensions; one that hangs gets two seconds, others the time that a busy machine
    needs.
    """
    sources = {name: BROKEN[name][0] for name in names}
    seconds = 2 if any("hangs" in name for name in names) else 300
    return ["--extension-time", seconds, *write(folder, sources)]


@pytest.mark.parametrize("hanging", [False, True], ids=["failing", "hanging"])
def test_broken_ones_change_nothing(run_host: RunHost, sample_repo: Repo, tmp_path: Path, hanging: bool) -> None:
    """All broken extensions are loaded at once; a replay needs none of them."""
    names = [name for name in BROKEN if ("hangs" in name) == hanging and name in IN_A_RUN]
    plain = run_host(*arguments(sample_repo, tmp_path / "plain")).check()
    options = broken(tmp_path / "extensions", names)
    done = run_host(*arguments(sample_repo, tmp_path / "out", *options), timeout=300).check()
    assert done.stdout == plain.stdout
    check_lines(done, names)
    assert "is switched off after 3 failures" in done.err
    shutil.rmtree(tmp_path / "extensions")
    replayed = run_host("replay", tmp_path / "out").check()
    assert replayed.stdout == plain.stdout
    again = run_host(*arguments(sample_repo, tmp_path / "out", *options)).check()
    assert again.stdout == plain.stdout


@pytest.mark.parametrize("name", usually(FEW, [name for name in BROKEN if name in AT_LOAD]))
def test_one_that_cannot_be_loaded_ends_before_anything_is_spent(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, name: str
) -> None:
    options = broken(tmp_path / "extensions", [name])
    done = run_host(*arguments(sample_repo, tmp_path / "out", *options))
    done.check(2)
    assert BROKEN[name][1] in done.err and f"'{name}.py' cannot be loaded" in done.err
    assert not (tmp_path / "out").exists()


# ---- Search calls ----

TELLING = (
    HEAD
    + CALL.format(name="tell")
    + """\
    global CALLED
    CALLED += 1
    if word == "environment":
        return "\\n".join(sorted(os.environ))
    if word == "files":
        return f"{len(repo.files())} {repo.read('brookbill/__init__.py')[:3]!r} {repo.call('search_callers', name='Meter').ok}"
    if word == "missing":
        return repo.text("no/such.py")
    if word == "place":
        return [Place("brookbill/__init__.py", number, number + 1)]
    return f"{word} {number} {CALLED}"
"""
)


def script_with(path: Path, *calls: str) -> str:
    """The sample's script, whose first round also makes these calls."""
    lines = script_lines()
    content = json.loads(lines[EXTRACT_1]["content"])
    content["API_calls"] += calls
    lines[EXTRACT_1]["content"] = json.dumps(content)
    lines[EXTRACT_1].pop("expect")
    return write_script(path, lines)


def test_a_call_in_a_run_and_its_replay(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    (option, path) = write(tmp_path / "extensions", {"telling": TELLING})
    model = script_with(tmp_path / "script.jsonl", 'tell("once", 7)', 'tell("twice", 7)', 'tell("place", 3)')
    command = arguments(sample_repo, tmp_path / "out", option, path, model=model)
    done = run_host(*command).check()
    results = read_json(tmp_path / "out" / "attempt_0" / "search" / "search_round_1.json")
    shown = json.dumps(results)
    assert "tell(word: str, number: int): Tells." in shown
    assert "once 7 1" in shown and "twice 7 2" in shown, "what it keeps stays from call to call"
    assert "<file>brookbill/__init__.py</file>" in shown
    kinds = [row["request"]["kind"] for row in journal(tmp_path / "out") if row["event"] == "extension"]
    assert kinds == ["load", "call", "call", "call"]
    Path(str(path)).unlink()
    assert run_host("replay", tmp_path / "out").check().stdout == done.stdout
    assert run_host(*command).check().stdout == done.stdout, "a finished run needs it no more"
    other = arguments(sample_repo, tmp_path / "other", option, path, model=model)
    run_host(*other).one_line(2, "--extension", "telling.py")


def test_search_and_mcp_answer_its_calls(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    option, path = write(tmp_path / "extensions", {"telling": TELLING})
    words = ['tell("a", 1)', 'tell("b", "2")', 'tell("files", 0)', 'tell("missing", 0)', 'tell("environment", 0)']
    env = {"OPENAI_API_KEY": "secret-of-the-user", "ACR_EXTENSION_LOG": "here"}
    done = host.run("search", "--json", "--repo", sample_repo, option, path, *words, 'tell("c")', env=env).check(2)
    assert [row["failed"] for row in done.rows()] == [False, False, False, True, False, True]
    told = [row["output"].strip() for row in done.rows()]
    assert told[:2] == ["a 1 1", "b 2 2"]
    assert told[2].endswith(" True") and "b'" in told[2]
    assert "failed" in told[3] and "RepoError: there is no file no/such.py (line " in done.err
    assert "ACR_EXTENSION_LOG" in told[4].split() and "OPENAI_API_KEY" not in told[4]
    assert "usage: tell(word: str, number: int)" in told[5]
    assert "tell(word: str, number: int)\n    Tells." in host.run("search", "--list", option, path).check().out
    client = Client(host, "--repo", sample_repo, option, path)
    tool = client.result("tools/list")["tools"][-1]
    assert tool["name"] == "tell" and tool["inputSchema"]["properties"]["word"]["description"] == "Any word"
    answer = client.result("tools/call", {"name": "tell", "arguments": {"word": "d", "number": 4}})
    assert answer["structuredContent"]["output"] == "d 4 1" and not answer["isError"]
    broken = client.result("tools/call", {"name": "tell", "arguments": {"word": "missing", "number": 0}})
    assert broken["isError"] and client.child.stderr and b"RepoError" in client.child.stderr.readline()
    client.end()


OPTIONAL = """from typing import Optional
from acr.extensions import search_call
API = 1

@search_call
def count(repo) -> str:
    "Counts."
    return f"{len(repo.files())} files"

@search_call
def show(repo, word: str = "any", number: int = 3, file: Optional[str] = None) -> str:
    "Shows."
    return f"{word!r} {number} {file}"
"""


def test_arguments_that_may_be_left_out(host: Host, run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    files = write(tmp_path / "extensions", {"optional": OPTIONAL})
    on_sample = ["--repo", sample_repo, *files]
    shown = {
        "count()": " files",
        "show()": "'any' 3 None",
        "show('a', file='b.py')": "'a' 3 b.py",
        "show('', 4, None)": "'' 4 None",
    }
    told = host.run("search", "--json", *on_sample, *shown).check().rows()
    assert all(row["output"].strip().endswith(end) for row, end in zip(told, shown.values())), told
    assert all(row["call"] in shown for row in told)
    host.run("search", *on_sample, "count(1)").one_line(2, "usage: count() ")
    usage = "word: str = 'any', number: int = 3, file: str = None)"
    host.run("search", *on_sample, "show(1, 2, 3, 4)").one_line(2, usage)
    client = Client(host, *on_sample)
    tools = {tool["name"]: tool["inputSchema"] for tool in client.result("tools/list")["tools"]}
    assert tools["count"]["required"] == [] and tools["show"]["required"] == []
    for name, given, output in (
        ("count", {}, " files"),
        ("count", None, " files"),
        ("show", {"number": 5, "file": None}, "'any' 5 None"),
    ):
        answer = client.result("tools/call", {"name": name, "arguments": given})
        assert answer["structuredContent"]["output"].endswith(output)
    client.end()
    model = script_with(tmp_path / "script.jsonl", "count()", "show(file='b.py')")
    done = run_host(*arguments(sample_repo, tmp_path / "out", *files, model=model)).check()
    assert run_host("replay", tmp_path / "out").check().stdout == done.stdout


BUSY = """
from concurrent.futures import ThreadPoolExecutor
import functools, os, threading

def read_on(repo):
    while True:
        try:
            repo.files()
        except RepoError:
            pass

@functools.lru_cache(maxsize=None)
@search_call
def together(repo) -> str:
    "Reads in threads, one of which goes on."
    threading.Thread(target=read_on, args=(repo,), daemon=True).start()
    with ThreadPoolExecutor(8) as pool:
        return f"{sum(map(len, pool.map(repo.read, repo.files()))) > 0}"

@search_call
def twice(repo, number: int) -> str:
    "Returns from a fork of itself, too."
    if os.fork() == 0:
        repo.files()
    return str(number)
"""


def test_threads_take_turns_and_forks_say_nothing(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    options = write(tmp_path / "extensions", {"busy": HEAD + BUSY})
    calls = ["together()", *(f"twice({number})" for number in range(20)), "together()"]
    told = run_host("search", "--json", "--repo", sample_repo, *options, *calls).check()
    assert [row["output"].strip() for row in told.rows()] == ["True", *map(str, range(20)), "True"]
    assert told.err == ""


def test_places_that_are_not_there_are_failures(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    options = write(tmp_path / "extensions", {"telling": TELLING})
    calls = [f'tell("place", {line})' for line in (0, 100000, -1, 3)]
    done = run_host("search", "--repo", sample_repo, *options, *calls).check(1)
    assert done.err.count("there are no such lines in the file: 'brookbill/__init__.py'") == 3
    assert "switched off after 3 failures" in done.err and "<code>" not in done.out


# ---- Checks and observers ----

CHECKING = """
@patch_check
def refuse(patch):
    (file,) = patch.files
    assert file.before != file.after and file.path in patch.diff and patch.repo.read(file.path) == file.before
    return "nobody may change " + file.path
"""


def test_a_check_rejects_patches(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    options = write(tmp_path / "extensions", {"checking": HEAD + CHECKING})
    done = run_host(*arguments(sample_repo, tmp_path / "out", *options)).check(1)
    assert read_json(tmp_path / "out" / "result.json")["verdict"] == "refused"
    assert "refuse: nobody may change brookbill/tariffs/seasonal.py" in done.err
    assert run_host("replay", tmp_path / "out").exit == 1


def test_a_check_outlives_what_fails_beside_it(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """A broken call and an observer that raises are switched off; the model reads why its call failed."""
    failing = '\n@on("answer")\ndef note(event):\n    raise OSError("no room")\n'
    source = HEAD + CHECKING + failing + CALL.format(name="tell") + "    raise ValueError(f'{number} is too large')\n"
    files = write(tmp_path / "extensions", {"both": source})
    model = script_with(tmp_path / "script.jsonl", *(f'tell("a", {number})' for number in range(7, 11)), "tell(3)")
    done = run_host(*arguments(sample_repo, tmp_path / "out", "-v", *files, model=model)).check(1)
    assert 'tell("a", 7): failed\n' in done.err and "`tell(3)` is not a valid call: " in done.err
    assert "call 'tell' is switched off after 3 failures" in done.err
    assert "on:answer 'note' is switched off after 3 failures" in done.err
    shown = json.dumps(read_json(tmp_path / "out" / "attempt_0" / "search" / "search_round_1.json"))
    assert "The call failed: ValueError: 9 is too large (line" in shown and "10 is too large" not in shown
    assert "The call failed: it is switched off after 3 failures. Use other" in shown
    assert "refuse: nobody may change" in done.err


@pytest.mark.parametrize("name", [name for name in BROKEN if name in BAD_CHECKS])
def test_a_check_that_fails_ends_the_run(run_host: RunHost, sample_repo: Repo, tmp_path: Path, name: str) -> None:
    options = broken(tmp_path / "extensions", [name])
    """With one line, before another try is paid; once the check works again, the same command continues the run."""
    done = run_host(*arguments(sample_repo, tmp_path / "out", *options), timeout=300)
    done.one_line(2, f"extension '{name}.py': check 'f' failed: ", BROKEN[name][1])
    told = run_host("report", tmp_path / "out", "--format", "text").check().out
    assert "verdict   not finished\n" in told and f"the run stopped: extension '{name}.py': check" in told
    assert "patch: 2 steps," in told  # the edits of the first apply to nothing; no third try was paid


OBSERVING = """
@on("call")
def veto(event):
    return Veto("no classes today") if "search_class(" in event.data["call"] else None

@on("result")
def note(event):
    return f"seen {event.kind}"
"""


def test_observers_see_steer_and_annotate(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The example records all events; another extension vetoes a call, and adds a note to a result."""
    log = tmp_path / "events.jsonl"
    example = ROOT / "python" / "examples" / "event_log.py"
    env = {"ACR_EXTENSION_LOG": str(log)}
    run_host(*arguments(sample_repo, tmp_path / "out", "--extension", example), env=env).check()
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "answer" and kinds[-1] == "verdict" and kinds.count("call") == kinds.count("result") > 2
    assert [event["status"] for event in events if event["event"] == "patch"][-1] == "APPLICABLE_PATCH"
    options = write(tmp_path / "extensions", {"observing": HEAD + OBSERVING})
    lines = [{key: value for key, value in line.items() if key != "expect"} for line in script_lines()]
    model = write_script(tmp_path / "script.jsonl", lines)
    run_host(*arguments(sample_repo, tmp_path / "steered", *options, model=model)).check()
    shown = json.dumps(read_json(tmp_path / "steered" / "attempt_0" / "search" / "search_round_1.json"))
    assert "The call was not made: no classes today" in shown and "Note: seen result" in shown


# ---- Parsers of logs ----

TAP = ">>>>> Start Test Output\nok 1 - a\n{}ok 2 - b\n>>>>> End Test Output\n"
BAD_PARSERS = {
    "raises": ("    raise ValueError('no log')\n", "parser 'tap' failed: ValueError: no log (line 6 in f)"),
    "outcome": ("    return {'a': 'PASSED', 'b': 'fine'}\n", "fine is not an outcome"),
    "ends": ("    os._exit(0)\n", "its process ended with exit code 0"),
}


def grade(run_host: RunHost, folder: Path, log: str, *options: object) -> tuple[Result, dict[str, Any]]:
    """`eval` of one task whose tests have left this log."""
    row = {
        "instance_id": "a__b-1",
        "repo": "a/b",
        "FAIL_TO_PASS": '["a"]',
        "PASS_TO_PASS": '["b"]',
        "log_parser": "tap",
    }
    row |= {"image": "none", "eval_type": "pass_and_fail", "eval_script": "true\n"}
    prediction = {"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "diff\n"}
    place = folder / "out" / "logs" / "run_evaluation" / "r" / "m" / "a__b-1"
    place.mkdir(parents=True)
    (place / "test_output.txt").write_text(log, "utf-8")
    for name, value in {"rows": row, "predictions": prediction}.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(value) + "\n", "utf-8")
    files = ["--dataset", folder / "rows.jsonl", "--predictions", folder / "predictions.jsonl", "--out", folder / "out"]
    done = run_host("eval", *files, "--run-id", "r", "--regrade", "--json", *options)
    done.check(3 if "no task could be run on this machine" in done.err else 0)
    return done, json.loads(done.stdout)


def test_eval_reads_logs_by_an_extension(run_host: RunHost, tmp_path: Path) -> None:
    tap = ["--extension", ROOT / "python" / "examples" / "tap_log.py"]
    cases = {"mended": (TAP.format(""), tap), "broken": (TAP.format("not "), tap), "unread": (TAP.format(""), [])}
    found = {name: grade(run_host, tmp_path / name, log, *options)[1] for name, (log, options) in cases.items()}
    lists = {"mended": "resolved_ids", "broken": "unresolved_ids", "unread": "error_ids"}
    assert all(found[name][key] == ["a__b-1"] for name, key in lists.items())
    for name, (body, wanted) in BAD_PARSERS.items():
        sources = {name: HEAD + "@log_parser('tap')\ndef f(log):\n" + body}
        (tmp_path / name).mkdir()
        done, report = grade(run_host, tmp_path / name, TAP.format(""), *write(tmp_path / name / "e", sources))
        assert report["resolved_ids"] == [] and wanted in done.err


# ---- Files, and the verb ----


def test_files_of_the_repository_are_refused(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    inside = sample_repo.path / "mine.py"
    inside.write_text("API = 1\n", "utf-8")
    link = tmp_path / "link.py"
    link.symlink_to(inside)
    for path in (inside, link):
        command = arguments(sample_repo, tmp_path / "out", "--extension", path)
        run_host(*command).one_line(2, "is inside the repository, and acr-host never loads")
        run_host("search", "--repo", sample_repo, "--extension", path, 'search_class("A")').one_line(2, "repository")
        run_host("extensions", "--extension", path, cwd=sample_repo.path).one_line(2, "repository")
    run_host("mcp", "--repo", sample_repo, "--extension", link).one_line(2, "inside the repository")
    assert not (tmp_path / "out").exists()


def test_a_file_that_changed_since_is_not_asked(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """A resumed run uses the version with which it began, or none."""
    option, path = write(tmp_path / "extensions", {"telling": TELLING})
    script = tmp_path / "script.jsonl"
    model = script_with(script, 'tell("early", 7)')
    lines = [json.loads(line) for line in script.read_text("utf-8").splitlines()]
    content = json.loads(lines[EXTRACT_2_AGAIN]["content"])
    lines[EXTRACT_2_AGAIN] |= {"content": json.dumps({**content, "API_calls": ['tell("late", 7)']}), "expect": []}
    write_script(script, [*lines[:SELECT_2], {**lines[SELECT_2], "expect": ["what no request says"]}])
    command = arguments(sample_repo, tmp_path / "out", option, path, model=model)
    run_host(*command).check(1)
    write_script(script, [{key: value for key, value in line.items() if key != "expect"} for line in lines])
    Path(str(path)).write_text(TELLING + "\n", "utf-8")
    done = run_host(*command)
    assert "call 'tell' failed: the file has changed since the run began" in done.err
    shown = json.dumps(read_json(tmp_path / "out" / "attempt_0" / "search" / "search_round_2.json"))
    assert "early 7 1" in shown and "The call failed: the file has changed" in shown


def test_new_writes_one_that_works(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    run_host("extensions", "new", "mine", cwd=tmp_path).check()
    path = tmp_path / "mine.py"
    tested = run_host("extensions", "test", path, "--repo", sample_repo).check()
    assert tested.out.splitlines() == ["passed test_finds_assignments", "passed test_rejects_a_breakpoint"]
    listed = run_host("extensions", "--extension", path, "--json").check().rows()[0][0]
    assert [call["name"] for call in listed["calls"]] == ["search_assignment"] and listed["version"] == "0.1"
    assert "check of patches no_breakpoint" in run_host("extensions", "--extension", path).check().out
    config = tmp_path / "config" / "acr-host" / "config"
    config.parent.mkdir(parents=True)
    config.write_text(f"extension = {path}\n", "utf-8")
    by_config = run_host("extensions", env={"XDG_CONFIG_HOME": str(tmp_path / "config")}).check()
    assert by_config.out.startswith(f"{path} 0.1\n") and (before := path.read_bytes())
    for wrong in ("mine", "", ".py", f"{tmp_path}/"):
        run_host("extensions", "new", wrong, cwd=tmp_path).check(2)
    assert path.read_bytes() == before
    path.write_bytes(before.replace(b"== []", b"== [1]"))
    run_host("extensions", "test", path, "--repo", sample_repo, "--json").check(2)
    failed = run_host("extensions", "test", path, "--repo", sample_repo).check(1).out
    assert "FAILED test_finds_assignments: AssertionError (line" in failed
    path.write_text("API = 3\n", "utf-8")
    listed = run_host("extensions", "--extension", path).check(2)
    assert "version 3" in listed.err and listed.out == f"{path}: not loaded\n"
    (row,) = run_host("extensions", "--extension", path, "--json").check(2).rows()[0]
    assert "version 3" in row["error"] and "calls" not in row


def test_a_file_whose_name_is_not_text(run_host: RunHost, tmp_path: Path) -> None:
    options = write(tmp_path, {"l\udcff": HEAD + "1 / 0\n"})
    assert "division by zero (line 4 in <module>)" in run_host("extensions", *options).check(2).err


def test_a_name_that_is_not_installed_is_refused(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    command = arguments(sample_repo, tmp_path / "out", "--extension", "no_such_extension")
    run_host(*command).one_line(2, "is not a file", "no extension 'no_such_extension' is installed")
    assert not (tmp_path / "out").exists()


LOCALISING = """
@localiser
def suspect(repo, issue):
    assert "domestic-seasonal" in issue
    found = [each for each in repo.symbols(name="usage_charge") if "seasonal" in each.file]
    return [(Place("brookbill/periods.py", 1, 2), 0.25), *((each, 0.75) for each in found)]

@localiser
def wrong(repo, issue):
    return ["here"]
"""


def test_what_localisers_suspect_is_shown_with_the_issue(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    options = write(tmp_path / "extensions", {"localising": HEAD + LOCALISING})
    done = run_host(*arguments(sample_repo, tmp_path / "out", *options)).check()
    question = read_json(tmp_path / "out" / "attempt_0" / "search" / "search_round_1.json")[1]["content"]
    assert "suspect:\n- brookbill/tariffs/seasonal.py SeasonalTariff.usage_charge, lines 55-" in question
    assert "(score 0.75)\n- brookbill/periods.py, lines 1-2 (score 0.25)" in question
    assert "localiser 'wrong' failed: TypeError: a localiser must return a list of (Place or Symbol, score)" in done.err
    (tmp_path / "extensions" / "localising.py").unlink()
    run_host("replay", tmp_path / "out").check()


SOURCE = """
@issue_source("desk")
def read(reference):
    assert "bücher.example".encode("idna") == b"xn--bcher-kva.example"
    if reference != "12":
        raise LookupError(f"there is no {reference}")
    return open("{issue}").read()
"""


def test_issues_and_prompts_of_an_extension(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    options = write(tmp_path / "extensions", {"source": HEAD + SOURCE.replace("{issue}", str(ISSUE))})
    (tmp_path / "extensions" / "source_prompts").mkdir()
    (tmp_path / "extensions" / "source_prompts" / "search_system.txt").write_text("You look into things.\n")
    command = arguments(sample_repo, tmp_path / "out", *options)
    command[command.index("--issue") + 1] = "desk:12"
    run_host(*command).check()
    assert read_json(tmp_path / "out/attempt_0/search/search_round_1.json")[0]["content"] == "You look into things.\n"
    assert (tmp_path / "out" / "issue.md").read_text("utf-8").startswith(ISSUE.read_text("utf-8")[:50])
    run_host("replay", tmp_path / "out").check()
    command[command.index("desk:12")] = "desk:13"
    command[command.index(tmp_path / "out")] = tmp_path / "other"
    assert "the source 'desk' failed: LookupError: there is no 13 (line" in run_host(*command).check(2).err
    command[command.index("desk:13")] = "nobody:13"
    run_host(*command).one_line(2, "there is no file 'nobody:13', and no loaded extension reads 'nobody:'")
    listed = run_host("extensions", *options).check().out
    assert "  source of issues desk\n" in listed and f"  prompts of {tmp_path}/extensions/source_prompts\n" in listed


def test_settings_have_types_and_are_listed(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    source = HEAD + "N = setting('count', 3, 'How many')\nB = setting('loud', False)\n" + CALL.format(name="tell")
    options = write(tmp_path / "extensions", {"set": source + "    return f'{N + 1} {B}'\n"})
    assert "  setting $ACR_EXTENSION_COUNT (int, default '3') How many" in run_host("extensions", *options).check().out
    command = ["search", "--repo", sample_repo, *options, 'tell("a", 1)']
    assert run_host(*command).check().out == "4 False\n"
    given = {"ACR_EXTENSION_COUNT": "9", "ACR_EXTENSION_LOUD": "yes"}
    assert run_host(*command, env=given).check().out == "10 True\n"
    wrong = run_host("extensions", *options, env=given | {"ACR_EXTENSION_COUNT": "many"}).check(2)
    assert "ACR_EXTENSION_COUNT must be of the type int, not 'many'" in wrong.err


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_pass_their_tests(run_host: RunHost, sample_repo: Repo, path: Path) -> None:
    out = run_host("extensions", "test", path, "--repo", sample_repo).check().out
    assert out and all(line.startswith("passed ") for line in out.splitlines())


def test_the_guide_shows_one_that_works(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "extensions.md").read_text("utf-8")
    options = write(tmp_path / "extensions", {"whole": guide.partition("```python\n")[2].partition("```")[0]})
    assert run_host("extensions", "test", options[1], "--repo", sample_repo).check().out == "passed test_them\n"
    found = run_host("search", "--repo", sample_repo, *options, 'search_decorator("dataclass", limit=1)').check()
    assert found.out.count("<file>") == 1


def test_a_call_that_is_left_out_fails(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    option, path = write(tmp_path, {"builtin": AT_LOAD["builtin"][0] + "\ndef test_it(repo):\n    pass\n"})
    for words in ([option, path], ["test", path, "--repo", sample_repo]):
        err = run_host("extensions", *words).check(2).err
        assert "'builtin.py' is left out: the call search_class has the name of another call" in err


def test_examples_find(run_host: RunHost, tmp_path: Path) -> None:
    """Covers what the examples' own tests cannot: a repository with a fixture and a history."""
    files = {"tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef meter():\n    return 1\n", "a.py": "x = 1\n"}
    repo = make_repo(tmp_path / "repo", files)
    repo.commit({"a.py": "needle = 1\n"})
    options = [("--extension", EXAMPLES[0].parent / f"{name}.py") for name in ("pytest_fixtures", "git_history")]
    flat = [each for pair in options for each in pair]
    done = run_host("search", "--json", "--repo", repo, *flat, 'search_fixture("meter")', 'search_changes("needle")')
    fixture, history = done.check().rows()
    assert (fixture["results"][0]["file"], fixture["results"][0]["start"]) == ("tests/conftest.py", 4)
    assert "a.py" in history["output"]
