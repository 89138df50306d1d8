"""Runs the program `acr-host` and reads its JSON; needs no other package.

    import acr_host
    for answer in acr_host.search("~/src/project", 'search_class("Session")'):
        print(answer.output, answer.places)
    result = acr_host.run(repo="~/src/project", issue="issue.md", model="openai/gpt-4.1", max_cost=1)
    async for event in acr_host.events(repo=".", issue="issue.md", model="openai/gpt-4.1"):
        ...

Keyword arguments are the program's options: `max_cost=1` means `--max-cost 1`, a list repeats an option, and None is
an option that is not given. True and False apply to flags, and to options with a WHEN: `verify=False` means
`--verify=never`. `acr-host VERB --help-all` describes the options, and `acr-host help library` this package. The program
is $ACR_HOST, otherwise the one in this package, otherwise `acr-host` on the PATH.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any, Union

from acr_host.start import own_program

__version__ = "0.2.0"
__all__ = [
    "Event",
    "HostError",
    "Line",
    "Place",
    "RunResult",
    "SearchAnswer",
    "call_verb",
    "evaluate",
    "events",
    "plan",
    "run",
    "search",
    "verify",
]


def __dir__() -> list[str]:
    return __all__


Path = Union[str, "os.PathLike[str]"]
Option = Union[bool, str, int, float, "os.PathLike[str]", Sequence[Any], None]
_WITH_RESULT = (0, 1, 4)  # exit codes with a result: a patch, no patch, a ceiling
_FLAGS = frozenset(
    "all apply audit baseline clear count dry_run files_with_matches hidden_tests ignore_case ignore_unknown imports json json_mode"
    " fixed_strings line_number list network no_cache no_draft no_pull official_only once online open prune quiet regex regrade resume serve setup_network"
    " tests trust_git_links verbose vimgrep with_filename word_regexp yes".split()
)
# Options that take a WHEN -> the value that True means; False means `never`.
_WHEN = dict.fromkeys(("verify", "regressions", "sbfl"), "always")
_WHEN |= dict.fromkeys(("trace", "probe", "history", "repo_notes"), "auto")
_MAX_LINE = 64 << 20  # most bytes of an event; the last event contains the patch


class HostError(Exception):
    """The program failed: `exit` is its exit code (2 usage, 3 environment, 130 interrupted), the text its error.

    `kind` is the class of the error (such as `usage`, `auth` or `server`) and `folder` the run folder, to resume the run by `out`, if they are
    known. `data` is the object that the program printed with --json, if any.
    """

    def __init__(self, exit: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.exit = exit
        self.data = data or {}
        self.folder: str | None = _decoded_text(self.data["folder"]) if self.data.get("folder") else None
        self.kind: str | None = (self.data.get("error") or {}).get("class") or ("usage" if exit == 2 else None)


@dataclass(frozen=True)
class Place:
    """Lines of a file, counted from 1, `end` included; `klass` and `func` are None outside classes and functions."""

    file: str
    start: int
    end: int
    klass: str | None = None
    func: str | None = None


@dataclass(frozen=True)
class Line:
    """A line that contains the searched text or name. `column` counts bytes; both numbers count from 1."""

    file: str
    line: int
    column: int
    text: str


@dataclass(frozen=True)
class SearchAnswer:
    """The answer to a search call. If `ok` is False, it found no code, and `output` says why.

    `failed` is True if the call was wrong, or failed in an extension. `lines` is empty if definitions were found.
    """

    call: str
    ok: bool
    output: str
    places: tuple[Place, ...]
    failed: bool
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class RunResult:
    """The result of a run. `data` is the whole object, as the schema result.json describes it."""

    verdict: str  # verified, validated, unverified, refused, none
    why: str | None  # the reason for the verdict, or the error that ended the run
    patch: str | None = field(repr=False)
    exit: int
    cost: dict[str, Any]
    folder: str | None  # the run folder, for `acr-host report`, `pr` and `replay`
    data: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Event:
    """An event of a run: `kind` is stage, waiting, note, action, warning, spent or result; a later version may add kinds.

    `data` has the members that the schema events.json gives that kind; only the last event has a `result`.
    """

    kind: str
    time_ms: int
    data: dict[str, Any] = field(repr=False)
    result: RunResult | None = None


def _decoded_text(value: Any) -> str:
    """A text of the program's JSON, which writes text that is not UTF-8 as {"base64": …}."""
    if isinstance(value, dict):
        import base64

        return base64.b64decode(value["base64"]).decode("utf-8", "surrogateescape")
    return str(value)


def _own_program() -> str | None:
    try:
        return own_program()
    except OSError as error:
        raise HostError(3, str(error)) from error


def _command(verb: str, arguments: Sequence[str], options: dict[str, Option]) -> list[str]:
    words = [os.environ.get("ACR_HOST") or _own_program() or "acr-host", verb]
    for name, value in options.items():
        words += _option_words(name.strip("_"), value)
    return [*words, *(["--", *arguments] if arguments else [])]


