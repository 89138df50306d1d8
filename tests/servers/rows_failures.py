"""Rows: failures in each provider's words, bare statuses, and when a server wants to be asked again."""

from __future__ import annotations

from dataclasses import replace

from .play import Play
from .table import ALIKE, ALL, OFTEN, ONCE, SSE, Scenario, bad, ok

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
    """Each provider's failures, permanent and temporary."""
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
    return rows


def _bodies() -> list[Scenario]:
    """Failures of gateways and of compatible servers, and blocked prompts."""
    html = Play(status=502, body=b"<html>Bad Gateway</html>", whole=True, content_type="text/html")
    stop = Play(error="server", headers=(("x-should-retry", "false"),))
    listed = Play(
        status=429, whole=True, body=b'[{"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}]'
    )
    flat = Play(
        status=400,
        whole=True,
        body=b'{"object": "error", "message": "This model\'s maximum context length is 100 tokens.", "type": "BadRequestError", "code": 400}',
    )
    llama = Play(
        status=400,
        whole=True,
        body=b'{"error": {"code": 400, "message": "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 6031, "n_ctx": 4096}}',
    )
    return [
        bad("bad-gateway", ALL, "server", html, requests=OFTEN, status=(502,)),
        ok("bad-gateway-then-ok", (*ALL, *ALIKE), html, Play(), requests=(2, 2)),
        bad("no-retry-wanted", ("openai_chat", "openai_responses", "anthropic"), "server", stop),
        bad("listed-error", ("gemini",), "rate_limit", listed, requests=OFTEN),
        bad("flat-error", ("openai_chat",), "context_overflow", flat),
        bad("llama-context", ("openai_chat", "azure", "anthropic"), "context_overflow", llama),
        bad("status-418", ALL, "bad_request", Play(status=418, body=b"teapot", whole=True), status=(418,)),
        bad(
            "blocked-prompt",
            ("gemini",),
            "content_filter",
            Play(
                whole=True,
                body=b'{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}',
            ),
        ),
        bad(
            "blocked-prompt-stream",
            ("gemini",),
            "content_filter",
            Play(body=b'data: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}\n\n'),
        ),
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
    """Refusals that only have a status, or an HTML page."""
    rows = []
    for status, error in STATUSES.items():
        final = status < 500 and status not in (408, 424, 429)
        times = ONCE if final else OFTEN
        html = b"<html><head><title>Sorry</title></head></html>"
        empty = Play(status=status, body=b"", whole=True, framing="length")
        page = Play(status=status, body=html, whole=True, content_type="text/html")
        for name, play in (("empty", empty), ("html", page)):
            name = f"status-{status}-{name}"
            if status == 403 and play is page:  # a firewall in front of the server
                error = "bad_request"
            row = bad(name, (*ALL, *ALIKE), error, play, requests=times, status=(status,))
            rows.append(row)
    huge = Play(status=500, fill=200, whole=True)
    return [
        *rows,
        bad("status-500-200mb", ALL, "server", huge, requests=OFTEN, sent_mb=80, status=(500,), seconds=60),
        bad("status-401-200mb", ALL, "auth", replace(huge, status=401), sent_mb=80, status=(401,), seconds=60),
    ]


def _waits() -> list[Scenario]:
    """Retry-After in all its forms. `gap` limits the time between the first two requests."""

    def row(
        name: str, dialects: tuple[str, ...], gap: tuple[float, float], error: str, *headers: tuple[str, str]
    ) -> Scenario:
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


ROWS = (*_errors(), *_bodies(), *_statuses(), *_waits())
