"""The interface for extensions. An extension is a Python file that `--extension FILE` names.

It declares `API = 1` and decorates functions; `acr-host extensions new NAME` writes one to begin with. It runs in its
own process, in which variables keep their values from call to call. An exception or a timeout loses one call; after
three such failures of a function, the function is not called again. If a check fails, the patch is refused.

    from acr.extensions import Place, Repo, search_call

    API = 1

    @search_call
    def find_setting(repo: Repo, name: str) -> list[Place]:
        \"\"\"Shows where a setting is read.

        name: Name of the setting, in capitals
        \"\"\"
        return repo.call("search_code", code_str=f"settings.{name}").places
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Answer",
    "ChangedFile",
    "Event",
    "Patch",
    "Place",
    "Repo",
    "RepoError",
    "Symbol",
    "Veto",
    "issue_source",
    "localiser",
    "log_parser",
    "on",
    "patch_check",
    "search_call",
    "setting",
]

API = 1  # the version that this file describes; extensions for other versions are not loaded

MARK = "acr_extension_hook"  # attribute of each decorated function: (kind, name)
EVENTS = ("call", "result", "answer", "patch", "verdict")

PREFIX = "ACR_EXTENSION_"  # prefix of the environment variables that are passed on
settings: list[dict[str, str]] = []  # settings of this process's extension, in the form of the list
marked: list[FunctionType] = []  # functions that were decorated

Function = TypeVar("Function", bound="Callable[..., Any]")
Value = TypeVar("Value", str, int, float, bool)
OUTCOMES = ("PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL")
EventName = Literal["call", "result", "answer", "patch", "verdict"]


class RepoError(LookupError):
    """The repository does not have the requested file, call or argument."""


@dataclass(frozen=True)
class Place:
    """Lines of a file: 1-based, both included; `file` is its path in the repository."""

    file: str
    start: int
    end: int


@dataclass(frozen=True)
class Symbol:
    """A definition in a file: a "class", "function", "method", "assignment" or "import", with its lines.

    `qualname` is dotted within the file: "Outer.method".
    """

    kind: str
    file: str
    name: str
    qualname: str
    start: int
    end: int


@dataclass(frozen=True)
class Answer:
    """The answer of a built-in search call: whether code was found, the text that models read, the places."""

    ok: bool
    output: str
    places: list[Place]


@dataclass(frozen=True)
class Repo:
    """The code that a run works on, in its state when the run began. Read-only."""

    ask: Callable[[dict[str, Any]], dict[str, Any]] = field(repr=False)

    @property
    def path(self) -> str | None:
        """Folder of the repository, for git's history. Its files may differ from those of the run."""
        return self.ask({"what": "path"})["path"]

    def files(self) -> list[str]:
        """The paths of all files, sorted."""
        return self.ask({"what": "files"})["files"]

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises RepoError if there is no such file."""
        return as_bytes(self.ask({"what": "read", "path": path})["data"])

    def text(self, path: str) -> str:
        """Return a file's text; bytes that are not UTF-8 become U+FFFD. Raises RepoError."""
        return self.read(path).decode("utf-8", "replace")

    def symbols(self, *, file: str | None = None, name: str | None = None) -> list[Symbol]:
        """Return classes, functions, assignments and imports of the files outside tests, by path and line.

        `file`: an exact path; `name`: a bare name. Returns at most 10,000 symbols.
        """
        rows = self.ask({"what": "symbols", "file": file, "name": name})["symbols"]
        return [Symbol(**row) for row in rows]

    def call(self, name: str, /, **arguments: str | int) -> Answer:
        """The answer of a built-in search call: repo.call("search_method", method_name="save"). Raises RepoError."""
        answer = self.ask({"what": "call", "name": name, "arguments": arguments})
        places = [Place(row["file"], row["start"], row["end"]) for row in answer["results"]]
        return Answer(answer["ok"], answer["output"], places)


