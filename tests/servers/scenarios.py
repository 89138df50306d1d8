"""The fault table as data: what a server does, for which dialects, and what a client is to make of it.

A row's name is the model's name. `Expect` says the outcome; what differs for one dialect stands in `but`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .dialect import TEXT, Answer
from .play import Play, Shape

SSE = ("openai_chat", "openai_responses", "azure", "anthropic", "gemini")
ALL = (*SSE, "bedrock")
# Whose streams have an event that ends them.
TERMINAL = tuple(name for name in ALL if name != "gemini")
CHAT = ("openai_chat", "azure")
# Whose newer models refuse a temperature.
NO_SAMPLING = ("openai_chat", "openai_responses", "azure", "anthropic", "bedrock")
# Other ways to show a key; the plain rows run over them too.
KEYS = ("anthropic_bearer", "bedrock_bearer", "azure_v1", "azure_token")

OFTEN = (2, 13)  # requests where a class is retried
FEW = (2, 6)
ONCE = (1, 1)
SOME = (1, 6)  # the rules leave open whether it is retried


@dataclass(frozen=True)
class Expect:
    """The outcome. `error`: classes that are right, none where an answer is; `also`: answers that are right too."""

    error: tuple[str, ...] = ()
    content: str = TEXT
    also: tuple[str, ...] = ()
    finish: tuple[str, ...] = ("stop",)
    exit: int | None = None  # None: 0, or 1 with an error
    requests: tuple[int, int] = ONCE
    # None: as many as the server received; -1: or more, where one may have met a connection that was being closed.
    attempts: int | None = None
    gap: tuple[float, float] = (0, 60)  # seconds between the first two requests
    usage: str = "full"  # full, bare, zero, unknown, any
    cost: int | str | None = None  # micro-USD; "some": any number above 0
    status: tuple[int | None, ...] | None = None  # of an error; None: not looked at
    connections: tuple[int, int] = (0, 99)
    sent_mb: float = 0  # the most that the server got rid of in one response; 0: not looked at
    seconds: float = 25  # the whole call
    request_id: bool = True  # it is the last request's
    json: bool | None = None  # whether the last request asked for JSON


@dataclass(frozen=True)
class Scenario:
    """A row."""

    name: str
    dialects: tuple[str, ...]
    plays: tuple[Play, ...]
    expect: Expect = Expect()
    args: tuple[str, ...] = ()
    model: str = ""  # another name than the row's
    suffix: str = ""  # of the model's name: what it cannot do
    but: dict[str, dict[str, Any]] = field(default_factory=dict)
    peer: str = ""  # nobody: nothing listens; nowhere: no such host; no_key, bad_key

    @property
    def model_name(self) -> str:
        """The name to ask for."""
        return (self.model or self.name) + self.suffix

    def expected(self, dialect: str) -> Expect:
        """The outcome for a dialect."""
        return replace(self.expect, **self.but.get(dialect, {}))


def ok(name: str, dialects: tuple[str, ...], *plays: Play, **expect: Any) -> Scenario:
    """A row that ends in an answer."""
    return Scenario(name, dialects, plays, Expect(**expect))


def bad(
    name: str, dialects: tuple[str, ...], error: str, *plays: Play, **expect: Any
) -> Scenario:
    """A row that ends in an error of one of the classes, parted by blanks."""
    return Scenario(name, dialects, plays, Expect(error=tuple(error.split()), **expect))


def _writing() -> list[Scenario]:
    """The same answer, written in all ways that the format allows."""
    shapes = {
        "crlf": Shape(newline=b"\r\n"),
        "cr": Shape(newline=b"\r"),
        "no-space": Shape(space=b""),
        "bom": Shape(bom=True),
        "comments": Shape(comments=True),
        "multiline": Shape(multiline=True),
        "id-and-retry": Shape(retry=True),
        "no-last-blank": Shape(last_blank=False),
        "all-at-once": Shape(b"\r\n", b"", True, True, True, True, True),
    }
    rows = [ok(name, SSE, Play(shape=shape)) for name, shape in shapes.items()]
    rows += [
        ok(f"{name}-bytes", SSE, Play(shape=shapes[name], piece=1))
        for name in ("crlf", "cr", "multiline", "all-at-once")
    ]
    escaped = Answer(pieces=("a \ud83c", "\udf0d b"), escaped=True)
    halves = ("a \ufffd\ufffd b", "a \ufffd b", "a \ufffd\ufffd\ufffd\ufffd\ufffd\ufffd b")
    return [
        ok("ok", (*ALL, *KEYS), Play()),
        ok("bytes", (*ALL, *KEYS), Play(piece=1)),
        ok("threes", ALL, Play(piece=3)),
        ok("slow-threes", ALL, Play(piece=97, pause=0.01)),
        ok("length", ALL, Play(framing="length")),
        ok("to-the-close", ALL, Play(framing="close")),
        ok("http-1.0", ALL, Play(version="HTTP/1.0", framing="close")),
        ok("escapes", ALL, Play(Answer(escaped=True))),
        ok("surrogates", ALL, Play(escaped), content="a 🌍 b", also=halves),
        ok("nul", ALL, Play(Answer(pieces=("a\0", "b"), escaped=True)), content="a\ufffdb", also=("ab",)),
        ok("type-json", SSE, Play(content_type="application/json")),
        ok("type-text", SSE, Play(content_type="text/plain")),
        ok("type-upper-case", SSE, Play(content_type="Text/Event-Stream;Charset=UTF-8")),
        ok("trailer", ALL, Play(trailer=b"X-Late: 1\r\nRetry-After: 9\r\n")),
        # Not asked for: unpacking it is as right as refusing it.
        bad("zipped", ALL, "malformed truncated_stream", Play(zipped=True), requests=SOME, also=(TEXT,)),
        bad("bad-utf8", ALL, "malformed", Play(bad_utf8=True), also=(TEXT.replace("ü", "\ufffd"),), requests=SOME, usage="any"),
        bad("bad-utf8-whole", ALL, "malformed", Play(bad_utf8=True, whole=True), also=(TEXT.replace("ü", "\ufffd"),), requests=SOME, usage="any"),
        *rows,
    ]


def _cuts() -> list[Scenario]:
    """Streams that end too early; only the terminal event says that an answer is whole."""
    rows = []
    for cut, dialects in (("head", ALL), ("mid", ALL), ("content", ALL), ("finish", TERMINAL)):
        for framing in ("chunked", "close", "length"):
            longer = 5000 if framing == "length" else 0
            play = Play(cut=cut, framing=framing, longer=longer)
            name = f"cut-{cut}-{framing}"
            rows.append(bad(name, dialects, "truncated_stream", play, requests=FEW))
    reset = Play(cut="content", end="reset")
    return [
        *rows,
        bad("cut-silent", ALL, "network", Play(cut="silent"), requests=FEW, request_id=False),
        bad("reset-silent", ALL, "network", Play(cut="silent", end="reset"), requests=FEW, request_id=False),
        bad("reset-content", ALL, "truncated_stream network", reset, requests=FEW),
        ok("cut-then-ok", ALL, Play(cut="content"), Play(), requests=(2, 2)),
        ok("silent-then-ok", ALL, Play(cut="silent"), Play(), requests=(2, 2)),
        bad("no-terminal", TERMINAL, "truncated_stream", Play(no_terminal=True), requests=FEW),
        bad("no-terminal-close", TERMINAL, "truncated_stream", Play(no_terminal=True, framing="close"), requests=FEW),
        ok("finish-then-close", ("gemini",), Play(framing="close")),
        ok("stays-open", ALL, Play(open_end=True), seconds=8),
        ok("stays-open-to-the-close", ALL, Play(open_end=True, framing="close"), seconds=8),
        ok("goes-on", ALL, Play(goes_on=True, pause=0.01), seconds=8),
        ok("goes-on-at-once", ALL, Play(goes_on=True, framing="close"), seconds=8),
        ok("too-long-but-whole", TERMINAL, Play(framing="length", longer=500)),
        # All of the JSON is there.
        bad("whole-too-long", ALL, "truncated_stream network", Play(framing="length", whole=True, longer=500), requests=SOME, also=(TEXT,)),
        bad("whole-too-short", ALL, "malformed truncated_stream", Play(framing="length", whole=True, longer=-40), requests=FEW, attempts=-1, request_id=False),
        bad("too-short", ALL, "truncated_stream malformed", Play(framing="length", longer=-400), requests=FEW, attempts=-1, request_id=False),
    ]


def _times() -> list[Scenario]:
    """Servers that let wait; --timeout bounds each attempt."""
    slow: dict[str, Any] = {"requests": (1, 4), "seconds": 12}
    rows = [
        bad(f"endless-{what}", ALL, "timeout", Play(endless=what, pause=0.02), **slow)
        for what in ("ping", "comment", "content", "silence")
    ]
    rows += [
        bad("slow-first-byte", ALL, "timeout", Play(before=30.0), request_id=False, **slow),
        bad("slow-body", ALL, "timeout", Play(silence=30.0), **slow),
    ]
    rows = [replace(row, args=("--timeout", "1")) for row in rows]
    later = Play(before=0.5, silence=0.3)
    return [*rows, replace(ok("later", ALL, later), args=("--timeout", "10"))]


def _sizes() -> list[Scenario]:
    """Lines, answers, bodies and headers that are large, and those that are too large."""
    mega = "x" * (1 << 20)
    four = Answer(pieces=("é" * (1 << 19),) * 4)
    most = 80.0
    big: dict[str, Any] = {"requests": (1, 3), "sent_mb": most, "usage": "any", "seconds": 60}
    many = tuple(("X-Filler-%d" % n, "y" * 40) for n in range(600))
    huge = (("X-Filler", "y" * (2 << 20)),)
    twice = (("X-Twice", "a"), ("X-Twice", "b"), ("Date", "x"), ("Date", "y"))
    return [
        ok("line-1mb", ALL, Play(Answer(pieces=(mega,))), content=mega),
        ok("answer-4mb", ALL, Play(four), content=four.text),
        ok("answer-4mb-whole", ALL, Play(four, whole=True), content=four.text),
        ok("many-events", ALL, Play(Answer(pieces=("ab ",) * 5000)), content="ab " * 5000),
        bad("body-70mb", ALL, "malformed", Play(fill=70, whole=True), **big),
        bad("body-200mb", ALL, "malformed", Play(fill=200, whole=True, framing="length"), **big),
        bad("stream-200mb", ALL, "malformed", Play(fill=200), **big),
        bad("gzip-bomb", ("openai_chat", "anthropic", "bedrock"), "malformed", Play(fill=200, zipped=True, whole=True), requests=FEW, seconds=60),
        bad("header-2mb", ALL, "malformed network", Play(headers=huge), requests=SOME, request_id=False),
        bad("headers-600", ALL, "malformed network", Play(headers=many), requests=SOME, request_id=False),
        ok("headers-twice", ALL, Play(headers=twice)),
    ]


def _bodies() -> list[Scenario]:
    """Bodies that are no stream, and those that are no answer."""
    html = b"<html><body><h1>Welcome to the hotel's network</h1></body></html>"
    deep = b"[" * 200000
    odd = {
        "html": Play(body=html, whole=True, content_type="text/html"),
        "json-array": Play(body=b'[{"a": 1}, 2]', whole=True),
        "json-null": Play(body=b"null", whole=True),
        "json-number": Play(body=b"42", whole=True),
        "json-empty-object": Play(body=b"{}", whole=True),
        "json-half": Play(body=b'{"choices": [{"mess', whole=True),
        "json-deep": Play(body=deep, whole=True),
        "json-garbage-behind": Play(whole=True, garbage=b"\n{} trailing"),
    }
    rows = [bad(name, ALL, "malformed", play, requests=FEW) for name, play in odd.items()]
    unclear = "malformed truncated_stream"
    return [
        *rows,
        bad("html-as-stream", ALL, unclear, Play(body=html), requests=FEW),
        bad("zeros", ALL, unclear, Play(body=b"\0" * 4096), requests=FEW),
        bad("empty", ALL, unclear, Play(body=b"", whole=True), requests=FEW),
        bad("empty-stream", ALL, unclear, Play(body=b""), requests=FEW),
        bad("status-204", ALL, unclear, Play(status=204, body=b"", framing="close"), requests=(1, 9), attempts=-1, request_id=False),
        ok("whole", (*ALL, *KEYS), Play(whole=True)),
        ok("whole-length", ALL, Play(whole=True, framing="length")),
        ok("whole-bytes", ALL, Play(whole=True, piece=1)),
        ok("blank-lines-before", SSE, Play(lead=b"\n" * 40)),
        ok("whole-blank-lines-before", ALL, Play(whole=True, lead=b"\n" * 40)),
        bad("not-http", ALL, "network malformed", Play(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), requests=SOME, request_id=False),
        bad("bad-chunk", ALL, "network malformed truncated_stream", Play(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nhello"), requests=SOME, request_id=False),
        bad("two-lengths", ALL, "network malformed truncated_stream", Play(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 900\r\n\r\nhello"), requests=SOME, request_id=False),
        bad("negative-length", ALL, "network malformed truncated_stream", Play(raw=b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), requests=SOME, request_id=False),
        ok("whole-with-bom", ALL, Play(whole=True, lead=b"\xef\xbb\xbf")),
        bad("half-a-head", ALL, "network truncated_stream", Play(raw=b"HTTP/1.1 200 OK\r\nContent-Ty"), requests=SOME, request_id=False),
    ]


FINAL = {
    "auth": ("auth", ALL),
    "permission": ("auth", ALL),
    "billing": ("billing", SSE),
    "payment": ("billing", SSE),
    "spend_limit": ("billing", ("openai_chat", "openai_responses", "azure", "anthropic")),
    "context": ("context_overflow", ALL),
    "blocked": ("content_filter", ("openai_chat", "azure", "anthropic")),
    "no_model": ("bad_request", ALL),
    "too_large": ("bad_request context_overflow", SSE),
    "bad": ("bad_request", ALL),
}
AGAIN = {
    "rate_limit": ("rate_limit", ALL),
    "slow_down": ("rate_limit", ("openai_chat", "openai_responses", "azure", "anthropic")),
    "overloaded": ("overloaded", ALL),
    "not_ready": ("overloaded", ("bedrock",)),
    "server": ("server", ALL),
    "model_error": ("server", ("bedrock",)),
    "gateway_timeout": ("server timeout", SSE),
    "request_timeout": ("timeout", ALL),
    "conflict": ("server", SSE),
}


def _errors() -> list[Scenario]:
    """Each provider's own failures: those that no retry helps, and those that it does."""
    rows = []
    for kind, (error, dialects) in FINAL.items():
        rows.append(bad(f"error-{kind}", dialects, error, Play(error=kind), Play()))
    for kind, (error, dialects) in AGAIN.items():
        play = Play(error=kind)
        rows.append(bad(f"error-{kind}", dialects, error, play, requests=OFTEN))
        rows.append(ok(f"{kind}-then-ok", dialects, play, Play(), requests=(2, 2)))
    for kind in ("overloaded", "server", "rate_limit"):
        error = AGAIN[kind][0]
        rows.append(bad(f"mid-{kind}", ALL, error, Play(failing=kind), requests=OFTEN))
        under = Play(error=kind, status=299)
        but = {"bedrock": {"error": (error, "server", "malformed")}, "gemini": {}}
        row = bad(f"under-200-{kind}", ALL, error, under, requests=OFTEN)
        rows.append(replace(row, but=but))
    html = Play(status=502, body=b"<html>Bad Gateway</html>", whole=True, content_type="text/html")
    stop = Play(error="server", headers=(("x-should-retry", "false"),))
    listed = Play(status=429, whole=True, body=b'[{"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}]')
    flat = Play(status=400, whole=True, body=b'{"object": "error", "message": "This model\'s maximum context length is 100 tokens.", "type": "BadRequestError", "code": 400}')
    llama = Play(
        status=400,
        whole=True,
        body=b'{"error": {"code": 400, "message": "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 6031, "n_ctx": 4096}}',
    )
    return [
        *rows,
        bad("bad-gateway", ALL, "server", html, requests=OFTEN, status=(502,)),
        ok("bad-gateway-then-ok", ALL, html, Play(), requests=(2, 2)),
        bad("no-retry-wanted", ("openai_chat", "openai_responses", "anthropic"), "server", stop),
        bad("listed-error", ("gemini",), "rate_limit", listed, requests=OFTEN),
        bad("flat-error", ("openai_chat",), "context_overflow", flat),
        bad("llama-context", ("openai_chat", "azure", "anthropic"), "context_overflow", llama),
        bad("status-418", ALL, "bad_request", Play(status=418, body=b"teapot", whole=True), status=(418,)),
        bad("blocked-prompt", ("gemini",), "content_filter", Play(whole=True, body=b'{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}')),
        bad("blocked-prompt-stream", ("gemini",), "content_filter", Play(body=b'data: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}\n\n')),
    ]


