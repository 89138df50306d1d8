"""Runs whose model calls the search calls as native tools give the sample's patch, as with text, in each dialect.

The strict server checks that each request is as its provider requires: results matched to calls by id, thoughts and
signatures sent back unchanged, strict schemas.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Result
from peers import PEERS
from repos import Repo
from runs import EXTRACT_1, EXTRACT_3, PATCH_2, SELECT_3, arguments, read_json, script_lines
from servers.dialect import SIGNATURE, Answer, Request
from servers.play import Play
from servers.strict import KEY, StrictServer

RunHost = Callable[..., Result]
Calls = tuple[tuple[str, dict[str, Any]], ...]

FOUR: Calls = (
    ("search_class_in_file", {"class_name": "SeasonalTariff", "file_name": "tariffs/seasonal.py"}),
    ("search_method_in_class", {"method_name": "usage_charge", "class_name": "BlockTariff"}),
    ("search_method", {"method_name": "cost_in_blocks"}),
    ("search_method_in_class", {"method_name": "split_at", "class_name": "Period"}),
)
PLACE = {"file": "tariff/seasonal.py", "class": "", "method": "SeasonalTariff.usage_charge"} | {
    "intended_behavior": "Scale."
}
REPORT: Calls = (("report_bug_locations", {"bug_locations": [PLACE]}),)
DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "azure", "ollama", "vllm", "llamacpp")


def play(calls: Calls = (), text: str = "", whole: bool = False) -> Play:
    """An answer that calls tools or has only text."""
    finish = "tool_calls" if calls else "stop"
    return Play(Answer((text,) if text else (), calls=calls, finish=finish), whole=whole)


def says(number: int) -> Play:
    """The content of that line of the sample's script."""
    return play(text=script_lines()[number]["content"])


def native(calls: Calls, whole: bool = False) -> list[Play]:
    """A complete run: calls, places, patch."""
    patch = script_lines()[PATCH_2]["content"]
    return [play(calls, "First:", whole), play(REPORT, "", whole), play((), patch, whole)]


_BY_TEXT: list[bytes] = []


def by_text(run_host: RunHost, repo: Repo, folder: Path) -> bytes:
    """The patch with the sample's script."""
    if not _BY_TEXT:
        run_host(*arguments(repo, folder / "by_text")).check()
        _BY_TEXT.append((folder / "by_text" / "patch.diff").read_bytes())
    return _BY_TEXT[0]


def run(
    run_host: RunHost, repo: Repo, out: Path, peer: str, plays: list[Play], *more: object, model: str = "m"
) -> tuple[Result, list[Request]]:
    """Run the sample's issue with a strict server; errors that it finds fail the test."""
    kind = PEERS[peer].kind(KEY)
    with StrictServer({"m": plays}, [kind]) as server:
        env = PEERS[peer].environment(server.root, KEY)
        command = arguments(repo, out, "--tools=native", *more, model=PEERS[peer].prefix + model)
        result = run_host(*command, env=env).check()
        assert server.violations == []
        assert (out / "patch.diff").read_bytes() == by_text(run_host, repo, out.parent)
        return result, server.requests


def layers(out: Path) -> list[list[str]]:
    """The names of the calls, by round."""
    made = read_json(out / "attempt_0/search/tool_call_layers.json")
    return [[call["func_name"] for call in layer] for layer in made]


def cases() -> list[Any]:
    """Each dialect with one call and with four, streamed and not; one of each by default, of a few both."""
    made = []
    for peer in DIALECTS:
        for n, (calls, whole) in enumerate(((FOUR, False), (FOUR[:1], True), (FOUR, True), (FOUR[:1], False))):
            name = f"{peer}-{len(calls)}-{'whole' if whole else 'streamed'}"
            is_full = n > 1 or (n and peer in DIALECTS[2:])
            made.append(pytest.param(peer, calls, whole, id=name, marks=pytest.mark.full if is_full else ()))
    return made


@pytest.mark.parametrize(("peer", "calls", "whole"), cases())
def test_the_same_patch_as_by_text(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, peer: str, calls: Calls, whole: bool
) -> None:
    _, requests = run(run_host, sample_repo, tmp_path / "out", peer, native(calls, whole))
    assert len(requests) == 3
    assert layers(tmp_path / "out") == [[name for name, _ in calls]]
    assert "SeasonalTariff" in requests[1].body.decode() and "season_starts" in requests[1].body.decode()


@pytest.mark.parametrize("peer", ["openai_chat", "openai_responses", "anthropic", "gemini", "bedrock"])
def test_tools_that_are_refused_in_the_middle(run_host: RunHost, sample_repo: Repo, tmp_path: Path, peer: str) -> None:
    plays = [play(FOUR, "First:"), play(text="I have read it."), *map(says, (SELECT_3, EXTRACT_3, PATCH_2))]
    _, requests = run(run_host, sample_repo, tmp_path / "out", peer, plays, model="m-nomoretools")
    assert len(requests) == len(plays) + 1  # the rejected answer
    last = requests[2].json
    assert "tools" not in last and "toolConfig" not in last
    assert "season_starts" in json.dumps(last) and 'search_method(method_name=\\"cost_in_blocks\\")' in json.dumps(last)