@dataclass(frozen=True)
class ChangedFile:
    """A file that a patch touches; `before` or `after` is None if the file does not exist on that side."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Patch:
    """A patch that is about to be accepted."""

    diff: str
    files: list[ChangedFile]
    repo: Repo = field(repr=False)


@dataclass(frozen=True)
class Event:
    """An event of a run. `data` by `kind`:

    call     {"call"}: a search call before it is answered; a Veto prevents it
    result   {"call", "ok", "output"}: its answer; a text that the observer returns is added to it
    answer   {"role", "text"}: an answer of the model
    patch    {"attempt", "try", "status", "diff"}: the result of the patch writer's answer
    verdict  {"verdict", "diff"}: how the run ended
    """

    kind: str
    data: dict[str, Any]
    repo: Repo = field(repr=False)


@dataclass(frozen=True)
class Veto:
    """The result with which an observer of "call" prevents the call; the model reads the reason."""

    reason: str


def setting(name: str, default: Value, about: str = "") -> Value:
    """Return the variable ACR_EXTENSION_NAME, converted to the type of `default`; return `default` if it is not set.

    name: the setting's name in lower case; "log" stands for ACR_EXTENSION_LOG. A bool is written 1, true, yes, 0, false
    or no. Raises ValueError if the text cannot be converted.
    """
    variable, kind = PREFIX + name.upper(), type(default)
    if kind not in (str, int, float, bool):
        raise TypeError(f"the default of the setting {name} must be a str, int, float or bool, not {kind.__name__}")
    settings.append({"variable": variable, "type": kind.__name__, "default": str(default), "about": about})
    text = os.environ.get(variable)
    if text is None:
        return default
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    try:
        return words[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise ValueError(f"{variable} must be of the type {kind.__name__}, not {text!r}") from None


def search_call(function: Function) -> Function:
    """Add a search call: `def name(repo, argument: str, number: int)` with at most four arguments.

    Arguments are str or int; those with a default are optional. Models see the signature and the docstring's first paragraph; a line "argument: what it is" of the docstring
    describes that argument. Returns a text, or a list of Place, whose code is shown in the form of the built-in calls.
    """
    return _mark(function, "call")


def patch_check(function: Function) -> Function:
    """Check each patch: `def name(patch)` returns None, or why the patch is wrong; the model reads the reason."""
    return _mark(function, "check")


def on(event: EventName) -> Callable[[Function], Function]:
    """Observe an event: `def name(event)` returns None, a note, or a Veto. Event lists the events."""
    _refuse_bare("on", event)
    if event not in EVENTS:
        raise ValueError(f"there is no event {event!r}; the events are: {', '.join(EVENTS)}")
    return lambda function: _mark(function, f"on:{event}")


def log_parser(name: str) -> Callable[[Function], Function]:
    """Read the logs of benchmark tasks whose rows say {"log_parser": name}, in `eval`.

    `def read(log: str)` gets the output of the tests, and returns {test: outcome}; an outcome is one of OUTCOMES.
    """
    _refuse_bare("log_parser", name)
    return lambda function: _mark(function, "parser", name)


def localiser(function: Function) -> Function:
    """Suggest where a bug may be: `def name(repo, issue: str)` returns [(Place or Symbol, score)], in any order.

    The model sees the ten places with the highest scores, together with the issue, before it searches.
    """
    return _mark(function, "localiser")


def issue_source(scheme: str) -> Callable[[Function], Function]:
    """Read issues for `run --issue SCHEME:REFERENCE`: `def read(reference: str)` returns the issue's text.

    scheme: letters, digits and hyphens, such as "jira" for `--issue jira:ABC-12`; not http, https or file.
    """
    _refuse_bare("issue_source", scheme)
    if not re.fullmatch("[a-z][a-z0-9-]{0,30}", scheme) or scheme in ("http", "https", "file"):
        raise ValueError(
            f"{scheme!r} cannot be the scheme of an issue source; use letters, digits and hyphens, but not http, https or file"
        )
    return lambda function: _mark(function, "source", scheme)


def _refuse_bare(decorator: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f'write @{decorator}("name")')


def _mark(function: Function, kind: str, name: str | None = None) -> Function:
    if not isinstance(function, FunctionType):
        raise TypeError(f"this decorator applies only to functions, not to {type(function).__name__}")
    marked.append(function)
    setattr(function, MARK, (kind, function.__name__ if name is None else name))
    return function


def as_bytes(value: str | dict[str, str]) -> bytes:
    """Convert the program's JSON to bytes: a string, or {"base64"} for bytes that are not UTF-8."""
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode("utf-8")
