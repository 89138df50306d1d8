"""Runs that verify: the validation, when to verify, attempts, replay, and interrupted runs."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Callable

import pytest
from host import SLOWNESS, kill
from hostile import without_passing, write_script
from loopback import Failure, LoopbackOpenAI
from runs import folder_digest, read_json
from verifying import (
    HALF_RIGHT,
    NO_YES,
    OTHER,
    RIGHT,
    SCRIPT,
    STRAIGHT,
    YES_NO,
    YES_YES,
    Case,
    added,
    case,
    guard,
    has_bubblewrap,
    patch,
    rejected,
    review,
    search,
    test_line,
    verified,
)

__all__ = ["case"]
NONE, USAGE, ENVIRONMENT, CEILING, INTERRUPTED = 1, 2, 3, 4, 130

# ---- The validation --------------------------------------------------------------------------------

CHECK = "python3 -c 'import app, sys; sys.exit(app.half(9) != 4 and \"half of nine is four\")' 2>&1"


def test_a_refusal_by_the_validation_goes_back_to_the_patch_writer(case: Case) -> None:
    """There is no reproducer; the validation's message is in the prompt."""
    lines = [guard("no"), *search(), patch(HALF_RIGHT), patch(RIGHT, "half of nine is four", "(exit code 1)")]
    result = case.run(lines, "--validate", CHECK).check()
    assert added(result) == [RIGHT] and case.selected()["proof"] == "none"
    ran = [(at["request"]["command"], at["request"]["patch"] is not None) for at in case.records("execution")]
    assert ran == [(CHECK, True), (CHECK, True), (CHECK, False)]