def _option_words(name: str, value: Any) -> list[str]:
    option = "--" + name.replace("_", "-")
    if value is None or (value is False and name in _FLAGS):
        return []
    if value is True and name in _FLAGS:
        return [option]
    if isinstance(value, bool) and name in _WHEN:
        value = _WHEN[name] if value else "never"
    values = value if isinstance(value, (list, tuple)) else [value]
    return [f"{option}={_word(name, each)}" for each in values]


def _word(name: str, value: Any) -> str:
    """An option's value as text; in a path, `~` is the home folder, as in a shell."""
    if isinstance(value, bool) or not isinstance(value, (str, Number, os.PathLike)):
        raise HostError(2, f"{name}={value!r} is not a string, number or path; None leaves the option out")
    is_path = isinstance(value, os.PathLike) or name in ("repo", "repos", "out", "issue", "extension")
    return os.path.expanduser(os.fspath(value)) if is_path and isinstance(value, (str, os.PathLike)) else str(value)


def _issue(options: dict[str, Option]) -> tuple[dict[str, Option], bytes | None]:
    """The options of a run, and its standard input: the issue's text, which may be too long for an argument."""
    text = options.get("issue_text")
    if not isinstance(text, str) or options.get("issue") is not None:
        return options, None
    return {**options, "issue_text": None, "issue": "-"}, text.encode("utf-8", "replace")


def _error(exit: int, stderr: bytes, data: Any = None) -> HostError:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict) and "message" in error:
        return HostError(exit, _decoded_text(error["message"]), data)
    return HostError(exit, lines[-1] if lines else f"acr-host ended with {exit}") if lines or exit else _no_json()


def _not_started(program: str, error: OSError | ValueError) -> HostError:
    if isinstance(error, ValueError):
        return HostError(2, f"an argument cannot be passed to the program: {error}")
    return HostError(3, f"cannot run {program!r}: {error.strerror}; install acr-host, or set $ACR_HOST to the program")


def _output(command: list[str], exits: Sequence[int], given: bytes | None = None) -> bytes:
    try:
        done = subprocess.run(command, input=given or b"", capture_output=True)
    except (OSError, ValueError) as error:
        raise _not_started(command[0], error) from error
    if done.returncode not in exits or not done.stdout:
        raise _error(done.returncode, done.stderr, _parsed(done.stdout))
    return done.stdout


def _parsed(output: bytes) -> Any:
    try:
        return json.loads(output)
    except ValueError:
        return None


def _read(output: bytes, needed: str) -> dict[str, Any]:
    """Parses the program's JSON, which must have this member; options such as help and dry_run print something else."""
    data = _parsed(output)
    if not isinstance(data, dict) or needed not in data:
        is_error = isinstance(data, dict) and "error" in data
        raise _error(2, b"", data) if is_error else _no_json("" if data is None else needed)
    return data


def _no_json(needed: str = "") -> HostError:
    if not needed:
        return HostError(3, f"{os.environ.get('ACR_HOST', 'acr-host')!r} printed no JSON; is $ACR_HOST acr-host?")
    return HostError(2, f"acr-host prints no {needed} with these options; leave out those that change its output")


def _result(data: dict[str, Any]) -> RunResult:
    patch, why, folder = data.get("patch"), data.get("why"), data.get("folder")
    return RunResult(
        verdict=data["verdict"],
        why=None if why is None else _decoded_text(why),
        patch=None if patch is None else _decoded_text(patch),
        exit=data.get("exit", 0),
        cost=data.get("cost") or {},
        folder=None if folder is None else _decoded_text(folder),
        data=data,
    )


def search(repo: Path, *calls: str, **options: Option) -> list[SearchAnswer]:
    """Answer search calls on a repository, each written as in Python, or in the short form of the command, such as
    "class Name" or "callers name". Errors: HostError.
    """
    made: list[SearchAnswer] = []
    are_calls = all(re.fullmatch(r"\s*\w+\s*\(.*\)\s*", call, re.DOTALL) for call in calls)
    for call in calls:
        is_cut_off = re.match(r"\s*\w+\((?!.*\)\s*\Z)", call, re.DOTALL)
        if not call.strip() or is_cut_off or ("\n" in call and not are_calls):
            raise HostError(2, f'{call!r} is not a search call; write search_class("Name") or class Name')
    if not calls:
        return made
    command = _command("search", calls if are_calls else (), {"repo": repo, **options, "json": True})
    given = None if are_calls else "\n".join(calls).encode("utf-8", "surrogateescape")
    for line in _output(command, (0, 1, 2), given).splitlines():
        data = _read(line, "results")
        places = tuple(
            Place(_decoded_text(p["file"]), p["start"], p["end"], p.get("class"), p.get("func"))
            for p in data["results"]
        )
        lines = tuple(
            Line(_decoded_text(at["file"]), at["line"], at["column"], _decoded_text(at["text"])) for at in data["lines"]
        )
        text = _decoded_text(data["output"])
        made.append(SearchAnswer(_decoded_text(data["call"]), data["ok"], text, places, data["failed"], lines))
    return made


