"""`ask` against the strict server: every row of tests/servers/scenarios.py, in each dialect to which it applies.

When the first test needs its outcome, threads make all calls in parallel. A failing test shows its row, the expected
and actual outcome, and the whole run.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from fewer import usually
from host import SLOWNESS, Host, Result
from peers import PEERS, Peer
from servers.bedrock import TOKEN, Bedrock
from servers.dialect import CACHED, REASONING, RECEIVED, SENT, Dialect, Request, unique
from servers.scenarios import SCENARIOS
from servers.strict import KEY, StrictServer
from servers.table import Expect, Scenario

THREADS = 20
RETRY_BASE_MS = "5"
SYSTEM, QUESTION = "Be brief, ü.", "Say it in JSON:\n“hello” 🌍"
ANSWER_KEYS = {*("content", "model", "finish", "usage", "cost_microusd", "attempts"), "request_id"}
USAGE_KEYS = {"input", "output", "cached", "reasoning"}
ERROR_KEYS = {"class", "message", "http_status", "request_id", "attempts"}
UNKNOWN = dict.fromkeys(USAGE_KEYS)


LOCAL = ("vllm", "llamacpp", "ollama")  # servers that users run themselves; on this machine they cost nothing


@dataclass
class Outcome:
    """The outcome of a case."""

    row: Scenario
    dialect: Dialect
    expect: Expect
    result: Result
    plain: bool = False  # without --json
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    violations: list[str] = field(default_factory=list)
    elsewhere: int = 0  # connections to the server that must not be contacted

    def object(self) -> dict[str, Any]:
        """The one JSON object on stdout. Errors: AssertionError."""
        try:
            made = json.loads(self.result.stdout, object_pairs_hook=unique)
        except ValueError as error:
            raise AssertionError(f"stdout is not one object: {error}") from error
        assert isinstance(made, dict), "stdout is no object"
        return made


@contextlib.contextmanager
def nobody() -> Iterator[str]:
    """The address of a port on which nothing listens. The port stays bound, so that no other case's server gets it."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"


def environment(row: Scenario, name: str, root: str, refused: str) -> dict[str, str | None]:
    """The variables of a case; the server at `root` answers, the one at `refused` refuses connections."""
    peer: Peer = PEERS[name]
    key: str | None = KEY
    if row.peer == "nobody":
        root = refused
    elif row.peer == "nowhere":
        root = "http://no-such-host.invalid:8080"
    elif row.peer == "no_key":  # a server on this machine needs no key
        key, root = None, "http://no-such-host.invalid:8080"
    elif row.peer == "bad_key":
        key = f"{KEY}\nX-Other: 1"
        peer = PEERS["bedrock_bearer"] if name == "bedrock" else peer
    return peer.environment(root, key) | {"ACR_RETRY_BASE_MS": RETRY_BASE_MS}


def play_case(host: Host, row: Scenario, name: str, plain: bool = False) -> Outcome:
    """Ask once."""
    peer = PEERS[name]
    dialect = peer.kind(KEY)
    if isinstance(dialect, Bedrock):
        dialect.signed = name == "bedrock"
    plays = {row.model or row.name: row.plays}
    whole = row.suffix == "-nostream"
    server = StrictServer(plays, [dialect], allow_whole=whole).start()
    other = StrictServer(plays, [dialect])
    if any("{other}" in value for play in row.plays for _, value in play.headers):  # without it, the address is unknown
        server.tokens["other"] = other.start().root
    try:
        command = ["ask", "--model", peer.prefix + row.model_name, "--system", SYSTEM]
        command += [*([] if plain else ["--json"]), *row.args, QUESTION]
        with nobody() as refused:
            result = host.run(*command, env=environment(row, name, server.root, refused), timeout=90)
    finally:
        server.stop()
        other.stop()
    expect = row.expected(name)
    if name in LOCAL and expect.cost is None:
        expect = replace(expect, cost=0)
    made = Outcome(row, dialect, expect, result, plain)
    made.requests, made.connections = server.requests, server.connections
    made.violations, made.elsewhere = server.violations, other.connections
    return made