STATUSES = {
    **dict.fromkeys((400, 404, 405, 406, 410, 411, 422, 451), "bad_request"),
    **dict.fromkeys((401, 403), "auth"),
    402: "billing",
    413: "bad_request context_overflow",
    **dict.fromkeys((500, 501, 502, 520), "server"),
    504: "server timeout",
    408: "timeout",
    424: "server",
    429: "rate_limit",
    **dict.fromkeys((503, 529), "overloaded"),
}


def _statuses() -> list[Scenario]:
    """Refusals that say nothing but their status, or say it in HTML."""
    rows = []
    for status, error in STATUSES.items():
        final = status < 500 and status not in (408, 424, 429)
        times = ONCE if final else OFTEN
        html = b"<html><head><title>Sorry</title></head></html>"
        empty = Play(status=status, body=b"", whole=True, framing="length")
        page = Play(status=status, body=html, whole=True, content_type="text/html")
        for name, play in (("empty", empty), ("html", page)):
            name = f"status-{status}-{name}"
            rows.append(bad(name, ALL, error, play, requests=times, status=(status,)))
    huge = Play(status=500, fill=200, whole=True)
    return [
        *rows,
        bad("status-500-200mb", ALL, "server", huge, requests=OFTEN, sent_mb=80, status=(500,), seconds=60),
        bad("status-401-200mb", ALL, "auth", replace(huge, status=401), sent_mb=80, status=(401,), seconds=60),
    ]