def test_tools_that_are_refused_at_once(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    plays = [says(n) for n in range(len(script_lines()))]
    _, requests = run(run_host, sample_repo, tmp_path / "out", "openai_chat", plays, model="m-notools")
    assert ["tools" in request.json for request in requests] == [True] + [False] * len(plays)


def test_what_is_wrong_with_a_call_is_its_result(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    bad: Calls = (
        ("search_nothing", {"x": 1}),
        ("search_class", {"klass": "SeasonalTariff"}),
        ("report_bug_locations", {"bug_locations": [{"file": "", "class": "", "method": "", "intended_behavior": ""}]}),
        ("report_bug_locations", {"bug_locations": [PLACE]}),
        FOUR[0],
    )
    plays = [play(bad[:3]), play(bad), *native(FOUR[:1])[1:]]
    done, requests = run(run_host, sample_repo, tmp_path / "out", "anthropic", plays, "-v")
    assert done.err.count('the answer to a tool call: There is no tool "search_nothing".\n') == 2
    first, second = (request.json["messages"][-1]["content"] for request in requests[1:3])
    assert [block["content"] for block in first] == [
        'There is no tool "search_nothing".',
        first[1]["content"],
        "No place could be read: each needs a file, a class or a method.",
    ]
    assert "class_name" in first[1]["content"]
    assert "that makes no search calls" in second[3]["content"] and "season_starts" in second[4]["content"]


@pytest.mark.parametrize("peer", ["openai_chat", "openai_responses", "anthropic", "gemini", "bedrock"])
def test_too_many_calls_are_refused_and_told(run_host: RunHost, sample_repo: Repo, tmp_path: Path, peer: str) -> None:
    """None is made or sent back, nor is a call with a too long argument. The run continues as with text."""
    for n, calls in enumerate((FOUR[:1] * 129, (("search_class", {"class_name": "x" * 300_000}),))):
        plays = [play(calls, "All:"), says(EXTRACT_1), *native(FOUR)]
        _, requests = run(run_host, sample_repo, tmp_path / str(n), peer, plays)
        sent = requests[2].body
        assert b"(No tool was called: this answer called more than 128" in sent and len(sent) < 100_000
        assert layers(tmp_path / str(n))[1:] == [[name for name, _ in FOUR]]


def test_calls_of_one_id_get_one_each(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    calls = [{"id": "same", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for n, a in FOUR]
    message = {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_content": SIGNATURE}
    whole = {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "tool_calls"}]}
    plays = [Play(body=json.dumps(whole).encode(), content_type="application/json"), *native(FOUR)[1:]]
    _, requests = run(run_host, sample_repo, tmp_path / "out", "openai_chat", plays)
    assert len({call["id"] for call in requests[1].json["messages"][-5]["tool_calls"]}) == len(FOUR)
    assert layers(tmp_path / "out") == [[name for name, _ in FOUR]]


def test_places_that_do_not_exist_are_asked_for_again(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    nowhere: Calls = (("report_bug_locations", {"bug_locations": [PLACE | {"file": "no.py", "method": "nothing"}]}),)
    plays = [play(FOUR[:1]), play(nowhere), *native(FOUR)[1:]]
    _, requests = run(run_host, sample_repo, tmp_path / "out", "gemini", plays)
    told = requests[2].json["contents"][-1]["parts"][0]["functionResponse"]["response"]["output"]
    assert "None of the places" in told


@pytest.mark.parametrize("peer", ["openai_chat", "anthropic"])
def test_results_that_are_cut_become_text(run_host: RunHost, sample_repo: Repo, tmp_path: Path, peer: str) -> None:
    """The context overflows; the remaining calls and results must match, which the server checks."""
    plays = [play(FOUR, "First:"), Play(error="context"), play(FOUR[:1]), *native(FOUR)[1:]]
    _, requests = run(run_host, sample_repo, tmp_path / "out", peer, plays)
    cut, last = requests[2].body.decode(), requests[3].json["messages"]
    assert "The results are shortened" in cut and "tools" in requests[2].json
    assert "tool_calls" not in cut and "tool_use" not in cut and "search_method(method_name=" in cut
    assert "tool" in json.dumps(last[-1]), "the next calls are answered as such"
    run_host("replay", tmp_path / "out").check()


def test_a_run_is_resumed_and_replayed(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    out, peer = tmp_path / "out", PEERS["anthropic"]
    plays = {"m": [*native(FOUR)[:1], Play(error="no_model")]}
    with StrictServer(plays, [peer.kind(KEY)]) as server:
        command = arguments(sample_repo, out, "--tools=native", model="anthropic/m")
        run_host(*command, env=peer.environment(server.root, KEY)).check(3)
        assert ["tools" in request.json for request in server.requests] == [True, True, False]
    _, requests = run(run_host, sample_repo, out, "anthropic", native(FOUR)[1:])
    assert len(requests) == 2  # the server checks the first answer's calls and signature in it
    before = (out / "journal.jsonl").read_bytes()
    run_host("replay", out).check()
    assert (out / "journal.jsonl").read_bytes() == before
    other = arguments(sample_repo, out, "--tools=text", model="anthropic/m")
    run_host(*other, env={"ANTHROPIC_API_KEY": KEY}).one_line(2, "--tools native")


def test_tools_are_not_given_to_servers_that_imitate(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    plays = [says(n) for n in range(len(script_lines()))]
    with StrictServer({"m": plays}, [PEERS["openai_chat"].kind(KEY)]) as server:
        env = PEERS["openai_chat"].environment(server.root, KEY)
        run_host(*arguments(sample_repo, tmp_path / "out", model="openai/m"), env=env).check()
        assert server.violations == [] and not any("tools" in request.json for request in server.requests)
