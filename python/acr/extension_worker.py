"""The process of one extension: loads its file, calls its functions, and forwards its questions.

Questions and answers are JSON. While a function of the extension runs, it may ask the program over the socket that
brought the question: it sends the head of an answer of the kind ASKS, and reads the reply (native/base/peer.h).
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import struct
import sys
import threading
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

from acr import extensions, imports
from acr.extensions import ChangedFile, Event, Patch, Place, Repo, Symbol, Veto

ASKS = 5  # ACR_PEER_ASKS
GROUP = "acr_host.extensions"
MAX_PARAMS = 4
# The arguments that acr-host passes to the functions of each kind, except search calls.
PASSED = {"check": "patch", "on": "event", "parser": "log", "localiser": "repo, issue", "source": "reference"}
MAX_HOOKS = 50  # ACR_EXTENSION_MAX_HOOKS
MAX_NAME = 64
MAX_TEXT = 64 * 1024  # maximum characters of an answer, or of the reason why a patch is wrong
MAX_NOTE = 4000
MAX_PLACES = 1000
MAX_MESSAGE = 300
MAX_DEFAULT = 40
MAX_FRAMES = 4
MAX_SUSPECTS = 10
MAX_ISSUE = 1024 * 1024  # maximum characters of an issue

_HEAD = struct.Struct("=II")
_state: dict[str, Any] = {}


class Unusable(Exception):
    """The file is not an extension for this program; the message gives the reason."""


# ---- Questions to the program


def begin(descriptor: bytes) -> bytes:
    """Remember the number of the socket on which questions arrive."""
    imports.add_site_packages()
    for codec in ("encodings.idna", "encodings.punycode"):  # resolving host names needs them; parsing disables them
        sys.modules.pop(codec, None)
    _state.update(fd=int(descriptor), pid=os.getpid(), turn=threading.Lock(), asked=False)
    return b""


def _read_input(length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = os.read(_state["fd"], length - len(data))
        if not part:
            os._exit(0)  # the program has ended
        data += part
    return data


def _ask(question: dict[str, Any]) -> dict[str, Any]:
    """Ask the program and return its reply. Threads take turns; a thread that outlives its call gets no reply."""
    out = _printed(question)
    out = _HEAD.pack(ASKS, len(out)) + out
    if os.getpid() != _state.get("pid", os.getpid()):
        raise extensions.RepoError("this works only in the process of an extension")
    with _state["turn"]:
        if not _state["asked"]:
            raise extensions.RepoError("the repository can be used only during the call that received it")
        while out:
            out = out[os.write(_state["fd"], out) :]
        name, length = _HEAD.unpack(_read_input(_HEAD.size))
        answer = json.loads(_read_input(name + length)[name:])
    if "error" in answer:
        raise extensions.RepoError(answer["error"])
    return answer


def _printed(value: object) -> bytes:
    return json.dumps(value).encode("ascii")


# ---- Loading


def locate(question: bytes) -> bytes:
    """Find the file of the entry point {"name"}: {"path"}, which is None if no installed package has it."""
    _state["path"] = ""
    return _guarded(lambda: {"path": _located(json.loads(question)["name"])})


def _located(name: str) -> str | None:
    from importlib import metadata  # which takes as long to import as all else, and most extensions are files

    points: Any = metadata.entry_points()
    ours = points.select(group=GROUP) if hasattr(points, "select") else points.get(GROUP, ())
    for point in ours:
        if point.name == name:
            spec = find_spec(point.value.partition(":")[0].strip())
            return spec.origin if spec and spec.has_location else None
    return None


def load(question: bytes) -> bytes:
    """Run the file {"path", "source"}; returns what it adds, or {"error"}."""
    asked = json.loads(question)
    _state.update(path=os.fsdecode(extensions.as_bytes(asked["path"])), source=extensions.as_bytes(asked["source"]))
    return _guarded(_load)


def _load() -> dict[str, Any]:
    module = ModuleType("acr_extension")
    module.__file__ = _state["path"]
    sys.modules[module.__name__] = module
    exec(compile(_state["source"], _state["path"], "exec", dont_inherit=True), module.__dict__)
    api = getattr(module, "API", None)
    if api != extensions.API:
        wanted = f"is for version {_shown_value(api)} of the interface" if api is not None else "declares no API = 1"
        raise Unusable(f"the file {wanted}; acr-host has version {extensions.API}")
    functions = list({id(value): value for value in vars(module).values() if _hook(value)}.values())
    own = [_hook(function) for function in extensions.marked if function.__module__ == module.__name__]
    kinds = [_hook(function) for function in functions]
    _check_hooks(kinds, own)
    for function, (kind, _) in zip(functions, kinds):
        _check_signature(function, kind)
    _state["functions"] = dict(zip(kinds, functions))
    _state["tests"] = {
        name: value for name, value in vars(module).items() if name.startswith("test_") and inspect.isfunction(value)
    }
    return {
        "version": _shown_value(getattr(module, "__version__", "")),
        "calls": [_described(function) for function in functions if _hook(function)[0] == "call"],
        "checks": [name for kind, name in kinds if kind == "check"],
        "parsers": [name for kind, name in kinds if kind == "parser"],
        "localisers": [name for kind, name in kinds if kind == "localiser"],
        "sources": [name for kind, name in kinds if kind == "source"],
        "events": [{"kind": kind[3:], "name": name} for kind, name in kinds if kind.startswith("on:")],
        "tests": list(_state["tests"]),
        "settings": [{key: _clean(value) for key, value in row.items()} for row in extensions.settings],
    }


def _hook(value: object) -> tuple[str, str]:
    """The mark of a decorated function; decorators above ours keep the mark."""
    held = getattr(value, "__dict__", None) if callable(value) else None
    return held.get(extensions.MARK, ()) if isinstance(held, dict) else ()


def _check_hooks(hooks: list[tuple[str, str]], own: list[tuple[str, str]]) -> None:
    """Check that every decorated function of the file can be found by its name."""
    for (kind, name), times in (Counter(hooks) | Counter(own)).items():
        if not name.isprintable() or len(name) > MAX_NAME:
            raise Unusable(f"the name {name[:MAX_NAME]!r} must be printable and have at most {MAX_NAME} characters")
        if times > 1 or (kind, name) not in hooks:
            twice = f"{times} functions of its kind ({kind}) have that name"
            why = twice if times > 1 else "no global name of the file refers to it"
            raise Unusable(f"acr-host would never call the function {name}: {why}")
    for kind, number in Counter(kind.partition(":")[0] for kind, _ in hooks).items():
        if number > MAX_HOOKS:
            raise Unusable(f"the file has {number} functions of one kind ({kind}); at most {MAX_HOOKS} are allowed")


def _check_signature(function: Any, kind: str) -> None:
    """Check that the function takes what acr-host passes; `_described` checks search calls."""
    passed = PASSED.get(kind.partition(":")[0])
    try:
        if passed and isinstance(function, FunctionType):
            inspect.signature(function, follow_wrapped=False).bind(*passed.split())
    except TypeError as error:
        raise Unusable(f"the {kind} function must be `def {function.__name__}({passed})`: {error}") from None


def _described(function: Any) -> dict[str, Any]:
    taken = list(inspect.signature(function).parameters.values())
    if not taken or taken[0].annotation in (str, int, "str", "int") or taken[0].kind > inspect.Parameter.VAR_POSITIONAL:
        raise Unusable(f"the first argument of the call {function.__name__} must be `repo`: `def name(repo, a: str)`")
    params = taken[1:]
    if len(params) > MAX_PARAMS:
        raise Unusable(
            f"the call {function.__name__} has {len(params)} arguments besides `repo`; at most {MAX_PARAMS} are allowed"
        )
    text = inspect.cleandoc(function.__doc__ or "")
    summary = " ".join(text.partition("\n\n")[0].split())
    if not summary:
        raise Unusable(f"the call {function.__name__} needs a docstring, which tells models what the call does")
    return {
        "name": function.__name__,
        "summary": summary,
        "params": [_described_param(function, param, text) for param in params],
    }


def _described_param(function: Any, param: inspect.Parameter, text: str) -> dict[str, Any]:
    written = inspect.formatannotation(param.annotation).strip("'").removesuffix(" | None")
    kind = re.sub(r"^(?:\w+\.)?Optional\[(\w+)\]$", r"\1", written)
    if kind not in ("str", "int") or param.kind not in (param.POSITIONAL_OR_KEYWORD, param.KEYWORD_ONLY):
        raise Unusable(f"the argument {param.name} of the call {function.__name__} must be annotated with str or int")
    about = re.search(rf"^\s*{re.escape(param.name)}: (.+)$", text, re.MULTILINE)
    otherwise = None if param.default is param.empty else _clean(repr(param.default)[:MAX_DEFAULT])
    return {"name": param.name, "type": kind, "about": about[1] if about else "", "otherwise": otherwise}


# ---- Calling


def ask(question: bytes) -> bytes:
    """Call a function: {"kind", "name", "argument"}; returns its result as JSON, or {"error"}."""
    asked = json.loads(question)
    _state["asked"] = True
    said = _guarded(lambda: _call(asked["kind"], asked["name"], asked["argument"]))
    with _state["turn"]:
        _state["asked"] = False
    return said


def _call(kind: str, name: str, argument: dict[str, Any]) -> dict[str, Any]:
    repo = Repo(_ask)
    if kind == "test":
        test = _state["tests"][name]
        test(*[repo][: len(inspect.signature(test).parameters)])
        return {}
    function = _state["functions"][kind, name]
    if kind == "call":
        return _call_answer(function(repo, **argument))
    if kind == "parser":
        return {"outcomes": _outcomes(function(argument["log"]))}
    if kind == "localiser":
        return {"text": _suspects(function(repo, argument["issue"]))}
    if kind == "source":
        return _told(function(argument["reference"]), MAX_ISSUE)
    if kind == "check":
        return _told(function(Patch(argument["diff"], [_as_file(row) for row in argument["files"]], repo)), MAX_TEXT)
    said = function(Event(kind[3:], argument, repo))
    if isinstance(said, Veto):
        return {"veto": _told(said.reason, MAX_NOTE).get("text") or "no reason is given"}
    return _told(said, MAX_NOTE)


def _as_file(row: dict[str, Any]) -> ChangedFile:
    sides = (extensions.as_bytes(row[side]) if row[side] is not None else None for side in ("before", "after"))
    path = extensions.as_bytes(row["path"]).decode("utf-8", "replace")
    return ChangedFile(path, *sides)


def _told(said: object, limit: int) -> dict[str, Any]:
    if said is None or said == "":
        return {}
    if not isinstance(said, str):
        raise TypeError(f"the function must return a text or None, not {type(said).__name__}")
    return {"text": _clean(said[:limit])}


def _call_answer(said: object) -> dict[str, Any]:
    if isinstance(said, str):
        return {"text": _clean(said[:MAX_TEXT])}
    if isinstance(said, (list, tuple)) and all(isinstance(each, Place) for each in said):
        return {"places": [_place(place) for place in said[:MAX_PLACES]]}
    wrong = [type(each).__name__ for each in said if not isinstance(each, Place)] if isinstance(said, list) else []
    named = f"{type(said).__name__}{' of ' + wrong[0] if wrong else ''}"
    raise TypeError(f"a search call must return a text or a list of Place, not {named}")


def _outcomes(said: object) -> dict[str, str]:
    if not isinstance(said, dict) or not all(isinstance(test, str) for test in said):
        raise TypeError("a log parser must return a dict that maps tests to outcomes")
    for outcome in said.values():
        if outcome not in extensions.OUTCOMES:
            raise ValueError(f"{_shown_value(outcome)} is not an outcome: use one of {', '.join(extensions.OUTCOMES)}")
    return {_clean(test): outcome for test, outcome in said.items()}


def _suspects(said: object) -> str | None:
    """The places with the highest scores, one per line."""
    try:
        rows = sorted(((float(score), place) for place, score in said), key=lambda row: -row[0])
        if not all(isinstance(place, (Place, Symbol)) and math.isfinite(score) for score, place in rows):
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError("a localiser must return a list of (Place or Symbol, score)") from None
    lines = [
        f"- {place.file}{' ' + place.qualname if isinstance(place, Symbol) else ''}, "
        f"lines {int(place.start)}-{int(place.end)} (score {score:.3g})"
        for score, place in rows[:MAX_SUSPECTS]
    ]
    return _clean("\n".join(lines)[:MAX_TEXT]) or None


def _place(place: Place) -> dict[str, Any]:
    place = replace(place, start=int(place.start), end=int(place.end))
    return {"file": _clean(str(place.file)), "start": place.start, "end": place.end}


# ---- Failures


def _guarded(work: Any) -> bytes:
    """Return the result of `work`, or {"error"}: one line with the frames of the extension's file."""
    try:
        return _printed(work())
    except Unusable as error:
        return _printed({"error": _clean(str(error))})
    except BaseException as error:
        return _printed({"error": _described_error(error)})
    finally:
        if os.getpid() != _state.get("pid", os.getpid()):
            os._exit(0)  # the extension forked: a second process must not answer, too


def _described_error(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "the error cannot be converted to text"
    name = type(error).__name__
    if isinstance(error, ImportError) and error.name == extensions.__name__:
        text = f"{text.partition(' (')[0]}; the module has {', '.join(extensions.__all__)}"
    message = f"{name}: {text}" if text else name
    return _clean(message[:MAX_MESSAGE]) + _frames(error)


def _frames(error: BaseException) -> str:
    """The frames of the error in the extension's own file: " (line 12 in check, line 4 in helper)"."""
    path, frames, at = _state["path"], [], error.__traceback__
    while at:
        if at.tb_frame.f_code.co_filename == path:
            frames.append(f"line {at.tb_lineno} in {at.tb_frame.f_code.co_name}")
        at = at.tb_next
    return f" ({', '.join(frames[-MAX_FRAMES:])})" if frames else ""


def _shown_value(value: object) -> str:
    return _clean(str(value)[:40]) if isinstance(value, (str, int, float)) else type(value).__name__


def _clean(text: str) -> str:
    """Remove lone surrogates and NUL, which no UTF-8 text of the program may contain."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