def _waits() -> list[Scenario]:
    """Retry-After in all its forms. `gap` bounds the time between the first two requests."""

    def row(name: str, dialects: tuple[str, ...], gap: tuple[float, float], error: str, *headers: tuple[str, str]) -> Scenario:
        play = Play(error=error, headers=headers)
        return ok(name, dialects, play, Play(), requests=(2, 2), gap=gap)

    def give_up(name: str, *headers: tuple[str, str]) -> Scenario:
        return bad(name, ALL, "rate_limit", Play(error="rate_limit", headers=headers))

    second, soon = (0.99, 3.0), (0.0, 0.9)
    return [
        row("after-1s", ALL, second, "rate_limit", ("Retry-After", "1")),
        row("after-1s-overloaded", ALL, second, "overloaded", ("retry-after", "1")),
        row("after-1s-server", ALL, second, "server", ("retry-after", "1")),
        row("after-fraction", ALL, (1.19, 3.2), "rate_limit", ("Retry-After", "1.2")),
        row("after-date", ALL, (1.0, 5.0), "rate_limit", ("Retry-After", "{date+3}")),
        row("after-past-date", ALL, soon, "rate_limit", ("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")),
        row("after-ms", SSE, (0.69, 2.7), "rate_limit", ("retry-after-ms", "700")),
        row("after-ms-wins", SSE, (0.0, 2.0), "rate_limit", ("Retry-After", "20"), ("retry-after-ms", "50")),
        row("after-amz-ms", ("bedrock",), (0.69, 2.7), "rate_limit", ("x-amz-retry-after", "700")),
        row("after-retry-info", ("gemini",), (1.19, 3.2), "retry_info"),
        row("after-zero", ALL, soon, "rate_limit", ("Retry-After", "0")),
        row("after-negative", ALL, soon, "rate_limit", ("Retry-After", "-5")),
        row("after-words", ALL, soon, "rate_limit", ("Retry-After", "soon")),
        row("after-nan", ALL, soon, "rate_limit", ("Retry-After", "nan")),
        row("after-nothing", ALL, soon, "rate_limit", ("Retry-After", "")),
        bad("after-a-refused-key", ALL, "auth", Play(error="auth", headers=(("Retry-After", "1"),)), Play()),
        replace(give_up("after-the-end", ("Retry-After", "30")), args=("--max-time", "5")),
        give_up("after-2h", ("Retry-After", "7200")),
        give_up("after-absurd", ("Retry-After", "99999999999999999999")),
        give_up("after-next-year", ("Retry-After", "{date+31536000}")),
    ]


