"""--samples: several patches in one run, each tested with every script, and the choice among them; resumed, replayed, killed."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from host import SLOWNESS, Host, kill
from hostile import TINY, journal_of, outcome
from lying import USAGES, LyingServer
from repos import make_repo
from runs import read_json
from test_ceiling import MODEL, PRICE, env_of, usd
from test_selection import table, vote
from verifying import (
    HALF_RIGHT,
    ISSUE,
    NO_YES,
    OTHER,
    RIGHT,
    SCRIPT,
    YES_NO,
    YES_YES,
    Case,
    Line,
    added,
    case,
    check_repeated,
    guard,
    line,
    need_bubblewrap,
    patch,
    review,
    search,
    test_line,
)

__all__ = ["case"]
SHIFT = "    return n >> 1\n"
SCRIPT_8 = SCRIPT.replace("half(4) == 2", "half(8) == 4")


def attempt(script: str, *patches: Line) -> list[Line]:
    """An attempt with a reproducer, and the answers to its only retrieval."""
    return [guard(), test_line(script), *search(), *patches]


#: One is verified only by its own script, the others by both scripts.
THREE: list[Line] = [
    *attempt(SCRIPT, patch(HALF_RIGHT), review(NO_YES), patch(OTHER), review(NO_YES), patch(RIGHT), review(YES_YES)),
    *attempt(SCRIPT_8, patch(SHIFT), review(YES_YES)),
]


def test_two_independent_patches_that_behave_alike_end_it(case: Case) -> None:
    """The patches differ in words; each is verified by its own script and passes the other's."""
    need_bubblewrap()
    lines = [*attempt(SCRIPT, patch(), review(YES_YES)), *attempt(SCRIPT_8, patch(SHIFT), review(YES_YES))]
    result = case.run(lines, "--samples", 4, "-v").check()
    assert added(result) == [RIGHT] and "sample 2 of 4 has ended: two independent patches" in result.err
    assert table(case, "proof", "same_behaviour", "same_change") == [("verified", 2, 1), ("verified", 2, 1)]
    names = ["attempt_0/reproducer_1.py", "attempt_1/reproducer_1.py"]
    assert table(case, "reproducers") == [[{"script": name, "result": "passed"} for name in names]] * 2
    assert (
        case.selected()["choice"] == "chosen from 2 candidates: the chosen patch is the first of several equal patches"
    )
    check_repeated(case, len(journal_of(case.out)) // 2)


@pytest.mark.full
def test_one_that_its_own_script_alone_proves_is_not_enough(case: Case) -> None:
    """The patch hard-codes the script's input, which the scripts of later attempts show."""
    need_bubblewrap()
    wired = "    return {4: 2}.get(n, n // 3)\n"
    lines = [*attempt(SCRIPT, patch(wired), review(YES_YES)), *attempt(SCRIPT_8, patch(), review(YES_YES))]
    result = case.run(lines, "--samples", 2).check()
    assert added(result) == [RIGHT]
    why = "the chosen patch passes 2 of 2 reproducers, the next best patch passes 1"
    assert case.selected()["choice"].endswith(why)
    page = case.host.run("report", case.out, "-o", "-").check().out
    assert why in page and "1 of 2" in page and "2 of 2" in page


def test_answers_to_one_retrieval_share_their_question(case: Case) -> None:
    """Only the patch writer is called again; the second conversation begins with the same messages."""
    need_bubblewrap()
    lines = [*attempt(SCRIPT, patch(OTHER), review(NO_YES), patch(before="nowhere")), patch(SHIFT), review(YES_YES)]
    result = case.run(lines, "--samples", 2, "--tries", 1).check()
    assert added(result) == [SHIFT]
    first, *_, second = case.asked("patch")
    assert (first["conversation"], second["conversation"]) == ("attempt_0/patch", "attempt_0/patch_2")
    assert first["messages"] == second["messages"] and len(case.asked("search")) == 1


def test_without_proof_the_change_that_most_are_is_chosen(case: Case) -> None:
    """Each retrieval gets two answers, without feedback between them."""
    lines = [guard("no"), *search(), patch(OTHER), patch(), guard("no"), *search(), patch(RIGHT)]
    result = case.run(lines, "--samples", 3).check()
    assert added(result) == [RIGHT]
    assert (
        case.selected()["choice"]
        == "chosen from 3 candidates: 2 candidates make this change, and 1 make the next best change"
    )
    check_repeated(case, len(journal_of(case.out)) // 2)


def test_equals_are_put_to_the_vote(case: Case) -> None:
    lines = [guard("no"), *search(), patch(OTHER), patch(), *[vote(1, "because")] * 3]
    case.run(lines, "--samples", 2).check()
    assert len(case.asked("select")) == 3 and "the model chose this patch" in case.selected()["choice"]
    check_repeated(case, len(journal_of(case.out)) // 2)


def test_unusable_edits_are_told_before_the_end_of_the_script(case: Case) -> None:
    case.run([guard("no"), *search(), patch(before="nowhere")]).check(1)
    why = read_json(case.out / "result.json")["why"]
    assert why.startswith("the quoted code is not in app.py: `nowhere`; then: script '")


def test_a_vote_that_cannot_be_read_is_told(case: Case) -> None:
    """Nothing ran, so nothing is known about how the patches behave."""
    lines = [guard("no"), *search(), patch(OTHER), patch(), *[line("select", '{"patch": 2}')] * 2]
    result = case.run(lines, "--samples", 2, "-v").check()
    assert "the answer of the agent 'select' cannot be read: \"choice\" is not a number from 1 to 2" in result.err
    why = "the answer of the agent 'select' could not be read, so the first of several equal patches was chosen"
    assert case.selected()["choice"] == f"chosen from 2 candidates: {why}"
    assert table(case, "same_behaviour") == [0, 0]


def test_an_answer_of_before_is_not_judged_again(case: Case) -> None:
    need_bubblewrap()
    lines = [*attempt(SCRIPT, patch(OTHER), review(NO_YES), patch(before="nowhere")), patch(OTHER)]
    case.run(lines, "--samples", 2, "--tries", 1)
    assert len(case.asked("review")) == 1 and len(case.asked("patch")) == 3
    assert table(case, "proof") == ["doubted", None, "doubted"]


def test_each_model_has_its_turn(case: Case) -> None:
    """There are as many retrievals as models, if there are enough samples."""
    lines = [guard("no"), *search(), patch(OTHER), patch()]
    case.run(lines, "--samples", 2, "--model", f"script:{case.folder / 'script_1.jsonl'}").check()
    assert [one["conversation"] for one in case.asked("patch")] == ["attempt_0/patch", "attempt_1/patch"]


def test_a_sample_without_a_patch_is_made_up_for_by_further_attempts(case: Case) -> None:
    lines = [guard("no"), *search(), patch(before="nowhere"), guard("no"), *search(), patch(), patch(OTHER)]
    options = ["--tries", 1, "--samples", 2]
    case.run([*lines, *[vote(1, "because")] * 3], *options).check()
    assert len(table(case, "patch")) == 2
    case.run([*lines, *[vote(1, "because")] * 3], *options, "--attempts", 3).check()
    assert len(table(case, "patch")) == 3


def test_one_sample_asks_what_is_asked_without_the_option(case: Case) -> None:
    asked = []
    lines = attempt(SCRIPT, patch(OTHER), review(NO_YES), patch(RIGHT), review(YES_NO))
    for more in ([], ["--samples", 1]):
        case.run(lines, *more).check()
        requests = [record["request"] for record in case.records("model")]
        asked.append([(one["conversation"], one["from"], one["messages"]) for one in requests])
    assert asked[0] == asked[1]


@pytest.mark.full
@pytest.mark.parametrize("kills", [1, 20])
def test_killed_at_random_moments_it_goes_on_to_the_same_end(case: Case, kills: int) -> None:
    """The run has the same files and costs; recorded calls and executions are not repeated."""
    need_bubblewrap()
    case.run(THREE, "--samples", 4).check()
    whole, chance, out = outcome(case.out), random.Random(kills), case.folder / "killed"
    command = [out if at == case.out else at for at in case.command]
    for _ in range(kills):
        child = case.host.start(*command)
        time.sleep(chance.uniform(0.05, 2) * SLOWNESS)
        kill(child)
    case.host.run(*command).check()
    assert outcome(out) == whole
    case.host.run("replay", out, env={"PATH": "/nonexistent"}).check()


def test_a_server_that_lies_never_bills_more_than_the_ceiling(host: Host, tmp_path: Path) -> None:
    """All samples of a run share one ceiling."""
    repo, received = make_repo(tmp_path / "repo", TINY), 0
    for seed in range(3):
        out = tmp_path / f"out_{seed}"
        cap = random.Random(seed).randint(20000, 200000) * 10**6
        run = ["run", "--repo", repo, "--issue-text", ISSUE, "--model", MODEL, "--out", out, "--verify", "never"]
        with LyingServer(["no usage", "null usage", *list(USAGES)[:2]], out / "ledger.jsonl", PRICE, seed) as server:
            result = host.run(
                *run, "--samples", 4, "--max-answer-tokens", 100, "--max-cost", usd(cap), env=env_of(server)
            )
        received += server.received
        assert server.billable <= cap and not server.unreserved, (seed, result.told())
    assert received > 12