# Upper bounds hold for single calls. Many run here at once, and the errors to be found take minutes.
PATIENCE = 10 * max(SLOWNESS, 1)

# ---- Faults of an outcome -------------


def problems(outcome: Outcome) -> Iterator[str]:
    """The errors in an outcome, one per line."""
    expect, result = outcome.expect, outcome.result
    yield from outcome.violations
    if outcome.elsewhere:
        yield f"{outcome.elsewhere} connections to another host"
    for secret in (KEY, KEY.replace("/", "\\/"), TOKEN):
        if secret.encode() in result.stdout + result.stderr:
            yield "a secret is shown"
    count = len(outcome.requests)
    if not expect.requests[0] <= count <= expect.requests[1]:
        yield f"{count} requests"
    if not expect.connections[0] <= outcome.connections <= expect.connections[1]:
        yield f"{outcome.connections} connections"
    if result.seconds > expect.seconds * PATIENCE:
        yield f"took {result.seconds:.1f} s"
    yield from _wrong_requests(outcome)
    yield from _wrong_plain(outcome) if outcome.plain else _wrong_json(outcome)


def _wrong_requests(outcome: Outcome) -> Iterator[str]:
    expect, requests = outcome.expect, outcome.requests
    if len(requests) > 1:
        gap = requests[1].arrived - requests[0].arrived
        low, high = expect.gap
        if not low <= gap <= high * PATIENCE:
            yield f"{gap:.3f} s between the first two requests"
    most = max((request.sent_bytes for request in requests), default=0) / 1e6
    if expect.sent_mb and most > expect.sent_mb:
        yield f"{most:.0f} MB were read"
    for request in requests if not outcome.violations else []:
        said = outcome.dialect.said(request.json)
        if not (said.system or said.texts[0]).startswith(SYSTEM) or QUESTION not in said.texts[-1]:
            yield f"request {request.number} asks {said}"
        if "--temperature" in outcome.row.args and outcome.row.suffix == "":
            if b'"temperature":0.5' not in request.body:
                yield f"request {request.number}: no temperature"
        if "--max-tokens" in outcome.row.args and expect.limit not in (None, said.limit):
            yield f"request {request.number}: the limit is {said.limit}"
    if expect.json is not None and requests and not outcome.violations:
        if outcome.dialect.said(requests[-1].json).json != expect.json:
            yield f"JSON mode of the last request is {not expect.json}"


# The model or the question is at fault, so the exit code is 1. With other failures, the environment is: 3.
OF_THE_QUESTION = {"content_filter", "refusal", "context_overflow"}


def _exit(expect: Expect, failed: bool) -> set[int]:
    if expect.exit is not None:
        return {expect.exit}
    if "malformed" in expect.error:  # an empty answer gives 1, garbage gives 3
        return {1, 3}
    return {1 if kind in OF_THE_QUESTION else 3 for kind in expect.error} if failed else {0}


def _wrong_plain(outcome: Outcome) -> Iterator[str]:
    expect, result = outcome.expect, outcome.result
    failed = bool(expect.error)
    if result.exit not in _exit(expect, failed):
        yield f"exit {result.exit}"
    if failed and (result.stdout or len(result.err.splitlines()) != 1):
        yield "not one line on stderr alone"
    wanted = expect.content.encode().rstrip(b"\n") + b"\n"
    if not failed and (result.stderr or result.stdout != wanted):
        yield "not the answer alone"


def _wrong_json(outcome: Outcome) -> Iterator[str]:
    expect, result = outcome.expect, outcome.result
    if result.stderr:
        yield "something on stderr"
    if not result.stdout.endswith(b"}\n") and not result.stdout.endswith(b"}"):
        yield "stdout does not end with the object"
    try:
        made = outcome.object()
    except AssertionError as error:
        yield str(error)
        return
    failed = "error" in made
    if failed != bool(expect.error) and not (not failed and made.get("content") in expect.also):
        yield "an answer" if not failed else "an error"
    if result.exit not in _exit(expect, failed):
        yield f"exit {result.exit}"
    yield from _wrong_error(outcome, made) if failed else _wrong_answer(outcome, made)