def _usages() -> list[Scenario]:
    """What servers say of tokens and cost; nonsense is unknown, never 0."""
    rows = []
    for kind in ("null", "nulls", "missing", "negative", "string", "absurd", "fraction"):
        for whole in (False, True):
            name = f"usage-{kind}" + ("-whole" if whole else "")
            play = Play(Answer(usage=kind), whole=whole)
            rows.append(ok(name, ALL, play, usage="unknown"))
    for kind in ("bare", "zero"):
        rows.append(ok(f"usage-{kind}", ALL, Play(Answer(usage=kind)), usage=kind))
    header = (("x-litellm-response-cost", "0.000456"),)
    stated = [
        ok("cost-stated", ("openai_chat",), Play(Answer(cost=0.000123)), cost=123),
        ok("cost-stated-whole", ("openai_chat",), Play(Answer(cost=0.000123), whole=True), cost=123),
        ok("cost-negative", ("openai_chat",), Play(Answer(cost=-1.0)), cost=None),
        ok("cost-header", ("openai_chat",), Play(headers=header), cost=456),
    ]
    priced = [
        replace(ok("cost-known", ("openai_chat", "openai_responses"), Play(), cost=450), model="gpt-4.1"),
        replace(ok("cost-known-anthropic", ("anthropic",), Play(), cost=756), model="claude-sonnet-4-5"),
        replace(ok("cost-known-gemini", ("gemini",), Play(), cost="some"), model="gemini-2.5-flash"),
        replace(ok("cost-known-bedrock", ("bedrock",), Play(), cost="some"), model="anthropic.claude-3-5-sonnet-20241022-v2:0"),
        replace(ok("cost-usage-unknown", ("openai_chat",), Play(Answer(usage="missing")), usage="unknown"), model="gpt-4.1"),
        replace(ok("cost-stated-wins", ("openai_chat",), Play(Answer(cost=0.000123)), cost=123), model="gpt-4.1"),
    ]
    return [*rows, *stated, *priced]


