"""Code for all dialects: an answer in no provider's format, an event, a refusal, and checks of JSON.

A dialect is a class in its own file; `strict.DIALECTS` lists the dialects. A dialect recognises its requests, checks
them, and turns an `Answer` or the name of an error into its provider's bytes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

USER_AGENT = "acr-host/"
# Text with characters of 2, 3 and 4 bytes, in pieces as a model would send it.
PIECES = ("Grüße", ", 🌍 ", "world — ", "fertig.\n", "two")
TEXT = "".join(PIECES)
# Numbers of tokens: sent; of these, read from the cache; received; of these, reasoning.
SENT, CACHED, RECEIVED, REASONING = 120, 20, 30, 10
# The value that replaces each counter, by the kind of usage.
BAD_COUNTERS: dict[str, Any] = {
    "nulls": None,
    "negative": -7,
    "string": "120",
    "absurd": 10**30,
    "fraction": 0.5,
    "truth": True,
    "list": [120],
    "beyond-64-bits": 2**63,
    "huge": 10**9,
    "zero": 0,
}
# The counters that every server reports.
BARE = {
    *("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"),
    *("inputTokens", "outputTokens", "promptTokenCount", "candidatesTokenCount"),
}


@dataclass(frozen=True)
class Answer:
    """A model's answer. `usage`: full, bare, null, missing, or a name in BAD_COUNTERS."""

    pieces: tuple[str, ...] = PIECES
    finish: str = "stop"  # stop, length, tool_calls, content_filter, refusal, context; "=WORD" sends WORD
    usage: str = "full"
    cost: Any = None
    tools: bool = False  # one call of a tool that was not offered
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()  # tools and their arguments; a signed thought comes before them
    reasoning: str = ""
    refusal: str = ""
    null_content: bool = False
    choices: int = 1
    unknown: bool = False  # with unknown events and members between the others
    escaped: bool = False  # all non-ASCII characters as \u escapes
    beside: Mapping[str, Any] = field(default_factory=dict)  # additional members of each event and of a whole answer

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)

    @property
    def called(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The calls, each with an id that no other answer uses."""
        if self.tools:
            return [("call_1", "find", {"q": 1})]
        mark = zlib.crc32(repr(self.calls).encode())
        return [(f"call_{mark:08x}_{n}", name, arguments) for n, (name, arguments) in enumerate(self.calls)]

    def reason(self, names: Mapping[str, str]) -> str:
        """Why the answer ended, in the provider's words."""
        if self.finish.startswith("="):
            return self.finish[1:]
        return names.get(self.finish, "model_context_window_exceeded" if self.finish == "context" else self.finish)

    def dump(self, value: Any) -> str:
        """JSON text in the style of this answer."""
        return json.dumps(value, ensure_ascii=self.escaped)


@dataclass(frozen=True)
class Event:
    """One event. `kind`: start, content, finish, usage, terminal, error or other."""

    kind: str
    data: str
    name: str = ""


@dataclass(frozen=True)
class Refusal:
    """A response that is not an answer."""

    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = ()

    def data(self) -> bytes:
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body, ensure_ascii=False).encode()


@dataclass
class Request:
    """A request as received."""

    number: int  # of the server, from 1
    connection: int  # from 1
    arrived: float  # time.monotonic
    method: str
    target: str
    headers: list[tuple[str, str]]
    head: bytes
    body: bytes
    json: Any = None
    model: str = ""
    dialect: str = ""
    wrong: list[str] = field(default_factory=list)
    sent_bytes: int = 0  # size of the response's body, once it has ended

    @property
    def path(self) -> str:
        """The target without its query, as received."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The part of the target after the question mark."""
        return urlsplit(self.target).query

    def header(self, name: str) -> str | None:
        """The first value of a header; None if there is none."""
        values = self.all(name)
        return values[0] if values else None

    def all(self, name: str) -> list[str]:
        """All values of a header."""
        return [v for n, v in self.headers if n.lower() == name.lower()]


