"""A `Play` describes a response as data; the functions turn it into bytes and pauses on a socket."""

from __future__ import annotations

import email.utils
import functools
import gzip
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .bedrock import event_frame
from .dialect import Answer, Dialect, Event, Refusal, Request

# Endless content stops after this many seconds.
FOREVER_SECONDS = 60
BLOCK = 1 << 20
MARK = "(CONTENT)"


class Reset:
    """Reset the connection."""


class Hang:
    """Do nothing until the client disconnects."""


Action = bytes | float | Reset | Hang


@dataclass(frozen=True)
class Shape:
    """The style in which server-sent events are written."""

    newline: bytes = b"\n"
    space: bytes = b" "
    bom: bool = False
    comments: bool = False  # and pings, if the dialect has any
    multiline: bool = False  # JSON over several data lines
    last_blank: bool = True
    retry: bool = False  # id and retry fields


@dataclass(frozen=True)
class Play:
    """One response. Defaults are those of a well-behaved provider.

    `cut`: the last part that is sent: silent, head, mid (half of a content event), content, finish.
    `end`: what happens then: keep, close, reset, open (nothing; the connection stays open).
    `endless`: ping, comment, content or silence after the first content event.
    """

    answer: Answer = field(default_factory=Answer)
    error: str = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    content_type: str = ""
    whole: bool = False  # not streamed, although requested
    framing: str = "chunked"  # chunked, length, close
    shape: Shape = Shape()
    piece: int = 0  # bytes per chunk; 0: one event
    pause: float = 0.0  # seconds between chunks
    before: float = 0.0  # seconds before the head
    silence: float = 0.0  # seconds between head and body
    first: bytes = b""  # interim responses before the head
    cut: str = ""
    end: str = ""
    endless: str = ""
    failing: str = ""  # an error event after the first content event
    bad_utf8: bool = False
    open_end: bool = False  # the stream stays open after its last event
    goes_on: bool = False  # endless pings follow the last event
    trailer: bytes = b""  # header lines after the last chunk
    no_terminal: bool = False
    longer: int = 0  # the stated length minus the real length
    fill: int = 0  # MiB of filler in the body
    zipped: bool = False
    version: str = "HTTP/1.1"
    lead: bytes = b""  # before the body
    garbage: bytes = b""  # bytes after it
    closes_after: bool = False  # the connection is closed after a complete response, without announcement
    raw: bytes | None = None  # send only these bytes


def bare_events(play: Play, dialect: Dialect, model: str) -> list[Event]:
    """The events of the answer, up to the cut."""
    events = dialect.events(play.answer, model)
    if play.failing:
        failing = dialect.failing_event(play.failing)
        assert failing, f"{dialect.name} has no {play.failing} within a stream"
        events.insert(_after_content(events), failing)
        return events[: _after_content(events) + 1]
    if play.no_terminal:
        events = [e for e in events if e.kind != "terminal"]
    if play.cut == "finish":
        last = max(n for n, e in enumerate(events) if e.kind == "finish")
        return events[: last + 1]
    if play.cut in ("mid", "content") or play.endless:
        return events[: _after_content(events)]
    return events


def _after_content(events: list[Event]) -> int:
    return next(n for n, e in enumerate(events) if e.kind == "content") + 1


def write_event(event: Event, shape: Shape) -> bytes:
    """The bytes of an event, in the style `shape`."""
    lines = []
    if shape.retry:
        lines += [b"id:" + shape.space + b"7", b"retry:" + shape.space + b"3000"]
    if event.name:
        lines.append(b"event:" + shape.space + event.name.encode())
    data = event.data
    if shape.multiline and data[:1] == "{":
        data = json.dumps(json.loads(data), indent=1, ensure_ascii=False)
    lines += [b"data:" + shape.space + line.encode() for line in data.split("\n")]
    return shape.newline.join(lines) + shape.newline * 2


