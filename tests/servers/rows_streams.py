"""Rows: how a complete answer may be written, and where and how its stream or body may break."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .dialect import TEXT, Answer
from .play import Play, Shape
from .table import ALIKE, ALL, CHAT, FEW, KEYS, SOME, SSE, TERMINAL, Scenario, bad, ok

NOT_CHAT = tuple(name for name in TERMINAL if name not in CHAT)


def _writing() -> list[Scenario]:
    """The same answer, written in every way that the format allows."""
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
    rows = [ok(name, (*SSE, *ALIKE), Play(shape=shape)) for name, shape in shapes.items()]
    rows += [
        ok(f"{name}-bytes", SSE, Play(shape=shapes[name], piece=1))
        for name in ("crlf", "cr", "multiline", "all-at-once")
    ]
    escaped = Answer(pieces=("a \ud83c", "\udf0d b"), escaped=True)
    return [
        ok("ok", (*ALL, *KEYS, *ALIKE), Play()),
        ok("bytes", (*ALL, *KEYS, *ALIKE), Play(piece=1)),
        ok("threes", ALL, Play(piece=3)),
        ok("slow-threes", ALL, Play(piece=97, pause=0.01)),
        ok("length", ALL, Play(framing="length")),
        ok("to-the-close", ALL, Play(framing="close")),
        ok("http-1.0", ALL, Play(version="HTTP/1.0", framing="close")),
        ok("escapes", ALL, Play(Answer(escaped=True))),
        ok("surrogates", SSE, Play(escaped), content="a 🌍 b"),
        ok("nul", ALL, Play(Answer(pieces=("a\0", "b"), escaped=True)), content="a\ufffdb", also=("ab",)),
        ok("type-json", SSE, Play(content_type="application/json")),
        ok("type-text", SSE, Play(content_type="text/plain")),
        ok("type-upper-case", SSE, Play(content_type="Text/Event-Stream;Charset=UTF-8")),
        ok("trailer", ALL, Play(trailer=b"X-Late: 1\r\nRetry-After: 9\r\n")),
        ok("zipped", ALL, Play(zipped=True)),  # not requested
        ok("zipped-whole", ALL, Play(zipped=True, whole=True)),
        bad(
            "bad-utf8",
            ALL,
            "malformed",
            Play(bad_utf8=True),
            also=(TEXT.replace("ü", "\ufffd"),),
            requests=SOME,
            usage="any",
        ),
        bad(
            "bad-utf8-whole",
            ALL,
            "malformed",
            Play(bad_utf8=True, whole=True),
            also=(TEXT.replace("ü", "\ufffd"),),
            requests=SOME,
            usage="any",
        ),
        *rows,
    ]


def _cuts() -> list[Scenario]:
    """Streams that end too early; only the terminal event shows that an answer is complete."""
    rows = []
    for cut, dialects in (("head", ALL), ("mid", ALL), ("content", ALL), ("finish", TERMINAL)):
        for framing in ("chunked", "close", "length"):
            longer = 5000 if framing == "length" else 0
            play = Play(cut=cut, framing=framing, longer=longer)
            name, whole = f"cut-{cut}-{framing}", cut == "finish" and framing == "close"
            those = tuple(d for d in dialects if d not in CHAT) if whole else dialects
            rows.append(bad(name, those, "truncated_stream", play, requests=FEW))
    reset = Play(cut="content", end="reset")
    return [
        *rows,
        bad("cut-silent", ALL, "network", Play(cut="silent"), requests=FEW, request_id=False),
        bad("reset-silent", ALL, "network", Play(cut="silent", end="reset"), requests=FEW, request_id=False),
        bad("reset-content", ALL, "truncated_stream network", reset, requests=FEW),
        ok("cut-then-ok", ALL, Play(cut="content"), Play(), requests=(2, 2)),
        ok("silent-then-ok", ALL, Play(cut="silent"), Play(), requests=(2, 2)),
        bad("no-terminal", NOT_CHAT, "truncated_stream", Play(no_terminal=True), requests=FEW),
        ok("no-terminal-in-order", (*CHAT, *ALIKE), Play(no_terminal=True)),
        ok("no-terminal-close", CHAT, Play(no_terminal=True, framing="close")),
        ok("finish-then-close-chat", CHAT, Play(cut="finish", framing="close"), usage="unknown"),
        ok("finish-then-close", ("gemini",), Play(framing="close")),
        ok("stays-open", ALL, Play(open_end=True), seconds=8),
        ok("stays-open-to-the-close", ALL, Play(open_end=True, framing="close"), seconds=8),
        ok("goes-on", ALL, Play(goes_on=True, pause=0.01), seconds=8),
        ok("goes-on-at-once", ALL, Play(goes_on=True, framing="close"), seconds=8),
    ]


def _lengths() -> list[Scenario]:
    """Content-Length that differs from the body's length."""
    return [
        # The answer is complete.
        bad("too-long-but-whole", ALL, "truncated_stream", Play(framing="length", longer=500), requests=FEW),
        bad("whole-too-long", ALL, "truncated_stream", Play(framing="length", whole=True, longer=500), requests=FEW),
        bad(
            "whole-and-more",
            ALL,
            "truncated_stream",
            Play(framing="length", whole=True, garbage=b"\n\n", longer=-2),
            requests=FEW,
        ),
        bad(
            "stream-and-more",
            ALL,
            "truncated_stream",
            Play(framing="length", garbage=b"data: {}\n\n", longer=-10),
            requests=FEW,
        ),
        bad(
            "whole-too-short",
            ALL,
            "malformed truncated_stream",
            Play(framing="length", whole=True, longer=-40),
            requests=FEW,
            attempts=-1,
            request_id=False,
        ),
        bad(
            "too-short",
            ALL,
            "truncated_stream malformed",
            Play(framing="length", longer=-400),
            requests=FEW,
            attempts=-1,
            request_id=False,
        ),
    ]