def _contents() -> list[Scenario]:
    """Answers of other kinds."""
    calls = Answer(pieces=(), tools=True, finish="tool_calls")
    hidden = Answer(reasoning="let me think")
    empty = Answer(pieces=())
    refused = Answer(pieces=(), refusal="I cannot help with that.", finish="refusal")
    late = Answer(pieces=("Once ", "upon"), refusal="No.", finish="refusal")
    window = Answer(pieces=(), finish="context")
    refusing = ("openai_chat", "openai_responses", "azure", "anthropic")
    filtered = Answer(finish="content_filter")
    blocked = Answer(pieces=(), finish="content_filter")
    partly = ("openai_chat", "openai_responses", "azure", "gemini", "bedrock")
    rows = []
    for whole in (False, True):
        end = "-whole" if whole else ""

        def play(answer: Answer, whole: bool = whole) -> Play:
            return Play(answer, whole=whole)

        rows += [
            ok(f"tool-calls{end}", ALL, play(calls), content="", finish=("tool_calls",)),
            ok(f"reasoning{end}", ALL, play(hidden)),
            ok(f"choices{end}", ("openai_chat", "azure", "gemini"), play(Answer(choices=2))),
            ok(f"length{end}-hit", ALL, play(Answer(finish="length")), finish=("length",)),
            ok(f"length{end}-hit-empty", ALL, play(replace(empty, finish="length")), content="", finish=("length",)),
            ok(f"filtered{end}", partly, play(filtered), finish=("content_filter",)),
            bad(f"filtered{end}-empty", partly, "content_filter", play(blocked)),
            bad(f"refusal{end}", refusing, "refusal", play(refused)),
            bad(f"empty-answer{end}", ALL, "malformed", play(empty), also=("",), requests=SOME),
            bad(f"window{end}", ("anthropic", "bedrock"), "context_overflow", play(window)),
        ]
    return [
        *rows,
        bad("refusal-late", ("openai_chat", "azure", "anthropic"), "refusal", Play(late)),
        bad("content-null", CHAT, "malformed", Play(Answer(null_content=True), whole=True), also=("",), requests=SOME),
        ok("unknown-events", ALL, Play(Answer(unknown=True))),
    ]