def test_a_refusal_after_the_review_goes_back_to_the_patch_writer(case: Case) -> None:
    """There is a reproducer; the next patch is reviewed and validated again."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(HALF_RIGHT), review(YES_YES)],
        patch(RIGHT, "half of nine is four"),
        review(YES_YES, "+    return n // 2"),
    ]
    result = case.run(lines, "--validate", CHECK).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    commands = [at["request"]["command"] for at in case.records("execution")]
    assert commands.count(CHECK) == 3


@pytest.mark.parametrize("verify", ["auto", "never"])
def test_a_patch_that_is_always_refused_is_the_result_all_the_same(case: Case, verify: str) -> None:
    """The result says so. The writer also gets output that is only on stderr."""
    lines = [*search(), patch(OTHER), patch(OTHER, "never good"), patch(OTHER, "never good")]
    result = case.run([guard("no"), *lines], "--validate", "echo never good >&2; exit 3", "--verify", verify)
    assert rejected(case, result) == [OTHER]
    assert verified(result) == "no (validation refused the patch: exit code 3: never good)"
    assert len(case.asked("patch")) == 3 and len(case.records("execution")) == 1


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (
            "'' if app.half(9) == 4 else '5 passed, 2 skipped in 0.12s'",
            "ran 5 tests, with the patch it printed no summary",
        ),
        ("'==== 4 passed in 1s ====' if app.half(9) == 4 else '==== 1 failed, 3 passed in 1s ===='", ""),
        (
            "'Ran 3 tests in 0.1s\\n\\nOK (skipped=3)' if app.half(9) == 4 else 'Ran 3 tests in 0.1s\\n\\nOK'",
            "ran 3 tests, with the patch it ran 0",
        ),
    ],
)
def test_a_validation_that_runs_fewer_tests_refuses(case: Case, counts: str, why: str) -> None:
    """Although it exits with 0."""
    command = f'python3 -c "import app; print({counts})"'
    result = case.run([guard("no"), *search(), patch(RIGHT)], "--validate", command, "--tries", "1").check(
        1 if why else 0
    )
    if why:
        assert verified(result) == f"no (validation refused the patch: without the patch the command {why})"
    assert read_json(case.out / "result.json")["verdict"] == ("refused" if why else "validated")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("    import os\n    os._exit(0)\n", "hidden name: _exit"),
        ("    raise SystemExit(0)\n", "builtin: SystemExit"),
        ("    import atexit, os\n    atexit.register(os._exit, 0)\n    return n // 7\n", "import: atexit"),
    ],
)
def test_a_validation_of_a_patch_that_can_end_the_process_proves_nothing(case: Case, body: str, why: str) -> None:
    """The reason quotes the construct that can end the process."""
    lines = [guard("no"), *search(), patch(body)]
    result = case.run(lines, "--validate", "python3 -c 'import app; app.half(9)'").check()
    assert verified(result).startswith(
        f"no (the --validate command succeeds with the patch, but the patch is not plain code ({why} "
    ), result.told()
    assert read_json(case.out / "result.json")["verdict"] == "unverified"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true && no-such-program", "no-such-program"),
        ("cd . && ./app.py", "ermission denied"),
        ("echo pytest: no tests ran in 0.01s; exit 5", "no tests ran"),
        ("echo pytest: file or directory not found; exit 4", "file or directory not found"),
    ],
)
def test_a_validation_that_cannot_run_ends_the_run(case: Case, command: str, said: str) -> None:
    """The run ends at the first try, because no patch can repair the command."""
    result = case.run([guard("no"), *search(), patch(), patch(RIGHT)], "--validate", command).check(USAGE)
    assert "cannot be run, with or without the patch" in result.err and said in result.err
    assert len(case.asked("patch")) == 1


@pytest.mark.parametrize("code", [4, 127])
def test_a_patch_that_keeps_the_validation_from_running_is_refused(case: Case, code: int) -> None:
    command = f"python3 -c 'import app, sys; sys.exit({code} if app.half(9) == 4 else 1)' # pytest"
    case.run([guard("no"), *search(), patch(RIGHT)], "--validate", command, "--tries", "1").check(1)
    assert read_json(case.out / "result.json")["verdict"] == "refused"


def test_a_validation_that_ends_by_a_signal_refuses(case: Case) -> None:
    """A signal counts like a non-zero exit code."""
    result = case.run([guard("no"), *search(), patch()], "--validate", "kill -9 $$", "--tries", "1").check(1)
    assert verified(result) == "no (validation refused the patch: signal 9 ended it)"


# ---- When to verify --------------------------------------------------------------------------------


def test_never_asks_and_runs_nothing(case: Case) -> None:
    """No role of the verification is called, and no line mentions it."""
    result = case.run(STRAIGHT, "--verify=never").check()
    assert "verified" not in result.err and case.selected()["reason"] == "verification was off (--verify=never)"
    assert {at["request"]["agent"] for at in case.records("model")} == {"search", "extract", "patch"}
    assert case.records("sandbox") == case.records("execution") == []


def test_a_validation_that_cannot_be_run_is_said(case: Case, tmp_path: Path) -> None:
    """The patch is the result nevertheless."""
    case.options = [] if has_bubblewrap() else ["--sandbox", "bubblewrap"]
    (tmp_path / "bin").mkdir()
    result = case.run([*search(), patch()], "--validate", "true", env={"PATH": str(tmp_path / "bin")}).check()
    assert verified(result).startswith("no (patch 1 is not validated: ")


# ---- Attempts --------------------------------------------------------------------------------------


def test_attempts_go_on_until_one_is_approved(case: Case) -> None:
    """Each attempt starts from the beginning, with its own reproducer."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)],
        *[patch(OTHER, before="    nothing\n")],
        *[guard(), test_line(SCRIPT), *search(), patch(), review(YES_YES)],
    ]
    result = case.run(lines, "--attempts", "3", "--tries", "1").check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    assert case.selected()["selected"] == "attempt_1/extracted_patch_1.diff"
    assert (case.out / "attempt_1" / "reproducer_1.py").is_file() and not (case.out / "attempt_2").exists()
    of_experiments = ["experiment" in at["request"] for at in case.records("execution")]
    assert of_experiments[:4] == [False, False, False, True] and all(of_experiments[4:])