def _wrong_error(outcome: Outcome, made: dict[str, Any]) -> Iterator[str]:
    expect, error = outcome.expect, made["error"]
    if set(made) != {"error"} or set(error) != ERROR_KEYS:
        yield f"the members are {sorted(made)} and {sorted(error)}"
        return
    if expect.error and error["class"] not in expect.error:
        yield f"class {error['class']}"
    if not isinstance(error["message"], str) or not error["message"].strip():
        yield "no message"
    elif len(error["message"].splitlines()) != 1:
        yield "a message of several lines"
    yield from _wrong_counts(outcome, error)
    status = error["http_status"]
    if status is not None and not isinstance(status, int):
        yield f"http_status is {status!r}"
    if expect.status is not None and status not in expect.status:
        yield f"http_status {status}"
    play = outcome.row.plays[min(len(outcome.requests), len(outcome.row.plays)) - 1] if outcome.row.plays else None
    if play and play.error and play.status == 200:
        refusal = outcome.dialect.error(play.error)
        if refusal and status != refusal.status:
            yield f"http_status {status}, not {refusal.status}"


def _wrong_counts(outcome: Outcome, made: dict[str, Any]) -> Iterator[str]:
    expect, count = outcome.expect, len(outcome.requests)
    wanted = count if expect.attempts is None else expect.attempts
    # On a busy machine, an attempt may time out before the server sees the request or begins its answer.
    may_be_unseen = made.get("class") == "timeout" and "timeout" in expect.error
    if "network" in expect.error and not count:  # no connection was made
        return
    if made["attempts"] != wanted and not ((wanted == -1 or may_be_unseen) and made["attempts"] >= count):
        yield f"attempts {made['attempts']} of {count} requests"
    if not expect.request_id or (may_be_unseen and made["request_id"] is None):
        return
    if outcome.dialect.request_id:
        if made["request_id"] != f"req-{count}":
            yield f"request_id {made['request_id']!r}"
    elif made["request_id"] not in (None, "resp-gemini"):
        yield f"request_id {made['request_id']!r}"


def expected_usage(outcome: Outcome) -> dict[str, int | None]:
    """The expected usage."""
    kind, dialect = outcome.expect.usage, outcome.dialect
    split = dialect.name in ("anthropic", "bedrock")
    full = dialect.usage_expected()
    if kind == "unknown":
        return UNKNOWN
    if kind == "bare":
        received = RECEIVED - REASONING if dialect.name == "gemini" else RECEIVED
        return UNKNOWN | {"input": SENT - CACHED * split, "output": received}
    return full


def _wrong_answer(outcome: Outcome, made: dict[str, Any]) -> Iterator[str]:
    expect = outcome.expect
    if set(made) != ANSWER_KEYS or set(made["usage"]) != USAGE_KEYS:
        yield f"the members are {sorted(made)}"
        return
    if made["content"] != expect.content and made["content"] not in expect.also:
        yield f"content {str(made['content'])[:80]!r}"
    if made["finish"] not in expect.finish:
        yield f"finish {made['finish']!r}"
    if outcome.dialect.says_model and outcome.row.model_name not in str(made["model"]):
        yield f"model {made['model']!r}"
    yield from _wrong_counts(outcome, made)
    if expect.usage != "any" and not (expect.error and expect.also):
        wanted = expected_usage(outcome)
        if made["usage"] != wanted:
            yield f"usage {made['usage']}, not {wanted}"
    cost = made["cost_microusd"]
    if expect.cost == "some":
        if not isinstance(cost, int) or cost <= 0:
            yield f"cost {cost}"
    elif cost != expect.cost:
        yield f"cost {cost}, not {expect.cost}"


# ---- The tests ----


def title(case: tuple[Scenario, str]) -> str:
    """A case's name."""
    return f"{case[0].name}-{case[1]}"