def _corrections() -> list[Scenario]:
    """What a model cannot do is learned from its refusal, once."""
    limit = ("--max-tokens", "77")
    mode = ("--json-mode",)
    data = Answer(pieces=('{"a":', ' "ü"}'))
    two: dict[str, Any] = {"requests": (1, 2)}
    renamed = ok("limit-renamed", CHAT, Play(), **two)
    json_row = ok("json-mode", ALL, Play(data), content=data.text, json=True)
    fallback = ok("json-fallback", ALL, Play(data), content=data.text, requests=(1, 2), json=False)
    either = {"anthropic": {"json": None}, "bedrock": {"json": None}}
    return [
        replace(renamed, args=limit, suffix="-reasoning"),
        replace(renamed, name="limit-renamed-back", args=limit, suffix="-old"),
        replace(ok("limit-sent", ALL, Play()), args=limit),
        replace(ok("temperature-sent", ALL, Play()), args=("--temperature", "0.5")),
        replace(ok("temperature-refused", NO_SAMPLING, Play(), **two), args=("--temperature", "0.5"), suffix="-reasoning"),
        replace(ok("both-refused", CHAT, Play(), requests=(1, 3)), args=(*limit, "--temperature", "0.5"), suffix="-reasoning"),
        replace(json_row, args=mode, but=either),
        replace(fallback, args=mode, suffix="-nojson", but=either),
        replace(ok("no-usage-option", ("openai_chat",), Play(), **two), suffix="-nousage"),
        replace(ok("no-stream", ("openai_chat",), Play(), **two), suffix="-nostream"),
        replace(ok("no-cache", ("bedrock",), Play(), **two), suffix="-nocache"),
    ]


