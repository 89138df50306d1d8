"""`acr-host reproduce`: only the script, on stdout and in the run folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from host import SLOWNESS, Host
from hostile import TINY
from repos import make_repo
from runs import journal, read_json
from verifying import FAILING, PASSING, SCRIPT, Case, Line, case, guard, has_bubblewrap, sandbox_options, test_line

__all__ = ["case"]
NONE, USAGE, ENVIRONMENT, CEILING = 1, 2, 3, 4

ALONE = [guard(), test_line(FAILING), test_line(SCRIPT, "no_such_name")]


def test_reproduce_prints_the_script(case: Case) -> None:
    """It is also in the run folder; replay prints it without a sandbox."""
    result = case.run(ALONE, verb="reproduce").check()
    assert result.out == SCRIPT == (case.out / "reproducer.py").read_text()
    assert not (case.out / "patch.diff").exists() and case.files("reproducer_*") == [
        "reproducer_1.py",
        "reproducer_2.py",
    ]
    assert case.asked("search") == [] and "look at it" not in result.err
    again = case.host.run("replay", case.out, env={"PATH": "/nonexistent"}).check()
    assert again.stdout == result.stdout
    (case.out / "reproducer.py").write_text("other\n")
    case.host.run("replay", case.out).one_line(NONE, "reproducer.py")


def test_reproduce_again_returns_the_script(case: Case) -> None:
    """The script comes from the finished folder, which `run` does not resume."""
    command = case.arguments(ALONE, verb="reproduce")
    first = case.host.run(*command).check()
    assert case.host.run(*command).check().stdout == first.stdout
    case.host.run("run", *command[1:]).one_line(USAGE, 'belongs to "reproduce", not "run"')


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([guard("no")], "the issue gives no example that can be reproduced"),
        ([guard(), *[test_line(PASSING)] * 3], "the issue was not reproduced in 3 tries"),
        ([guard()], "no reproducer in this try"),
        ([], "whether the issue can be reproduced is not known"),
    ],
    ids=["no example", "tries", "used up", "no guard"],
)
def test_reproduce_ends_with_1_where_there_is_none(case: Case, lines: list[Line], why: str) -> None:
    """The message gives the reason, also in a replay."""
    result = case.run(lines, verb="reproduce").check(NONE)
    assert result.stdout == b"" and f"not reproduced: {why}" in result.err
    assert read_json(case.out / "result.json")["proof"] == "none"
    again = case.host.run("replay", case.out)
    assert again.stdout == b"" and "not reproduced" in again.one_line(NONE, why)


def test_a_module_that_is_missing_is_named(case: Case) -> None:
    """The message also names the Python that lacks the module, and the remedy."""
    lines = [guard(), *[test_line("import no_such_module\n")] * 3]
    said = case.run(lines, verb="reproduce").check(NONE).err
    assert "No module named 'no_such_module'' in Python 3" in said and "--setup" in said and "--python" in said
    case.host.run("replay", case.out).one_line(NONE, "No module named")


@pytest.mark.parametrize("options", [[], ["--setup=true"]], ids=["bare", "set-up"])
def test_a_script_finds_nothing_of_git(case: Case, options: list[str]) -> None:
    """Git would show the patch itself, not its behaviour."""
    script = "import os\nassert not os.path.exists('.git'), 'git is here'\n" + SCRIPT
    assert case.run([guard(), test_line(script)], *options, verb="reproduce").check().out == script
    errors = [row["answer"].get("stderr", "") for row in journal(case.out) if row["event"] == "execution"]
    assert errors and all("AssertionError: half(4) is" in str(said) for said in errors)


def test_reproduce_tells_what_to_look_at(case: Case) -> None:
    """The script may fail for reasons of its own."""
    script = SCRIPT + "import time\nassert time.time() > 1\n"
    result = case.run([guard(), test_line(script)], verb="reproduce").check()
    assert result.out == script
    assert "review it before you use it: the script reads the clock with time.time (line 5)" in result.err


def test_reproduce_needs_a_sandbox(case: Case) -> None:
    """Without a sandbox, it exits with 3 and calls no model."""
    case.options = [] if has_bubblewrap() else ["--sandbox", "bubblewrap"]
    case.run(ALONE, verb="reproduce", env={"PATH": "/nonexistent"}).one_line(ENVIRONMENT, "bubblewrap")
    assert journal(case.out) == []


@pytest.mark.parametrize("option", ["--validate=true", "--verify=always", "--verify"])
def test_reproduce_has_no_patch_to_check(case: Case, option: str) -> None:
    """An option without effect is rejected."""
    case.run(ALONE, option, verb="reproduce").one_line(
        USAGE, f"{option.partition('=')[0]} does not apply to 'reproduce'"
    )
    assert not case.out.exists()


def test_the_time_of_reproduce_ends_an_execution(case: Case) -> None:
    """The interrupted execution is not recorded."""
    script = "import time\ntime.sleep(100)\n" + SCRIPT
    command = case.arguments([guard(), test_line(script)], verb="reproduce")
    result = case.host.run(*command, "--max-time", str(round(2 * SLOWNESS)))
    assert (
        result.check(CEILING).err.splitlines()[-1].endswith("--max-time reached; rerun with a higher limit to continue")
    ), result.told()
    assert result.stdout == b"" and case.records("execution") == [] and len(case.records("model")) == 2
    case.host.run("replay", case.out).one_line(NONE, "not finished")


def test_reproduce_has_attempts(case: Case) -> None:
    """The next attempt begins if the previous one ended without a script."""
    lines = [guard("no"), guard(), test_line(SCRIPT)]
    assert case.run(lines, "--attempts", "2", verb="reproduce").check().out == SCRIPT
    assert read_json(case.out / "result.json")["proof"] == "none"
    assert (case.out / "attempt_1" / "reproducer_1.py").read_text() == SCRIPT


@pytest.mark.parametrize("options", [sandbox_options(), ["--sandbox", "plain"]], ids=["default", "plain"])
def test_the_project_is_found_below_src(host: Host, tmp_path: Path, options: list[str]) -> None:
    """The script imports the copy's package in src/, not the one that the user installed."""
    repo = make_repo(tmp_path / "repo", {"src/pkg/__init__.py": "", "src/pkg/app.py": TINY["app.py"]})
    made = Case(host, repo, tmp_path, options)
    script = SCRIPT.replace("from app", "from pkg.app")
    assert made.run([guard(), test_line(script)], verb="reproduce").check().out == script
    where = f"import pkg, os\nassert pkg.__path__[0] == '{repo}/src/pkg', pkg.__path__\n"
    told = made.run([guard(), test_line(where), test_line(script)], verb="reproduce").check()
    isolated = made.options == []
    assert (made.execution(0, 1)["result"] == "passed") == isolated, told.told()