def written(play: Play, dialect: Dialect, model: str) -> list[bytes]:
    """The stream's events as bytes."""
    events = bare_events(play, dialect, model)
    if dialect.framing == "eventstream":
        parts = [event_frame(event) for event in events]
    else:
        parts = _sse(events, play.shape, dialect)
    if play.cut == "mid":
        parts[-1] = parts[-1][: len(parts[-1]) // 2]
    if play.bad_utf8:
        parts = [part.replace("ü".encode(), b"\xfc") for part in parts]
    return parts


def _sse(events: list[Event], shape: Shape, dialect: Dialect) -> list[bytes]:
    parts = []
    ping = dialect.ping()
    for event in events:
        if shape.comments:
            parts.append(b": still here" + shape.newline * 2 + b":" + shape.newline)
            if ping:
                parts.append(write_event(ping, shape))
        parts.append(write_event(event, shape))
    if shape.bom:
        parts[0] = b"\xef\xbb\xbf" + parts[0]
    if not shape.last_blank:
        parts[-1] = parts[-1].rstrip(b"\r\n")
    return parts


def _endless(play: Play, dialect: Dialect, model: str) -> Iterator[bytes]:
    """Endless pieces."""
    if play.endless == "content":
        events = dialect.events(play.answer, model)
        event = next(e for e in events if e.kind == "content")
    else:
        event = dialect.ping() or Event("other", "")
    if dialect.framing == "eventstream":
        if play.endless != "content":
            event = Event("other", "{}", "somethingNew")
        data = event_frame(event)
    elif play.endless == "comment" or not event.data:
        data = b": ping\n\n"
    else:
        data = write_event(event, play.shape)
    end = time.monotonic() + FOREVER_SECONDS
    while time.monotonic() < end:
        yield data


def _filler(play: Play, dialect: Dialect, model: str) -> Iterator[bytes]:
    """Many MiB of a stream's content, or of one JSON text."""
    if play.whole:
        yield b'{"filler": "'
        for _ in range(play.fill):
            yield b"x" * BLOCK
        yield b'"}'
        return
    events = dialect.events(Answer(pieces=(MARK,)), model)
    for event in events[: _after_content(events) - 1]:
        yield (event_frame(event) if dialect.framing == "eventstream" else write_event(event, play.shape))
    content = events[_after_content(events) - 1]
    text = Event("content", content.data.replace(MARK, "x" * BLOCK), content.name)
    data = event_frame(text) if dialect.framing == "eventstream" else write_event(text, play.shape)
    for _ in range(play.fill):
        yield data


@functools.cache
def _zipped_filler(fill: int) -> bytes:
    """A compressed JSON text of many MiB."""
    return gzip.compress(b'{"a": "' + b"x" * (fill * BLOCK) + b'"}', 1)


class Response:
    """The actions of a play for one request."""

    def __init__(self, play: Play, dialect: Dialect, request: Request, tokens: Mapping[str, str] | None = None) -> None:
        self.play, self.dialect, self.request = play, dialect, request
        self.tokens = tokens or {}
        self.streamed = dialect.streams(request) and not play.whole
        self.status = play.status
        self.extra = list(play.headers)
        self.body_parts = self._parts()

    def _parts(self) -> list[bytes] | None:
        """The parts of the body; None if they are endless or too many to keep."""
        play, model = self.play, self.request.model
        if play.error:
            refusal = self.dialect.error(play.error)
            assert refusal, f"{self.dialect.name} has no error {play.error}"
            return self._refusal(refusal)
        if play.endless or play.fill:
            return None
        if play.body is not None:
            return [play.body]
        if self.streamed:
            return [play.lead, *written(play, self.dialect, model), play.garbage]
        whole = json.dumps(self.dialect.whole(play.answer, model), ensure_ascii=False)
        data = whole.encode()
        if play.bad_utf8:
            data = data.replace("ü".encode(), b"\xfc")
        return [play.lead, data, play.garbage]

    def _refusal(self, refusal: Refusal) -> list[bytes]:
        self.streamed = False
        if self.play.status == 200:
            self.status = refusal.status
        elif self.play.status == 299:  # the failure has a success status
            self.status = 200
        self.extra += refusal.headers
        return [refusal.data()]

    def _content_type(self) -> str:
        if self.play.content_type:
            return self.play.content_type
        if not self.streamed:
            return "application/json"
        if self.dialect.framing == "eventstream":
            return "application/vnd.amazon.eventstream"
        return "text/event-stream; charset=utf-8"

    def head(self, length: int | None) -> bytes:
        """The status line and the headers."""
        play = self.play
        lines = [f"{play.version} {self.status} Some Reason"]
        lines.append(f"Content-Type: {self._content_type()}")
        if self.dialect.request_id:
            lines.append(f"{self.dialect.request_id}: req-{self.request.number}")
        if play.framing == "chunked" and play.version == "HTTP/1.1":
            lines.append("Transfer-Encoding: chunked")
        elif play.framing == "length" and length is not None:
            lines.append(f"Content-Length: {length + play.longer}")
        if play.zipped:
            lines.append("Content-Encoding: gzip")
        lines += [f"{name}: {self._filled(value)}" for name, value in self.extra]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    def _filled(self, value: str) -> str:
        """A header's value; "{date+N}" becomes the date in N seconds, other names become the server's tokens."""
        if value.startswith("{date+"):
            seconds = int(value[6:-1])
            return email.utils.formatdate(time.time() + seconds, usegmt=True)
        for name, text in self.tokens.items():
            value = value.replace(f"{{{name}}}", text)
        return value

    def _chunk(self, data: bytes) -> bytes:
        if self.play.framing != "chunked" or self.play.version != "HTTP/1.1":
            return data
        return b"%x\r\n%s\r\n" % (len(data), data)

    def _body(self) -> Iterator[bytes]:
        play, model = self.play, self.request.model
        if play.zipped and play.fill:
            yield _zipped_filler(play.fill)
        elif play.zipped:
            yield gzip.compress(b"".join(self.body_parts or []))
        elif play.goes_on:
            yield from self._pieces(self.body_parts or [])
            yield from _endless(play, self.dialect, model)
        elif self.body_parts is not None:
            yield from self._pieces(self.body_parts)
        elif play.fill:
            yield from _filler(play, self.dialect, model)
        else:
            yield from written(play, self.dialect, model)
            yield from _endless(play, self.dialect, model)

    def _pieces(self, parts: list[bytes]) -> Iterator[bytes]:
        size = self.play.piece
        if self.play.longer < 0:  # send the excess together with the rest, even on a busy machine
            parts = [b"".join(parts)]
        if not size:
            yield from filter(None, parts)
            return
        data = b"".join(parts)
        yield from (data[n : n + size] for n in range(0, len(data), size))

    def actions(self) -> Iterator[Action]:
        """All actions in order; the action that ends the connection comes last."""
        play = self.play
        if play.before:
            yield play.before
        if play.raw is not None:
            yield play.raw
            yield from self._end(play.end or "close")
            return
        if play.cut == "silent":
            yield from self._end(play.end or "close")
            return
        yield play.first + self.head(self._length())
        if play.silence:
            yield play.silence
        if play.cut == "head":
            yield from self._end(play.end or "close")
            return
        for piece in self._body():
            yield self._chunk(piece)
            if play.pause:
                yield play.pause
        if play.endless == "silence" or play.open_end:
            yield Hang()
            return
        yield from self._close()

    def _length(self) -> int | None:
        if self.play.goes_on:
            return None
        if self.body_parts is not None:
            return sum(map(len, self.body_parts))
        return self.play.fill * BLOCK if self.play.fill else None

    def _close(self) -> Iterator[Action]:
        play = self.play
        if play.cut or play.end in ("reset", "open"):
            yield from self._end(play.end or "close")
        elif play.framing == "chunked" and play.version == "HTTP/1.1":
            yield b"0\r\n" + play.trailer + b"\r\n"
        elif play.framing == "close" or play.longer or play.version != "HTTP/1.1":
            yield from self._end("close")
        if play.closes_after or play.end == "close":
            yield from self._end("close")

    def _end(self, how: str) -> Iterator[Action]:
        if how == "reset":
            yield Reset()
        elif how == "open":
            yield Hang()
        else:
            yield b""  # the caller distinguishes this: an empty write closes
