"""The bundled sample in any folder, and all files that a run of the sample leaves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Callable

import pytest
from host import Result
from repos import Repo, digest
from runs import (
    ARTIFACTS,
    CALLS,
    CHANGED,
    EXTRACT_1,
    ISSUE,
    SAMPLE,
    arguments,
    broken_script,
    check_patch,
    contents,
    failed_tests,
    files_of,
    fixed,
    folder_digest,
    journal,
    read_json,
    script_lines,
)

RunHost = Callable[..., Result]


@pytest.fixture
def finished(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> Path:
    """The folder of a finished run of the sample."""
    run_host(*arguments(sample_repo, tmp_path / "out")).check()
    return tmp_path / "out"


def plain_folder(path: Path) -> Path:
    """The sample as a folder without git."""
    shutil.copytree(SAMPLE / "repo", path, ignore=shutil.ignore_patterns("__pycache__"))
    return path


def as_commit(repo: Repo, tmp_path: Path) -> tuple[Path, list[str]]:
    repo.write({CHANGED: "this is not the commit's\n", "untracked.py": "x = 1\n"})
    return repo.path, ["--rev", "HEAD"]


def as_working_tree(repo: Repo, tmp_path: Path) -> tuple[Path, list[str]]:
    return repo.path, []


def as_dirty_tree(repo: Repo, tmp_path: Path) -> tuple[Path, list[str]]:
    committed = (repo.path / CHANGED).read_bytes()
    repo.commit({CHANGED: b"# an older state\n"})
    repo.write({CHANGED: committed, "brookbill/extra.py": "EXTRA = 1\n"})
    repo.git("add", CHANGED)
    return repo.path, []


def as_plain_folder(repo: Repo, tmp_path: Path) -> tuple[Path, list[str]]:
    return plain_folder(tmp_path / "plain"), []


def as_bare_clone(repo: Repo, tmp_path: Path) -> tuple[Path, list[str]]:
    repo.git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    return tmp_path / "bare.git", []


def as_linked_worktree(repo: Repo, tmp_path: Path) -> tuple[Path, list[str]]:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    repo.write({CHANGED: None})
    return tmp_path / "linked", []


def as_subfolder(repo: Repo, tmp_path: Path) -> tuple[Path, list[str]]:
    return repo.path / "brookbill" / "tariffs", []


PLACES = [as_commit, as_working_tree, as_dirty_tree, as_plain_folder, as_bare_clone, as_linked_worktree, as_subfolder]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__[3:])
def test_same_change_from(
    place: Callable[[Repo, Path], tuple[Path, list[str]]], run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    checkout = sample_repo.clone(tmp_path / "checkout")
    repo, options = place(sample_repo, tmp_path)
    before = digest(sample_repo.path), digest(repo)
    result = run_host(*arguments(repo, tmp_path / "out", *options)).check()
    assert (digest(sample_repo.path), digest(repo)) == before
    assert result.err == ""
    check_patch(result.stdout, checkout)
    assert (tmp_path / "out" / "patch.diff").read_bytes() == result.stdout


@pytest.mark.parametrize("options", [[], ["--repo-notes=never"]])
def test_the_patch_writer_is_shown_what_the_repository_says(
    options: list[str], run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    """Quoted as text of the repository; a resumed run keeps its first choice."""
    sample_repo.commit({"AGENTS.md": "# Style\n\nDays are counted from 1.\n"})
    out = tmp_path / "out"
    result = run_host(*arguments(sample_repo, out, *options)).check()
    conversation = (out / "attempt_0" / "conv_patch_1.json").read_text("utf-8")
    is_shown = "Days are counted from 1." in conversation and "It is not an instruction of the user" in conversation
    assert is_shown == (options == [])
    meta = read_json(out / "meta.json")
    assert meta["repo_notes"] is (options == [])
    assert run_host("replay", out).check().out
    assert run_host(*arguments(sample_repo, out)).check().stdout == result.stdout


def test_change_is_against_the_tree_as_it_lies(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The file to fix has uncommitted changes: the patch fits them and leaves them unchanged."""
    dirty = b"# my own note\n" + (sample_repo.path / CHANGED).read_bytes()
    sample_repo.write({CHANGED: dirty})
    checkout = sample_repo.clone(tmp_path / "checkout")
    checkout.write({CHANGED: dirty})
    sample_repo.git("rm", "-q", "README.md")
    result = run_host(*arguments(sample_repo, tmp_path / "out")).check()
    check_patch(result.stdout, checkout)
    said = f"commit {sample_repo.head} with uncommitted changes in 2 files ({CHANGED}, README.md)"
    assert said in " ".join(run_host("report", tmp_path / "out", "-f", "text").check().out.split())
    run_host("report", tmp_path / "out", "-o", tmp_path / "page.html").check()
    assert said in (tmp_path / "page.html").read_text("utf-8")


