"""`run --events`, and the Python package that reads these events, installed in a separate environment."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Any, Callable

import pytest
from host import ROOT, Host, Result
from repos import Repo
from runs import CALLS, ISSUE, SCRIPT, arguments, read_json
from schemas import faults

RunHost = Callable[..., Result]


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a file, which must match their schema."""
    made = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [fault for event in made for fault in faults("events", event)] == []
    return made


def test_events_tell_a_run_from_its_beginning_to_its_result(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    run_host(*arguments(sample_repo, tmp_path / "out", "--events", tmp_path / "events")).check()
    events = read_events(tmp_path / "events")
    stages = [event["stage"] for event in events if event["event"] == "stage"]
    assert stages[:5] == ["snapshot", "index", "select", "extract", "search"] and "patch" in stages
    assert [e["calls"] for e in events if e["event"] == "spent"] == list(range(1, CALLS + 1))
    assert any("SeasonTariff" in event.get("text", "") for event in events)
    assert events[-1]["event"] == "result" and events[-1]["error"] is None
    assert events[-1]["result"] == read_json(tmp_path / "out" / "result.json") | {"folder": str(tmp_path / "out")}
    assert (tmp_path / "events").stat().st_mode & 0o777 == 0o600


def test_events_of_a_run_that_fails_end_with_why(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    missing = f"script:{tmp_path}/missing"
    run_host(*arguments(sample_repo, tmp_path / "out", "--events", tmp_path / "events", model=missing)).check(2)
    shown = run_host(*arguments(sample_repo, tmp_path / "shown", "--events", "-", model=missing)).check(2).out
    assert json.loads(shown.splitlines()[-1])["event"] == "result", "a - is standard output, as in other programs"
    good = run_host(*arguments(sample_repo, tmp_path / "good", "--events", "-")).check().out
    assert json.loads(good.splitlines()[-1])["result"]["patch"], "the patch is in the last event alone"
    last = read_events(tmp_path / "events")[-1]
    assert last["event"] == "result" and "missing" in last["error"] and last["result"]["exit"] == 2


@pytest.mark.parametrize("where", ["9", "0", "-1", "2147483648", "no/such/folder/file", "."])
def test_events_that_can_go_nowhere_are_refused(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, where: str
) -> None:
    run_host(*arguments(sample_repo, tmp_path / "out", f"--events={where}")).one_line(2, "--events", where)
    assert not (tmp_path / "out").exists()


def test_events_go_on_in_their_file_and_into_no_other(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    file, mine = tmp_path / "events", tmp_path / "issue.md"
    words = arguments(sample_repo, tmp_path / "out")
    run_host(*words, "--events", file).check()
    first = file.read_bytes()
    run_host(*words, "--events", file).check()
    assert file.read_bytes().startswith(first) and [e["event"] for e in read_events(file)].count("result") == 2
    mine.write_text("It is broken.\n")
    for taken in (mine, tmp_path / "out" / "journal.jsonl"):
        held = taken.read_bytes()
        run_host(*words, "--events", taken).one_line(2, "--events", "is not an events file")
        assert taken.read_bytes() == held


def test_a_fifo_that_nobody_reads_is_refused(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    run_host(*arguments(sample_repo, tmp_path / "out"), "--events", tmp_path / "fifo").one_line(
        2, "no process is reading from it"
    )


def test_a_full_disk_ends_the_events_with_a_word(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    done = run_host(*arguments(sample_repo, tmp_path / "out"), "--events", "/dev/full").check()
    assert "--events: writing stopped before the run ended: No space left on device" in done.err


def test_a_reader_that_does_not_read_does_not_stop_the_run(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    command = [str(host.program), *map(str, arguments(sample_repo, tmp_path / "out", f"--events={writer}"))]
    done = subprocess.run(command, pass_fds=(writer,), env=host.environment({}), capture_output=True)
    os.close(reader)
    os.close(writer)
    assert done.returncode == 0 and done.stdout == (tmp_path / "out" / "patch.diff").read_bytes()


def test_a_reader_that_goes_away_does_not_end_the_run(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = arguments(sample_repo, tmp_path / "out", f"--events={writer}")
    command = [str(host.program), *map(str, words)]
    done = subprocess.run(command, pass_fds=(writer,), env=host.environment({}), capture_output=True)
    os.close(writer)
    assert done.returncode == 0 and done.stdout == (tmp_path / "out" / "patch.diff").read_bytes()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has only the package."""
    for module in ("pip", "setuptools"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{sys.executable} has no {module}")
    folder = tmp_path_factory.mktemp("library")
    source = shutil.copytree(ROOT / "python", folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", site, source], check=True, env={**os.environ, "PIP_NO_CACHE_DIR": "1"})
    assert not (site / "acr").exists() and (site / "acr_host" / "py.typed").exists()
    return folder / "venv" / "bin" / "python"


def execute(host: Host, python: Path, code: str, *words: object) -> Any:
    """The JSON that a program prints in that environment."""
    env = host.environment({"ACR_HOST": str(host.program), "PYTHONWARNINGS": "error"})
    command = [str(python), "-X", "dev", "-c", code, *map(str, words)]
    done = subprocess.run(command, env=env, capture_output=True, cwd=host.home, timeout=120)
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    return json.loads(done.stdout)


_SEARCH = """
import acr_host, importlib.metadata, json, sys
found, odd, text = acr_host.search(sys.argv[1], 'search_class("SeasonalTariff")', 'search_nothing("x")', 'search_code("period")')
short, *_, missing = acr_host.search(sys.argv[1], "class SeasonalTariff", "callers usage_charge", "Period.parse", "class NoSuch")
assert short.ok and short.places == found.places and (_[0].ok, _[1].ok, missing.ok) == (True, True, False)
assert not found.lines and all("period" in line.text for line in text.lines) and len(text.lines) > len(text.places)
try:
    acr_host.search(sys.argv[1] + "/no", 'search_class("A")')
except acr_host.HostError as error:
    why = [error.exit, str(error)]
try:
    acr_host.search(sys.argv[1], 'search_class("A"')
except acr_host.HostError as error:
    assert error.exit == 2 and "is not a search call" in str(error)
try:
    acr_host.search(sys.argv[1], 'search_class("A")', limit="x")
except acr_host.HostError as error:
    assert error.kind == "usage" and str(error).startswith("--limit ")
assert dir(acr_host) == acr_host.__all__ and acr_host.__version__ == importlib.metadata.version("acr-host")
print(json.dumps([found.ok, found.places[0].file, found.places[0].klass, "class" in found.output, odd.ok, odd.failed, why]))
"""


def test_search(host: Host, sample_repo: Repo, python: Path) -> None:
    *found, why = execute(host, python, _SEARCH, sample_repo)
    assert found == [True, "brookbill/tariffs/seasonal.py", "SeasonalTariff", True, False, True]
    assert why[0] == 3 and "/no" in why[1]


_RUN = """
import acr_host, asyncio, json, sys
repo, issue, script, out = sys.argv[1:]
options = dict(repo=repo, issue=issue, model="script:" + script, verify="never")
result = acr_host.run(out=out + "/whole", **options)

async def watch(most):
    kinds, last = [], None
    stream = acr_host.events(out=out + "/watched", **options)
    async for last in stream:
        kinds.append(last.kind)
        if len(kinds) == most:
            break
    await stream.aclose()
    return kinds, last

async def fail(**more):
    seen = []
    try:
        async for event in acr_host.events(out=out + "/bad", **options | more):
            seen.append(event.kind)
    except acr_host.HostError as error:
        return [error.exit, str(error), "result" in seen, error.kind, error.folder]

early, _ = asyncio.run(watch(3))
kinds, last = asyncio.run(watch(None))
print(json.dumps([result.verdict, result.patch, result.cost["calls"], result.exit, early, sorted(set(kinds)),
                  last.result.patch == result.patch, [result.folder, last.result.folder],
                  asyncio.run(fail(rounds="many")), asyncio.run(fail(model="script:no"))]))
"""


def test_run_and_its_events(host: Host, sample_repo: Repo, python: Path, tmp_path: Path) -> None:
    verdict, patch, calls, exit, early, kinds, same, folders, why, missing = execute(
        *(host, python, _RUN, sample_repo, ISSUE, SCRIPT, tmp_path)
    )
    assert (verdict, calls, exit, same) == ("unverified", CALLS, 0, True)
    assert patch == (tmp_path / "whole" / "patch.diff").read_text("utf-8")
    assert early == ["stage"] * 3 or len(early) == 3
    assert {"stage", "note", "spent", "result"} <= set(kinds)
    assert folders == [f"{tmp_path}/whole", f"{tmp_path}/watched"]
    assert why[0] == 2 and "--rounds" in why[1]
    assert missing[0] == 2 and "cannot read script" in missing[1] and not missing[2], "one failure is told once"
    assert missing[3:] == ["usage", None] and why[3:] == ["usage", None]


_ODD = """
import acr_host, asyncio, json, os, sys
repo, script, out = sys.argv[1:]
options = dict(repo=repo, model="script:" + script, verify="never", issue_text="It is wrong.\\n" * 17000)
long = acr_host.run(out=out + "/long", json=False, **options)

def fail(**more):
    try:
        acr_host.run(out=out + "/no", **options, **more)
    except acr_host.HostError as error:
        return [error.exit, str(error)]

async def watch():
    return [event.kind async for event in acr_host.events(out=out + "/watched", **options)]

kinds, failed = asyncio.run(watch()), acr_host.run(**options, out=out + "/failed")
plans = [acr_host.plan(**{**options, "verify": value})["code"] for value in ("never", False)]
odd = dict(max_cost=False, out_=True, validate=True, extension=[None], tag={}, rev="a" + chr(0), no_such=True, dry_run=True)
fails = [fail(**{name: value}) for name, value in odd.items()]
wrong = []
for os.environ["ACR_HOST"] in ("/bin/true", "/bin/echo"):
    wrong.append(fail())
os.environ["ACR_HOST"] = "/no/such"
print(json.dumps([long.verdict, kinds[-1], plans, failed.why, acr_host.search(repo), [sorted(acr_host._FLAGS), list(acr_host._WHEN)],
                  fail(), fails, wrong]))
"""


def test_options_that_do_not_fit(host: Host, sample_repo: Repo, python: Path, tmp_path: Path) -> None:
    """An issue too long for an argument, invalid values, no JSON, no run, no program."""
    verdict, kind, plans, why, none, known, missing, fails, wrong = execute(
        host, python, _ODD, sample_repo, SCRIPT, tmp_path
    )
    told = "'/bin/{}' printed no JSON; is $ACR_HOST acr-host?"
    assert wrong == [[3, told.format("true")], [3, told.format("echo")]]
    assert (verdict, kind, none) == ("none", "result", [])
    for name in ("long", "watched"):
        assert (tmp_path / name / "issue.md").stat().st_size >= 17_000 * 12
    assert plans[0] == plans[1] and not plans[1]["runs"] and "script" in why
    assert missing[0] == 3 and "/no/such" in missing[1]
    wanted = ("max_cost=False", "out=True", "validate=True", "None", "tag={}", "null", "no_such=True", "plan()")
    assert [exit for exit, _ in fails] == [2] * len(wanted)
    assert [text for word, (_, text) in zip(wanted, fails) if word not in text] == []
    told = "".join(host.run(verb, "--help-all").check().out for verb in ("run", "search", "eval"))
    others = [
        host.run(verb, "--help-all").check().out
        for verb in ("runs", "watch", "pr", "index", "localize", "ask", "doctor")
    ]
    flags = {*re.findall(r"^ +(?:-\w, )?--([a-z-]+)(?:  |$|\[=N\])", told + "".join(others), re.MULTILINE)} - {
        "help",
        "help-all",
    }
    assert (flags, {*re.findall(r"--([a-z-]+)(?: |\[=)WHEN", told)}) == tuple(
        {name.replace("_", "-") for name in names} for names in known
    )


_EVALUATE = """
import acr_host, json, sys
try:
    acr_host.evaluate(sys.argv[1], "gold", "one", sys.argv[2], rules=9)
except acr_host.HostError as error:
    first = [error.exit, str(error)]
print(json.dumps(first))
"""


def test_evaluate_says_what_is_wrong(host: Host, python: Path, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("")
    exit, why = execute(host, python, _EVALUATE, tmp_path / "tasks.jsonl", tmp_path / "out")
    assert exit == 2 and "--rules" in why


def test_the_guide_runs(host: Host, sample_repo: Repo, python: Path, tmp_path: Path) -> None:
    """Runs the guide's Python blocks in order, beside the files of the sample."""
    for path, name in ((ISSUE, "issue.md"), (SCRIPT, "answers.jsonl")):
        shutil.copy(path, sample_repo.path.parent / name)
    guide = (ROOT / "docs" / "library.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE))
    code = f"import contextlib, io, json, os, sys\nos.chdir(sys.argv[1])\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n{indent(code, '    ')}\nprint(json.dumps(out.getvalue()))"
    lines = execute(host, python, code, sample_repo).splitlines()
    assert lines[0].endswith("found ['brookbill/tariffs/seasonal.py']") and lines[2] == "this costs at most 0.0 USD"
    assert lines[3].startswith("unverified ") and "diff --git" in lines[4] and "snapshot" in lines
    assert re.search(r"^runs: \d+$", "\n".join(lines), re.MULTILINE), "an array of one line"
    assert "0 42" in lines and any(line.startswith("broken: [] fixed: ['") for line in lines)
    assert (
        lines[-2] == "unverified" and lines[-1].startswith("2 cannot read the issue") and "no-such-file.md" in lines[-1]
    )