@pytest.mark.parametrize("first", [NO_YES, YES_NO])
def test_the_best_of_all_attempts_is_taken(case: Case, first: tuple[str, str]) -> None:
    """The order: verified, approved, unknown, judged wrong, rejected. The first attempt is compared with the second."""
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(first), guard("no"), *search(), patch(RIGHT)]
    result = case.run(lines, "--attempts", "2").check()
    assert added(result) == [RIGHT if first == NO_YES else OTHER]


@pytest.mark.full
def test_models_are_taken_in_turn(case: Case, tmp_path: Path) -> None:
    """The first model's attempt is doubted, the second model's is verified."""
    second = write_script(tmp_path / "second.jsonl", STRAIGHT)
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)]
    result = case.run(lines, "--attempts", "2", "--model", f"script:{second}").check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    used = [
        (r["conversation"].split("/")[0], Path(r["model"]).name)
        for r in (at["request"] for at in case.records("model"))
    ]
    assert set(used) == {("attempt_0", "script_1.jsonl"), ("attempt_1", "second.jsonl")}


# ---- Again -----------------------------------------------------------------------------------------

UNPROVED = [*STRAIGHT[:-1], review(YES_NO)]  # as a verified run, but without experiments


def test_a_verified_run_again(case: Case, tmp_path: Path) -> None:
    """A finished run returns its proof. A replay needs no sandbox, Python or files of the repository, and writes
    nothing."""
    command = case.arguments(STRAIGHT, "--validate", CHECK)
    whole, again = case.host.run(*command).check(), case.host.run(*command).check()
    assert again.stdout == whole.stdout and verified(again) == verified(whole)
    case.host.run(*command, "--test-cmd", "true").one_line(USAGE, "started without --test-cmd; ")
    before = folder_digest(case.out)
    (tmp_path / "bin").mkdir()
    again = case.host.run("replay", case.out, env={"PATH": str(tmp_path / "bin")}).check()
    assert again.stdout == whole.stdout and folder_digest(case.out) == before


def test_replay_compares_what_verification_wrote(case: Case) -> None:
    """The message names the different file."""
    case.run(UNPROVED).check()
    written = "reproducer_1.py execution_0_1.json execution_1_1.json review_p1_t1.json conv_test_1.json"
    for path in (case.attempt / name for name in written.split()):
        right = path.read_bytes()
        path.write_text("other\n")
        case.host.run("replay", case.out).one_line(NONE, path.name)
        path.write_bytes(right)


def test_an_execution_that_was_recorded_otherwise_diverges(case: Case) -> None:
    """The recorded stderr is used in the next request, which then differs."""
    case.run(UNPROVED).check()
    path = case.out / "journal.jsonl"
    path.write_text(path.read_text().replace("half(4) is 1\\n", "half(4) is 7\\n"))
    result = case.host.run("replay", case.out)
    assert result.exit not in (0, -6, -11) and len(result.err.splitlines()) == 1, result.told()


SLEEPER = "import time\nfrom app import half\nassert half(4) == 2\nwhile True:\n    time.sleep(0.1)\n"


def _journal_grows_to(case: Case, records: int) -> None:
    """Wait until the newest run has that many records."""
    until = time.monotonic() + 60 * SLOWNESS
    path = case.out / "journal.jsonl"
    while not path.is_file() or path.read_bytes().count(b"\n") < records:
        assert time.monotonic() < until, "the run does not get there"
        time.sleep(0.02)


def test_a_run_that_is_interrupted_in_an_execution_goes_on(case: Case) -> None:
    """The interrupted execution is not recorded, and is repeated."""
    slow = "import time\ntime.sleep(1)\n" + SCRIPT
    command = case.arguments([guard(), test_line(slow), *search(), patch(), review(YES_NO)])
    child = case.host.start(*command)
    _journal_grows_to(case, 3)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60 * SLOWNESS)
    assert child.returncode == INTERRUPTED, err
    assert case.records("execution") == []
    case.host.run(*command).check()
    assert [record["answer"]["exit"] for record in case.records("execution")] == [1, 0]