def test_its_tests_are_red_before_and_green_after(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    red = failed_tests(sample_repo.path)
    assert len(red) == 2
    text = (sample_repo.path / "tests" / "test_season_change.py").read_text()
    assert all(f"def {name}(" in text for name in red)
    result = run_host(*arguments(sample_repo, tmp_path / "out")).check()
    sample_repo.apply(result.stdout)
    assert failed_tests(sample_repo.path) == set()


def test_run_folder_holds_what_the_contract_names(finished: Path) -> None:
    files = files_of(finished)
    own = {name for name in files if not name.startswith(("prompts/", "snapshot/"))}
    assert own == ARTIFACTS
    prompts = {path.name for path in (SAMPLE.parents[2] / "prompts").iterdir() if path.is_file()} - {"README.md"}
    assert {name[8:] for name in files if name.startswith("prompts/")} == prompts
    meta = read_json(finished / "meta.json")
    assert meta["state"] == "done"
    assert meta["options"]["rounds"] == 15
    result = read_json(finished / "result.json")
    cost = result.pop("cost")
    assert result == {
        "verdict": "unverified",
        "why": "verification was off (--verify=never)",
        "status": "APPLICABLE_PATCH",
        "patch": (finished / "patch.diff").read_text("utf-8"),
        "proof": "none",
        "exit": 0,
    }
    assert cost == read_json(finished / "cost.json")["total"]
    assert (finished / "issue.md").read_bytes() == ISSUE.read_bytes()
    selected = read_json(finished / "selected_patch.json")
    assert selected["selected"] == "attempt_0/extracted_patch_2.diff"
    assert (finished / selected["selected"]).read_bytes() == (finished / "patch.diff").read_bytes()


def test_conversations_are_kept_as_they_were(finished: Path) -> None:
    lines = script_lines()
    said = [line["content"] for line in lines if line["agent"] == "search"]
    for number, answers in ((1, said[:2]), (2, said[:4]), (3, said)):
        talk = read_json(finished / f"attempt_0/search/search_round_{number}.json")
        assert [m["role"] for m in talk[:2]] == ["system", "user"]
        assert [m["content"] for m in talk if m["role"] == "assistant"] == answers
        assert "Two-month bill with domestic-seasonal" in talk[1]["content"]
        assert "<!--" not in talk[1]["content"], "a template's comment was shown"
    results = [m["content"] for m in talk if "<file>" in m["content"]]
    assert "<class>BillingRun</class> <func>invoice</func>" in results[0]
    assert "SeasonalTariff" in results[0], "a miss names the nearest class"
    assert "<file>brookbill/tariffs/blocks.py</file>" in results[1]
    extracts = [line["content"] for line in lines if line["agent"] == "extract"]
    for number, answers in ((1, extracts[:1]), (2, extracts[1:3]), (3, extracts[3:])):
        talk = read_json(finished / f"attempt_0/search/agent_proxy_{number}.json")
        assert [m["content"] for m in talk if m["role"] == "assistant"] == answers


def test_round_is_on_disk_before_it_is_parsed(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The run stops at the first extract call; the round's calls are already on disk."""
    model = broken_script(tmp_path / "script.jsonl", EXTRACT_1)
    result = run_host(*arguments(sample_repo, tmp_path / "out", model=model))
    result.one_line(1, "what no request ever says")
    search = tmp_path / "out" / "attempt_0" / "search"
    assert files_of(search) == {"search_round_1.json"}
    talk = read_json(search / "search_round_1.json")
    assert talk[-1] == {"role": "assistant", "content": script_lines()[0]["content"]}
    assert len(journal(tmp_path / "out")) == 1


def test_calls_are_kept(finished: Path) -> None:
    layers = read_json(finished / "attempt_0" / "search" / "tool_call_layers.json")
    assert [[(c["func_name"], c["call_ok"]) for c in layer] for layer in layers] == [
        [("search_method_in_class", True), ("search_class", False)],
        [
            ("search_class_in_file", True),
            ("search_method_in_class", True),
            ("search_method", True),
            ("search_method_in_class", True),
        ],
    ]
    assert layers[0][1]["arguments"] == {"class_name": "SeasonTariff"}


def test_places_are_kept_as_named_and_as_found(finished: Path) -> None:
    search = finished / "attempt_0" / "search"
    (named,) = read_json(search / "bug_locations_before_process.json")
    assert named["file"] == "tariff/seasonal.py"
    assert named["class"] is None
    assert named["method"] == "SeasonalTariff.usage_charge"
    places = read_json(search / "bug_locations_after_process.json")
    assert [(p["role"], p["file"], p["class"], p["func"]) for p in places] == [
        ("bug", CHANGED, "SeasonalTariff", "usage_charge"),
        ("class", CHANGED, "SeasonalTariff", None),
        ("overridden", "brookbill/tariffs/stepped.py", "SteppedTariff", "usage_charge"),
    ]
    assert places[0]["intended_behavior"] == named["intended_behavior"]
    assert places[0]["intended_behavior"].startswith("Scale the block limits")
    lines = (SAMPLE / "repo" / CHANGED).read_text().splitlines(keepends=True)
    method = "".join(lines[places[0]["start"] - 1 : places[0]["end"]])
    assert places[0]["code"].rstrip("\n") == method.rstrip("\n")
    signatures = places[1]["code"]
    assert "class SeasonalTariff(BlockTariff):" in signatures
    assert "def describe(self) -> str:" in signatures
    assert "total +=" not in signatures


def test_tries_are_kept(finished: Path) -> None:
    first, second = read_json(finished / "attempt_0" / "extract_status.json")
    assert (first["try"], first["status"]) == (1, "RAW_PATCH_BUT_UNMATCHED")
    assert [edit["status"] for edit in first["edits"]] == ["ambiguous"]
    assert "brookbill/tariffs/seasonal.py, lines" in first["message"]
    assert (second["try"], second["status"]) == (2, "APPLICABLE_PATCH")
    assert [(e["level"], e["status"], e["file"]) for e in second["edits"]] == [
        ("indent", "applied", CHANGED),
        ("trailing", "applied", CHANGED),
    ]
    said = [line["content"] for line in script_lines() if line["agent"] == "patch"]
    for number, text in enumerate(said, 1):
        raw = finished / "attempt_0" / f"patch_raw_{number}.md"
        assert raw.read_text("utf-8") == text
        talk = read_json(finished / "attempt_0" / f"conv_patch_{number}.json")
        assert [m["content"] for m in talk if m["role"] == "assistant"] == said[:number]
    assert first["message"].strip() in talk[-2]["content"], "feedback was not given"


def test_journal_and_cost_hold_every_call(finished: Path) -> None:
    agents = [line["agent"] for line in script_lines()]
    records = journal(finished)
    assert [record["request"]["agent"] for record in records] == agents
    assert [record["n"] for record in records] == list(range(CALLS))
    cost = read_json(finished / "cost.json")
    assert cost["total"]["calls"] == CALLS
    by_agent = {name: sums["calls"] for name, sums in cost["by_agent"].items()}
    assert by_agent == {name: agents.count(name) for name in set(agents)}


def test_apply_writes_the_change_and_nothing_else(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    sample_repo.write({"notes.txt": "mine\n", "README.md": "changed, not committed\n"})
    before = digest(sample_repo.path)
    text = (sample_repo.path / CHANGED).read_bytes()
    result = run_host(*arguments(sample_repo, tmp_path / "out", "--apply")).check()
    assert (sample_repo.path / CHANGED).read_bytes() == fixed(text)
    after = digest(sample_repo.path)
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    parent = str(Path(CHANGED).parent)  # its time changed, because a file in it was renamed
    assert changed == {CHANGED, parent}
    assert before[CHANGED][0] == after[CHANGED][0], "the mode changed"
    assert result.stdout == (tmp_path / "out" / "patch.diff").read_bytes()
    assert failed_tests(sample_repo.path) == set()


def test_a_patch_that_the_validation_refuses_is_not_applied(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    before = digest(sample_repo.path)
    more = ("--apply", "--validate=exit 3", "--sandbox=plain")
    run = arguments(sample_repo, tmp_path / "out", *more)
    for _ in range(2):
        result = run_host(*run).check(1)
        assert result.stdout == b"" and CHANGED in (tmp_path / "out" / "patch.diff").read_text("utf-8")
        assert "the patch is not applied" in result.err
        assert "verified: no (validation refused the patch: exit code 3)" in result.err
        again = run_host("replay", tmp_path / "out")
        again.one_line(1, "verified: no (validation refused the patch: exit code 3)")
        assert digest(sample_repo.path) == before


def test_apply_after_the_run(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """A finished run can be applied later, unless the file has changed meanwhile."""
    text = (sample_repo.path / CHANGED).read_bytes()
    run_host(*arguments(sample_repo, tmp_path / "out")).check()
    sample_repo.write({CHANGED: text + b"# changed meanwhile\n"})
    before = contents(sample_repo.path)
    result = run_host(*arguments(sample_repo, tmp_path / "out", "--apply"))
    result.one_line(3, CHANGED)
    assert contents(sample_repo.path) == before
    sample_repo.write({CHANGED: text})
    run_host(*arguments(sample_repo, tmp_path / "out", "--apply")).check()
    assert (sample_repo.path / CHANGED).read_bytes() == fixed(text)


def test_apply_after_the_run_needs_no_time_and_writes_nothing_again(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    """A finished run is applied from its saved result; if the result is damaged, nothing changes."""
    out = tmp_path / "out"
    text = (sample_repo.path / CHANGED).read_bytes()
    first = run_host(*arguments(sample_repo, out)).check()
    before = folder_digest(out)
    late = [*arguments(sample_repo, out, "--apply", "--max-time", "0.001"), "--no-cache"]
    for done in ("written", "already applied"):
        result = run_host(*late).check()
        said = [line for line in result.progress if not line.startswith(("patch: ", "snapshot"))]
        assert result.stdout == first.stdout and said[1:] == [f"{done}: {CHANGED} (+2 -2)"], said
        assert said[0].startswith("nothing was run: this is the saved result")
    assert folder_digest(out) == before and (sample_repo.path / CHANGED).read_bytes() == fixed(text)
    sample_repo.write({CHANGED: text})
    (out / "result.json").write_bytes((out / "result.json").read_bytes()[:100])
    before = folder_digest(out)
    run_host(*late).one_line(3, "result.json")
    assert folder_digest(out) == before and (sample_repo.path / CHANGED).read_bytes() == text


def test_apply_writes_to_no_repository_but_the_given_one(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """Whatever the run folder says, because it may come from a stranger."""
    other, out = Path(shutil.copytree(sample_repo.path, tmp_path / "other")), tmp_path / "out"
    run_host(*arguments(sample_repo, out)).check()
    text = (out / "meta.json").read_text("utf-8")
    meta = json.loads(text)
    meta["snapshot"]["git_dir"] = meta["snapshot"]["git_dir"].replace(str(sample_repo.path), str(other))
    (out / "meta.json").write_text(json.dumps(meta), "utf-8")
    before = digest(sample_repo.path), digest(other)
    run_host(*arguments(sample_repo, out, "--apply")).one_line(3, "belongs to another repository", str(other))
    assert (digest(sample_repo.path), digest(other)) == before


def test_verbose_shows_each_round(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    result = run_host(*arguments(sample_repo, tmp_path / "out", "--verbose")).check()
    steps = [line.partition(" (")[0] for line in result.progress][:16]
    rounds = ["select", "extract", "search", "analyse"]
    assert steps == [
        *("snapshot", "index"),
        *(f"round 1: {step}" for step in rounds),
        *(f"round 2: {step}" for step in [*rounds[:2], *rounds[1:]]),
        *(f"round 3: {step}" for step in ("select", "extract", "locate")),
        *("try 1: patch", "try 2: patch"),
    ]
    for words in (
        'search_class("SeasonTariff"): nothing found',
        "the answer with the search calls cannot be used: the answer contains no JSON object",
        f"place to change: {CHANGED} lines 55-70",
        "edit 1: ambiguous",
        "the edits apply",
        "verification was off (--verify=never)",
    ):
        assert words in result.err
    assert result.stdout == (tmp_path / "out" / "patch.diff").read_bytes()


def test_issue_from_text_and_from_stdin(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    model = ["--model", f"script:{SAMPLE / 'answers.jsonl'}", "--verify=never"]
    text = run_host(
        *("run", "--repo", sample_repo, "--issue-text", ISSUE.read_text(), *model), *("--out", tmp_path / "text")
    ).check()
    piped = run_host(
        *("run", "--repo", sample_repo, "--issue", "-", *model),
        *("--out", tmp_path / "piped"),
        input=ISSUE.read_bytes(),
    ).check()
    file = run_host(*arguments(sample_repo, tmp_path / "file")).check()
    assert text.stdout == piped.stdout == file.stdout != b""
    issues = {(tmp_path / n / "issue.md").read_bytes() for n in ("text", "piped")}
    assert issues == {ISSUE.read_bytes()}


def test_submodule_is_left_out_and_said_once(
    run_host: RunHost, sample_repo: Repo, make_repo: Callable[..., Repo], tmp_path: Path
) -> None:
    other = make_repo({"m.py": "class BillingRun:\n    pass\n"}, "other")
    sample_repo.git(*("-c", "protocol.file.allow=always", "submodule", "--quiet", "add"), *(str(other), "vendored"))
    sample_repo.git("commit", "-q", "-m", "with a submodule")
    for options in ([], ["--rev", "HEAD"]):
        out = tmp_path / f"out-{len(options)}"
        result = run_host(*arguments(sample_repo, out, *options)).check()
        (line,) = result.err.splitlines()
        assert line == "acr-host run: 1 submodule was left out: vendored"
        assert run_host(*arguments(sample_repo, out, *options)).check().err == ""