def _connections() -> list[Scenario]:
    """Redirects, connections that are kept and those that are not."""
    rows = []
    for status in (301, 302, 303, 307, 308):
        for where in ("other", "root"):
            headers = (("Location", f"{{{where}}}/v1/elsewhere"),)
            play = Play(status=status, headers=headers, body=b"", whole=True, framing="length")
            name = f"redirect-{status}-{where}"
            rows.append(bad(name, ALL, "bad_request network", play, status=(status,)))
    refused, gone = Play(error="server"), Play(cut="silent")
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    return [
        *rows,
        ok("continue", ALL, Play(first=b"HTTP/1.1 100 Continue\r\n\r\n")),
        ok("early-hints", ALL, Play(first=hints * 3)),
        ok("kept", ALL, refused, Play(), requests=(2, 2), connections=(1, 1)),
        ok("closed-after", ALL, replace(refused, closes_after=True), Play(), requests=(2, 2), connections=(2, 2)),
        ok("dies-when-used-again", ALL, refused, gone, Play(), requests=(3, 3)),
        ok("resets-when-used-again", ALL, refused, replace(gone, end="reset"), Play(), requests=(3, 3)),
        Scenario("nobody", ALL, (), Expect(("network",), exit=3, requests=(0, 0), attempts=0, request_id=False), peer="nobody"),
        Scenario("nowhere", ALL, (), Expect(("network",), exit=3, requests=(0, 0), attempts=0, request_id=False), peer="nowhere"),
        Scenario("no-key", ALL, (Play(),), Expect(("auth",), exit=3, requests=(0, 0), attempts=0, request_id=False), peer="no_key"),
        Scenario("bad-key", ALL, (Play(),), Expect(("auth",), exit=3, requests=(0, 0), attempts=0, request_id=False), peer="bad_key"),
    ]


def _binary() -> list[Scenario]:
    """Event streams whose bytes are no such stream."""
    absurd = b"\x7f\xff\xff\xff\x00\x00\x00\x10" + b"\0" * 200
    tiny = b"\0\0\0\x04\0\0\0\0" + b"\0" * 40
    kind = "application/vnd.amazon.eventstream"
    return [
        bad(f"frame-{name}", ("bedrock",), "malformed", Play(body=body, content_type=kind), requests=FEW)
        for name, body in (("absurd-length", absurd), ("tiny-length", tiny))
    ]


SCENARIOS: tuple[Scenario, ...] = (
    *_writing(),
    *_cuts(),
    *_times(),
    *_sizes(),
    *_bodies(),
    *_errors(),
    *_statuses(),
    *_waits(),
    *_usages(),
    *_contents(),
    *_corrections(),
    *_connections(),
    *_binary(),
)


def all_plays() -> dict[str, tuple[Play, ...]]:
    """Every row's plays by the name of its model; rows that share a model share the first one's."""
    plays: dict[str, tuple[Play, ...]] = {}
    for row in SCENARIOS:
        if row.plays:
            plays.setdefault(row.model or row.name, row.plays)
    return plays