@dataclass(frozen=True)
class Said:
    """The contents of a request, independent of the provider."""

    system: str
    texts: tuple[str, ...]  # the messages' texts, in order
    limit: int | None  # maximum number of tokens of the answer
    json: bool  # JSON mode or a schema


@dataclass(frozen=True)
class Wrong:
    """An error in a request, and the status that reports it."""

    status: int
    text: str


SIGNATURE = "sig+/=="  # of a thought, which must come back unchanged before its calls


def halves(text: str) -> list[str]:
    """A text as streams send it: an empty piece, then two pieces."""
    return ["", text[: len(text) // 2], text[len(text) // 2 :]]


def check_ids(where: str, asked: list[Any], answered: list[Any]) -> list[Wrong]:
    """Check that the results after an answer are those of all its calls."""
    if sorted(map(str, asked)) == sorted(map(str, answered)) and len(set(asked)) == len(asked):
        return []
    return [Wrong(400, f"{where}: the calls {asked} are answered by {answered}")]


def check_tool(where: str, tool: Any, members: Iterable[str], schema: str) -> list[Wrong]:
    """Check the members, name and schema of a tool."""
    wrong = unknown(where, tool, members)
    if wrong:
        return wrong
    form: Any = tool.get(schema)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", str(tool.get("name"))) or not tool.get("description"):
        wrong.append(Wrong(400, f"{where} has no name or no description"))
    if not isinstance(form, dict) or form.get("type") != "object" or form.get("additionalProperties") is not False:
        wrong.append(Wrong(400, f"{where}.{schema} is no strict schema of an object"))
    elif sorted(form["required"]) != sorted(form["properties"]):
        wrong.append(Wrong(400, f"{where}.{schema} does not require all of its properties"))
    return wrong


def refuses_tools(model: str, body: Any, results: str) -> bool:
    """Whether the model's name says that it rejects tools: always, or together with the results of calls."""
    if "tools" not in body and "toolConfig" not in body:
        return False
    return model.endswith("-notools") or (model.endswith("-nomoretools") and results in json.dumps(body))


def ability(model: str, said: Said) -> str:
    """The message of a refusal because the model lacks an ability, equal in all dialects; "": none."""
    if model.endswith("-nosystem") and said.system:
        return "System role not supported"
    if model.endswith("-64") and (said.limit or 0) > 1064:
        return f"max_tokens is too large: {said.limit}. This model supports at most 1064 completion tokens"
    if model.endswith("-small") and (said.limit or 0) > 1096:
        return (
            f"This model's maximum context length is 4096 tokens. However, you requested {3000 + (said.limit or 0)} tokens "
            f"(3000 in the messages, {said.limit} in the completion)."
        )
    return ""


class Dialect:
    """A provider's protocol."""

    name = ""
    framing = "sse"  # or eventstream
    request_id = "x-request-id"
    has_terminal = True  # whether an event ends the stream
    says_model = True
    error_event = ""  # the name of an event that reports a failure

    def __init__(self, key: str) -> None:
        self.key = key

    def model_of(self, request: Request) -> str | None:
        """The requested model; None if the request is of another dialect."""
        raise NotImplementedError

    def check(self, request: Request) -> list[Wrong]:
        """The errors in a request."""
        raise NotImplementedError

    def said(self, body: dict[str, Any]) -> Said:
        """The contents of a correct request."""
        raise NotImplementedError

    def refuse(self, request: Request) -> Refusal | None:
        """A refusal because the model, by its name, lacks an ability."""
        return None

    def wrong(self, status: int, text: str) -> Refusal:
        """A refusal with that status, in the provider's format."""
        raise NotImplementedError

    def error(self, kind: str) -> Refusal | None:
        """A failure of that kind in the provider's format; None if the provider has none."""
        raise NotImplementedError

    def events(self, answer: Answer, model: str) -> list[Event]:
        """The answer as the events of a stream."""
        raise NotImplementedError

    def whole(self, answer: Answer, model: str) -> dict[str, Any]:
        """The answer in one piece."""
        raise NotImplementedError

    def failing_event(self, kind: str) -> Event | None:
        """A failure within a stream: an event with the refusal's body."""
        refusal = self.error(kind)
        if refusal is None:
            return None
        return Event("error", json.dumps(refusal.body), self.error_event)

    def ping(self) -> Event | None:
        """An event without content; None if the dialect has only comments."""
        return None

    def streams(self, request: Request) -> bool:
        """Whether the request asks for a stream."""
        return bool((request.json or {}).get("stream"))

    def usage_expected(self) -> dict[str, int | None]:
        """The usage that a client should report for the full usage."""
        return {"input": SENT, "output": RECEIVED, "cached": CACHED, "reasoning": REASONING}


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name occurs twice. Errors: ValueError."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return made


def common(request: Request) -> list[Wrong]:
    """Check what every provider may expect of a POST with JSON."""
    wrong = []
    if request.method != "POST":
        wrong.append(Wrong(405, f"the method is {request.method}"))
    agent = request.header("user-agent") or ""
    if not agent.startswith(USER_AGENT):
        wrong.append(Wrong(400, f"User-Agent is {agent!r}"))
    if (request.header("content-type") or "").split(";")[0].strip() != "application/json":
        wrong.append(Wrong(400, f"Content-Type is {request.header('content-type')!r}"))
    if (request.header("accept-encoding") or "identity") != "identity":
        wrong.append(Wrong(400, f"Accept-Encoding is {request.header('accept-encoding')!r}"))
    for name in ("expect", "cookie", "transfer-encoding", "referer"):
        if request.header(name) is not None:
            wrong.append(Wrong(400, f"there is a header {name}"))
    names = [name.lower() for name, _ in request.headers]
    wrong += [Wrong(400, f"{name} stands twice") for name in sorted(set(names)) if names.count(name) > 1]
    if not isinstance(request.json, dict):
        wrong.append(Wrong(400, "the body is no JSON object in UTF-8 with unique names"))
    return wrong


def unknown(where: str, value: Any, allowed: Iterable[str]) -> list[Wrong]:
    """Report members that are not allowed, or that the value is not an object."""
    if not isinstance(value, dict):
        return [Wrong(400, f"{where} is no object")]
    return [Wrong(400, f"{where} has an unknown member {name!r}") for name in value if name not in set(allowed)]


def number(body: Mapping[str, Any], name: str, low: float, high: float, whole: bool = False) -> list[Wrong]:
    """Check that a member, if present, is a number in that range."""
    if name not in body:
        return []
    value = body[name]
    right = (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and low <= value <= high
        and not (whole and value != int(value))
    )
    return [] if right else [Wrong(400, f"{name} is {value!r}")]


def text_of(content: Any) -> str:
    """The text of a message's content, which is a text or blocks with texts."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [])


def alternating(roles: list[Any], model_role: str) -> list[Wrong]:
    """Check that user and model alternate, and that the first and last messages are the user's."""
    wanted = ["user", model_role] * (len(roles) // 2) + ["user"]
    if roles != wanted[: len(roles)] or not roles or roles[-1] != "user":
        return [Wrong(400, f"the roles are {roles}")]
    return []


def bearer(request: Request, key: str) -> list[Wrong]:
    """Check the bearer key."""
    if request.header("authorization") is None:
        return [Wrong(401, "no Authorization header")]
    if request.header("authorization") != f"Bearer {key}":
        return [Wrong(401, "Authorization is not the key's")]
    return []


def only_this_key(request: Request, *others: str) -> list[Wrong]:
    """Check that only one header contains the key."""
    return [Wrong(400, f"a credential also stands in {name}") for name in others if request.header(name) is not None]


def counters(usage: str, full: dict[str, Any]) -> dict[str, Any] | None:
    """The provider's usage object, with its numbers changed for this kind of usage."""
    if usage in ("null", "missing"):
        return None
    if usage == "full":
        return full
    if usage == "bare":
        return {name: value for name, value in full.items() if name in BARE}
    value = BAD_COUNTERS[usage]
    return {name: counters(usage, member) if isinstance(member, dict) else value for name, member in full.items()}