def run(
    *,
    repo: Path | None = None,
    issue: Path | None = None,
    issue_text: str | None = None,
    model: str | Sequence[str] | None = None,
    out: Path | None = None,
    max_cost: float | None = None,
    max_time: float | None = None,
    verify: str | bool | None = None,
    validate: str | None = None,
    **options: Option,
) -> RunResult:
    """Fix one issue; a run without a patch is a result too, by its verdict. Errors: HostError.

    Give `issue` (a file or a URL) or `issue_text`, and `model` (PROVIDER/NAME). `repo` is a repository (default: the one around the
    current folder), `out` the run folder (default: a new one), `max_cost` a ceiling in USD, `max_time` one in seconds, `verify` "auto",
    "always" or "never" (or True or False), `validate` a command that refuses a patch by a non-zero exit. `options` are the program's others.
    """
    options, given = _issue({name: value for name, value in locals().items() if name != "options"} | options)
    if options.get("dry_run"):
        raise HostError(2, "a dry run has no result; call acr_host.plan() with the same options")
    command = _command("run", (), {"quiet": True, **options, "json": True})
    return _result(_read(_output(command, _WITH_RESULT, given), "verdict"))


def verify(
    script: Path, *, patch: Path | None = None, repo: Path | None = None, rev: str | None = None, **options: Option
) -> RunResult:
    """Prove a patch by a script that fails without it, without a model. `patch` is the path or the text of a diff (default: the
    changes of the working tree since `rev`, which is HEAD by default). `options` are the program's others. Errors: HostError.
    """
    text = patch.encode("utf-8", "surrogateescape") if isinstance(patch, str) and "\n" in patch else None
    given = {"script": script, "patch": "-" if text else patch, "repo": repo, "rev": rev}
    command = _command("verify", (), {"quiet": True, **given, **options, "json": True})
    return _result(_read(_output(command, _WITH_RESULT, text), "verdict"))


def plan(**options: Option) -> dict[str, Any]:
    """What `run` would do with these options, and the highest possible cost (schema plan.json). Errors: HostError."""
    options, given = _issue(options)
    return _read(_output(_command("run", (), {**options, "dry_run": True, "json": True}), (0,), given), "limits")


async def events(**options: Option) -> AsyncIterator[Event]:
    """Like `run`, but yields events; the last event has the result, unless HostError is raised. Leaving the loop early
    interrupts the run; the same options, including `out`, resume it. Errors: HostError.
    """
    options, given = _issue(options)
    ours, theirs = os.pipe()
    command = _command("run", (), {"quiet": True, **options, "events": theirs})
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, pass_fds=(theirs,), stdin=asyncio.subprocess.PIPE, stdout=quiet, stderr=asyncio.subprocess.PIPE
        )
    except (OSError, ValueError) as error:
        os.close(ours)
        raise _not_started(command[0], error) from error
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    assert process.stderr and process.stdin
    process.stdin.write(given or b"")
    process.stdin.close()
    complaints = asyncio.ensure_future(process.stderr.read())
    reader = asyncio.StreamReader(limit=_MAX_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb")
    )
    try:
        has_result, failed = False, None
        while line := await reader.readline():
            data = json.loads(line)
            result = _result(data["result"]) if data["event"] == "result" else None
            if result is not None and result.exit not in _WITH_RESULT:
                failed = data["result"]
                break
            has_result = result is not None
            yield Event(data.pop("event"), data.pop("time_ms"), data, result)
        if await process.wait() not in _WITH_RESULT or not has_result:
            raise _error(process.returncode or 0, await complaints, failed)
    finally:
        transport.close()
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()
        await complaints


def evaluate(dataset: Path, predictions: Path, run_id: str, out: Path, **options: Option) -> dict[str, Any]:
    """Grade predictions; returns the final report with a summary (schema eval.json). `error_ids` names tasks without a
    grade: the patch does not apply, or the task cannot be graded on this machine. Errors: HostError.
    """
    given: dict[str, Option] = {"dataset": dataset, "predictions": predictions, "run_id": run_id, "out": out}
    command = _command("eval", (), {**given, "quiet": True, **options, "json": True})
    return _read(_output(command, (0, 1, 3)), "resolved_ids")


def call_verb(verb: str, *arguments: str, **options: Option) -> list[dict[str, Any]]:
    """The objects that any other verb prints with --json, as a list: of `patch`, one for each file, of `runs`, one for each run.
    Errors: HostError.

    call_verb("tests", repo=".", patch="fix.diff") runs tests, and call_verb("exec", "python3", "-V", repo=".") a command.
    """
    text = _output(_command(verb, arguments, {**options, "json": True}), (0, 1)).decode("utf-8", "replace").rstrip()
    made: list[dict[str, Any]] = []
    at = 0
    while at < len(text):
        try:
            data, at = json.JSONDecoder().raw_decode(text, at)
        except ValueError as error:
            raise _no_json() from error
        rows = data if isinstance(data, list) else [data]
        if not all(isinstance(row, dict) for row in rows):
            raise _no_json("object")
        made += rows
        while text[at : at + 1].isspace():
            at += 1
    return made
