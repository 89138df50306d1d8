"""Rows: answers of all kinds, reported tokens and costs, corrections, and connections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .dialect import Answer
from .play import Play
from .table import ALIKE, ALL, CHAT, KEYS, NO_SAMPLING, Expect, Scenario, bad, ok

# Values of a header that state no cost.
NO_COSTS = ("0", "-0.1", "nan", "inf", "1e400", "1e5", "free")


def _usages() -> list[Scenario]:
    """Reported tokens and costs; implausible values must count as unknown, never as 0."""
    rows = []
    for kind in (
        "null",
        "nulls",
        "missing",
        "negative",
        "string",
        "absurd",
        "fraction",
        "truth",
        "list",
        "beyond-64-bits",
        "huge",
        "zero",
    ):
        for whole in (False, True):
            name = f"usage-{kind}" + ("-whole" if whole else "")
            play = Play(Answer(usage=kind), whole=whole)
            rows.append(ok(name, ALL, play, usage="unknown"))
    rows.append(ok("usage-bare", ALL, Play(Answer(usage="bare")), usage="bare"))
    header = (("x-litellm-response-cost", "0.000456"),)
    stated = [
        ok("cost-stated", ("openai_chat",), Play(Answer(cost=0.000123)), cost=123),
        ok("cost-stated-whole", ("openai_chat",), Play(Answer(cost=0.000123), whole=True), cost=123),
        ok("cost-negative", ("openai_chat",), Play(Answer(cost=-1.0)), cost=None),
        ok("cost-zero", ("openai_chat",), Play(Answer(cost=0)), cost=None),
        ok("cost-huge", ("openai_chat",), Play(Answer(cost=1e5)), cost=None),
        ok("cost-string", ("openai_chat",), Play(Answer(cost="0.000123")), cost=None),
        ok("cost-nested", ("openai_chat",), Play(Answer(cost={"total": 0.000123})), cost=None),
        *(ok(f"cost-header-{text}", CHAT[:1], Play(headers=((header[0][0], text),)), cost=None) for text in NO_COSTS),
        ok("cost-header", ("openai_chat",), Play(headers=header), cost=456),
    ]
    priced = [
        replace(ok("cost-known", ("openai_chat", "openai_responses"), Play(), cost=450), model="gpt-4.1"),
        replace(ok("cost-zero-known", ("openai_chat",), Play(Answer(cost=0)), cost=450), model="gpt-4.1"),
        replace(ok("cost-known-anthropic", ("anthropic",), Play(), cost=756), model="claude-sonnet-4-5"),
        replace(ok("cost-known-gemini", ("gemini",), Play(), cost="some"), model="gemini-2.5-flash"),
        replace(
            ok("cost-known-bedrock", ("bedrock",), Play(), cost="some"),
            model="anthropic.claude-3-5-sonnet-20241022-v2:0",
        ),
        replace(
            ok("cost-usage-unknown", ("openai_chat",), Play(Answer(usage="missing")), usage="unknown"), model="gpt-4.1"
        ),
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
            ok(f"length{end}-hit", ALL, play(Answer(finish="length")), finish=("length",), exit=1),
            ok(
                f"length{end}-hit-empty",
                ALL,
                play(replace(empty, finish="length")),
                content="",
                finish=("length",),
                exit=1,
            ),
            ok(f"filtered{end}", partly, play(filtered), finish=("content_filter",), exit=1),
            bad(f"filtered{end}-empty", partly, "content_filter", play(blocked)),
            bad(f"refusal{end}", refusing, "refusal", play(refused)),
            bad(f"empty-answer{end}", ALL, "malformed", play(empty)),
            bad(f"window{end}", ("anthropic", "bedrock"), "context_overflow", play(window)),
        ]
    return [
        *rows,
        bad("refusal-late", ("openai_chat", "azure", "anthropic"), "refusal", Play(late)),
        bad("content-null", CHAT, "malformed", Play(Answer(null_content=True), whole=True)),
        ok("unknown-events", ALL, Play(Answer(unknown=True))),
    ]


def _corrections() -> list[Scenario]:
    """A model's missing abilities, which must be learned from its refusal, once."""
    limit = ("--max-tokens", "77")
    mode = ("--json-mode",)
    data = Answer(pieces=('{"a":', ' "ü"}'))
    two: dict[str, Any] = {"requests": (1, 2)}
    kept = {"connections": (1, 1)}
    renamed = ok("limit-renamed", CHAT, Play(), **two, **kept)
    json_row = ok("json-mode", (*ALL, *ALIKE), Play(data), content=data.text, json=True)
    fallback = ok("json-fallback", ALL, Play(data), content=data.text, requests=(1, 2), json=False)
    either = {"anthropic": {"json": None}, "bedrock": {"json": None}}
    return [
        replace(renamed, args=limit, suffix="-reasoning"),
        replace(renamed, name="limit-renamed-back", args=limit, suffix="-old"),
        replace(ok("limit-sent", (*ALL, *ALIKE, *KEYS), Play()), args=limit),
        replace(ok("temperature-sent", ALL, Play()), args=("--temperature", "0.5")),
        replace(
            ok("temperature-refused", NO_SAMPLING, Play(), **two), args=("--temperature", "0.5"), suffix="-reasoning"
        ),
        replace(
            ok("both-refused", CHAT, Play(), requests=(1, 3)),
            args=(*limit, "--temperature", "0.5"),
            suffix="-reasoning",
        ),
        replace(json_row, args=mode, but=either),
        replace(fallback, args=mode, suffix="-nojson", but=either),
        replace(ok("no-usage-option", ("openai_chat",), Play(), **two), suffix="-nousage"),
        replace(ok("no-stream", ("openai_chat",), Play(), **two), suffix="-nostream"),
        replace(ok("no-cache", ("bedrock",), Play(), **two), suffix="-nocache"),
    ]


def _connections() -> list[Scenario]:
    """Redirects, and connections that are kept open or closed."""
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
        # A failed server may be closing its connection, so the next try uses a new one.
        ok("new-for-a-retry", ALL, refused, Play(), requests=(2, 2), connections=(2, 2)),
        ok("closed-after", ALL, replace(refused, closes_after=True), Play(), requests=(2, 2), connections=(2, 2)),
        ok("fails-then-dies", ALL, refused, gone, Play(), requests=(3, 3)),
        ok("fails-then-resets", ALL, refused, replace(gone, end="reset"), Play(), requests=(3, 3)),
        Scenario(
            "nobody",
            ALL,
            (),
            Expect(("network",), exit=3, requests=(0, 0), attempts=0, request_id=False),
            peer="nobody",
        ),
        Scenario(
            "nowhere",
            ALL,
            (),
            Expect(("network",), exit=3, requests=(0, 0), attempts=0, request_id=False),
            peer="nowhere",
        ),
        Scenario(
            "no-key",
            ALL,
            (Play(),),
            Expect(("auth",), exit=3, requests=(0, 0), attempts=0, request_id=False),
            peer="no_key",
        ),
        Scenario(
            "bad-key",
            ALL,
            (Play(),),
            Expect(("auth",), exit=3, requests=(0, 0), attempts=0, request_id=False),
            peer="bad_key",
        ),
    ]


ROWS = (*_usages(), *_contents(), *_corrections(), *_connections())