def test_the_time_of_a_run_ends_an_execution(case: Case) -> None:
    """The execution is not recorded; the patch so far is the result, and with more time the run resumes."""
    lines = [guard(), test_line(SLEEPER), *search(), patch(), review(YES_YES)]
    seconds = str(round(8 * SLOWNESS))
    command = case.arguments(lines)
    result = case.host.run(*command, "--max-time", seconds).check(CEILING)
    assert added(result) == [RIGHT] and "--max-time reached; rerun with a higher limit to continue" in result.err, (
        result.told()
    )
    assert len(case.records("execution")) == 1
    assert without_passing(case.records("execution"))[0]["answer"]["limit"] is None


def _is_locked(home: Path) -> bool:
    """Whether a set-up is in progress below a folder, whose subfolders may vanish meanwhile."""
    names = (name for _, _, names in os.walk(home) for name in names)
    return any(name.startswith("layer-") and name.endswith(".lock") for name in names)


@pytest.mark.parametrize("is_waiting", [False, True], ids=["its own", "another's"])
def test_the_time_of_a_run_ends_a_set_up(case: Case, is_waiting: bool) -> None:
    """The time ends the run's own set-up, or the wait for another process's; nothing is recorded."""
    setup = ["--setup", "sleep 600"]
    first = ["exec", "--repo", case.repo.path, *case.options, *setup, "--", "true"]
    other = case.host.start(*first) if is_waiting else None
    try:
        until = time.monotonic() + 60 * SLOWNESS
        while other and not _is_locked(case.host.home):
            assert time.monotonic() < until, "the other one does not begin"
            time.sleep(0.02)
        command = [*case.arguments(STRAIGHT), *setup, "--max-time", str(round(2 * SLOWNESS))]
        result = case.host.run(*command).check(CEILING)
    finally:
        if other:
            kill(other)
    assert "--max-time reached; rerun with a higher limit to continue" in result.err, result.told()
    assert case.records("sandbox") == []


def test_the_tokens_of_a_run_end_a_review(case: Case, loopback_openai: Callable[..., LoopbackOpenAI]) -> None:
    """The patch so far is the result; no model is called after the ceiling."""
    used = {"prompt_tokens": 400, "completion_tokens": 60_000, "total_tokens": 60_400}
    lines = [*STRAIGHT[:-2], STRAIGHT[-2] | {"usage": used}, STRAIGHT[-1]]
    server = loopback_openai(lines)
    command = case.arguments([], "--max-tokens-total", "60000")
    command[command.index("--model") + 1] = server.model
    result = case.host.run(*command, env=server.environment).check(CEILING)
    assert added(result) == [RIGHT] and len(server.requests) == len(lines) - 1
    assert [at["request"]["patch"] is None for at in case.records("execution")] == [True, False]


def test_a_resume_without_time_keeps_the_patch_of_before(
    case: Case, loopback_openai: Callable[..., LoopbackOpenAI]
) -> None:
    """Journaled answers need no time, so the run gets as far as before."""
    server = loopback_openai(STRAIGHT)
    server.fail(Failure("hang"), at=len(STRAIGHT) - 1)
    command = case.arguments([])
    command[command.index("--model") + 1] = server.model
    command += ["--max-tokens-total", 10**6]
    first = case.host.run(*command, "--max-time", round(8 * SLOWNESS), env=server.environment).check(CEILING)
    cost, result = (read_json(case.out / name) for name in ("cost.json", "result.json"))
    assert added(first) == [RIGHT]
    again = case.host.run(*command, "--max-time", "0.001", env=server.environment).check(CEILING)
    assert again.stdout == first.stdout == (case.out / "patch.diff").read_bytes()
    assert read_json(case.out / "cost.json") == cost
    assert read_json(case.out / "result.json") | {"error": result["error"]} == result
    keyless = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": "https://models.invalid/v1"}
    failed = case.host.run(*command, "--json", "--retries=0", env=server.environment | keyless)
    told = json.loads(failed.check(ENVIRONMENT).out)
    assert told.pop("folder") == str(case.out)
    assert told == read_json(case.out / "result.json") and told["error"]["class"] == "auth"
    assert told | {"error": result["error"], "exit": CEILING} == result