def slowness(case: tuple[Scenario, str]) -> tuple[bool, int]:
    """A sort key that puts slow cases first."""
    plays = case[0].plays
    waits = bool(case[0].args) or any(play.before or play.pause for play in plays)
    return not waits, -max((play.fill for play in plays), default=0)


class Outcomes:
    """All cases, which run in the background; indexing waits for one."""

    def __init__(self, home: Path, cases: list[tuple[Scenario, str]]) -> None:
        self.host = Host(home)
        self._pool = ThreadPoolExecutor(THREADS)
        self._futures: dict[str, Future[Outcome]] = {
            title(case): self._pool.submit(play_case, self.host, *case) for case in sorted(cases, key=slowness)
        }

    def __getitem__(self, name: str) -> Outcome:
        return self._futures[name].result()

    def close(self) -> None:
        """Wait for all."""
        self._pool.shutdown(cancel_futures=True)
        self.host.close()


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcomes]:
    """The outcomes of the cases that this session tests."""
    assert binary
    chosen = [
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.name.startswith("test_fault[")
    ]
    made = Outcomes(tmp_path_factory.mktemp("home"), chosen)
    yield made
    made.close()


def tell(outcome: Outcome, wrong: list[str]) -> str:
    """A row of the table and its run, for a failure message."""
    row, expect = outcome.row, outcome.expect
    wanted = "/".join(expect.error) or "answer"
    cells = [row.name, outcome.dialect.name, f"wanted {wanted}", "; ".join(wrong)]
    times = [round(r.arrived - outcome.requests[0].arrived, 3) for r in outcome.requests]
    return f"| {' | '.join(cells)} |\nrequests at {times}\n{outcome.result.told()}"


PLAIN = ("ok", "answer-4mb", "error-auth", "cut-mid-chunked", "html", "nobody", "no-key")


def cases() -> Iterator[Any]:
    """All cases. By default most rows are tested in one dialect, the next row in the next dialect; `full` tests all."""
    for number, row in enumerate(SCENARIOS):
        names = [name for name in row.dialects if name in PEERS]
        for name in names:
            other = name != names[number % len(names)] and (row.name not in ("ok", "error-auth") or SLOWNESS > 1)
            yield pytest.param((row, name), marks=pytest.mark.full if other else (), id=title((row, name)))


@pytest.mark.parametrize("case", cases())
def test_fault(case: tuple[Scenario, str], outcomes: Outcomes) -> None:
    outcome = outcomes[title(case)]
    wrong = list(problems(outcome))
    assert not wrong, tell(outcome, wrong)


@pytest.mark.parametrize(
    "name", usually(["anthropic"], ("openai_chat", "openai_responses", "azure", "anthropic", "bedrock", "gemini"))
)
@pytest.mark.parametrize("row", [r for r in SCENARIOS if r.name in PLAIN], ids=lambda r: r.name)
def test_without_json(row: Scenario, name: str, host: Host) -> None:
    outcome = play_case(host, row, name, plain=True)
    wrong = list(problems(outcome))
    assert not wrong, tell(outcome, wrong)


def test_text_comes_from_standard_input(host: Host) -> None:
    peer = PEERS["openai_chat"]
    plays = {"ok": SCENARIOS[0].plays}
    with StrictServer(plays, [peer.kind(KEY)]) as server:
        env = peer.environment(server.root, KEY)
        result = host.run("ask", "--model", "openai/ok", env=env, input="whät\n")
        result.check()
    (request,) = server.requests
    assert peer.kind(KEY).said(request.json).texts[-1].rstrip("\n") == "whät"
    assert server.violations == []


def test_no_secret_is_left_in_files(outcomes: Outcomes) -> None:
    folder = outcomes.host.home
    files = [Path(at) / name for at, _, names in os.walk(folder) for name in names]
    secrets = (KEY.encode(), TOKEN.encode())
    found = [path for path in files for s in secrets if s in path.read_bytes()]
    assert found == []