def _times() -> list[Scenario]:
    """Servers that make the client wait; --timeout limits each attempt."""
    slow: dict[str, Any] = {"requests": (1, 4), "seconds": 20}
    rows = [
        bad(f"endless-{what}", ALL, "timeout", Play(endless=what, pause=0.02), **slow)
        for what in ("ping", "comment", "content", "silence")
    ]
    rows += [
        bad("slow-first-byte", ALL, "timeout", Play(before=30.0), request_id=False, **slow),
        bad("slow-body", ALL, "timeout", Play(silence=30.0), **slow),
    ]
    rows = [replace(row, args=("--timeout", "2")) for row in rows]
    later = Play(before=0.5, silence=0.3)
    return [*rows, replace(ok("later", ALL, later), args=("--timeout", "10"))]


def _sizes() -> list[Scenario]:
    """Large lines, answers, bodies and headers, and too large ones."""
    mega = "x" * (1 << 20)
    four = Answer(pieces=("é" * (1 << 19),) * 4)
    most = 76.0
    big: dict[str, Any] = {"requests": (1, 3), "sent_mb": most, "usage": "any", "seconds": 60}
    many = tuple((f"X-Filler-{n}", "y" * 40) for n in range(600))
    huge = (("X-Filler", "y" * (2 << 20)),)
    twice = (("X-Twice", "a"), ("X-Twice", "b"), ("Date", "x"), ("Date", "y"))
    return [
        ok("line-1mb", ALL, Play(Answer(pieces=(mega,))), content=mega, usage="unknown"),
        # The server counts only a few tokens for this text, which is impossible.
        ok("answer-4mb", ALL, Play(four), content=four.text, usage="unknown"),
        ok("answer-4mb-whole", ALL, Play(four, whole=True), content=four.text, usage="unknown"),
        ok("many-events", ALL, Play(Answer(pieces=("ab ",) * 5000)), content="ab " * 5000, usage="unknown"),
        bad("body-70mb", ALL, "malformed", Play(fill=70, whole=True), **big),
        bad("body-200mb", ALL, "malformed", Play(fill=200, whole=True, framing="length"), **big),
        bad("stream-200mb", ALL, "malformed", Play(fill=200), **big),
        bad(
            "gzip-bomb",
            ("openai_chat", "anthropic", "bedrock"),
            "malformed",
            Play(fill=200, zipped=True, whole=True),
            requests=(1, 3),
            seconds=60,
        ),
        bad("header-2mb", ALL, "malformed network", Play(headers=huge), requests=SOME, request_id=False),
        bad("headers-600", ALL, "malformed network", Play(headers=many), requests=SOME, request_id=False),
        ok("headers-twice", ALL, Play(headers=twice)),
    ]


def _bodies() -> list[Scenario]:
    """Bodies that are not streams, and bodies that are not answers."""
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
        bad(
            "status-204",
            ALL,
            unclear,
            Play(status=204, body=b"", framing="close"),
            requests=(1, 9),
            attempts=-1,
            request_id=False,
        ),
        ok("whole", (*ALL, *KEYS, *ALIKE), Play(whole=True)),
        ok("whole-length", ALL, Play(whole=True, framing="length")),
        ok("whole-bytes", ALL, Play(whole=True, piece=1)),
        ok("blank-lines-before", SSE, Play(lead=b"\n" * 40)),
        ok("whole-blank-lines-before", ALL, Play(whole=True, lead=b"\n" * 40)),
        ok("whole-with-bom", ALL, Play(whole=True, lead=b"\xef\xbb\xbf")),
    ]


def _raw() -> list[Scenario]:
    """Bytes that are not an HTTP response."""
    head = b"HTTP/1.1 200 OK\r\n"
    raws = {
        "not-http": b"SSH-2.0-OpenSSH_9.2\r\n",
        "half-a-head": head + b"Content-Ty",
        "bad-chunk": head + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nhello",
        "two-lengths": head + b"Content-Length: 5\r\nContent-Length: 900\r\n\r\nhello",
        "negative-length": head + b"Content-Length: -5\r\n\r\nhello",
    }
    classes = "network malformed truncated_stream"
    return [bad(name, ALL, classes, Play(raw=raw), requests=SOME, request_id=False) for name, raw in raws.items()]


def _binary() -> list[Scenario]:
    """Event streams with malformed bytes."""
    absurd = b"\x7f\xff\xff\xff\x00\x00\x00\x10" + b"\0" * 200
    tiny = b"\0\0\0\x04\0\0\0\0" + b"\0" * 40
    kind = "application/vnd.amazon.eventstream"
    return [
        bad(f"frame-{name}", ("bedrock",), "malformed", Play(body=body, content_type=kind), requests=FEW)
        for name, body in (("absurd-length", absurd), ("tiny-length", tiny))
    ]


ROWS = (*_writing(), *_cuts(), *_lengths(), *_times(), *_sizes(), *_bodies(), *_raw(), *_binary())
