"""Tests of tools/bench: ratios, the table, the files of a commit, and generated repositories."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "bench"))

import bench  # noqa: E402
import compare  # noqa: E402
import corpus  # noqa: E402
import generate  # noqa: E402
import growth  # noqa: E402
import machine  # noqa: E402
import memory  # noqa: E402
import peers  # noqa: E402
import sandbox  # noqa: E402
import table  # noqa: E402
import timing  # noqa: E402
from timing import BenchError, Command, Comparison, Spent, Times  # noqa: E402

FILES = {
    "a.py": b"class A:\n    def one(self):\n        return self\n",
    "pkg/b.py": b"from a import A\n\n\ndef two():\n    return A().one()\n",
    "pkg/empty.py": b"",
    "pkg/tests/c.py": b"def three():\n    return self\n",
    "test_d.py": b"def four():\n    return self\n",
    "pkg/conftest.py": b"return self\n",
    "notes.txt": b"return self\n",
}
SOURCES = ["a.py", "pkg/b.py", "pkg/empty.py"]
# Reads all of stdin, and then answers each line with one line, as the program does.
ANSWERER = "import sys\nfor line in sys.stdin.read().splitlines():\n    print(line, flush=True)\n"


def commit(folder: Path, files: dict[str, bytes] = FILES) -> corpus.Corpus:
    """A repository with one commit of these files, as a corpus."""
    return corpus.load(generate.write(folder, iter(files.items())), "main")


def git_state(repository: Path) -> list[tuple[str, int, int]]:
    """Every file of a repository, with its size and time."""
    paths = sorted(path for path in repository.rglob("*") if path.is_file())
    return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in paths]


def python(code: str, *args: str) -> Command:
    """A command that runs Python code."""
    return Command([sys.executable, "-c", code, *args], corpus.clean_env(), exits=(0,))


def matches(command: Command) -> list[str]:
    """The lines that a command prints, sorted."""
    done = subprocess.run(command.argv, env=command.env, capture_output=True, check=False, text=True)
    command.check(done.returncode, done.stderr.encode())
    return sorted(done.stdout.splitlines())


def test_a_ratio_is_that_of_the_medians_and_has_that_of_the_minima_beside_it() -> None:
    found = Comparison(Times((3.0, 9.0, 6.0)), Times((2.0, 4.0, 1.0)))
    assert (found.ratio, found.least_ratio) == (3.0, 3.0)
    assert Comparison(Times((1.0, 2.0)), Times((4.0, 8.0))).ratio == 0.25
    assert Times((1.0, 2.0, 6.0)).mean == 3.0


def test_rounds_alternate_after_one_that_does_not_count() -> None:
    order: list[str] = []

    def step(name: str, seconds: float) -> Spent:
        order.append(name)
        return Spent(seconds, 3 * seconds)

    found = timing.compare(2, lambda: step("ours", 1.0), lambda: step("peer", 2.0))
    assert order == ["ours", "peer"] * 3
    ours, peer = Times((1.0, 1.0), (3.0, 3.0)), Times((2.0, 2.0), (6.0, 6.0))
    assert found == Comparison(ours, peer)
    assert found.cpu_ratio == 0.5


def test_the_table_shows_value_target_and_verdict() -> None:
    rows = [
        table.Row("cold", "a | b", 1.25, "x", 1.3, "ours", "peer"),
        table.Row("warm", "c", 1.51, "x", 1.5),
        table.Row("plain", "d", 4.0, "ms"),
    ]
    assert [row.met for row in rows] == [True, False, None]
    lines = table.render(rows).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert [cell.strip() for cell in lines[2].replace("\\|", "/").split("|")] == [
        *("", "cold", "a / b", "1.25 x", "<= 1.3 x", "met", "ours", "peer", "")
    ]
    assert "NOT MET" in lines[3] and "met" not in lines[4].lower()
    data = table.to_json(rows)
    assert json.loads(json.dumps(data))[1]["met"] is False


def test_a_process_that_fails_is_an_error_and_no_time() -> None:
    with pytest.raises(BenchError, match="exits with 3: no such thing"):
        timing.run(python("import sys; sys.exit(sys.stderr.write('no such thing') and 3)"))
    with pytest.raises(BenchError, match="exits with 4"):
        timing.together([python("raise SystemExit(4)")])


def test_processor_time_is_that_of_the_process_and_its_children() -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass\n"
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])\n"
    spent = timing.run(python(inner + busy))
    assert 0.4 <= spent.cpu < 3 and spent.wall >= 0.4


def test_answers_are_timed_one_by_one_and_each_must_be_there() -> None:
    slow = ANSWERER + "    __import__('time').sleep(0.05)\n"
    times = timing.answer_times(python(slow), ["a", "b", "c"])
    assert len(times.seconds) == 2 and times.mean >= 0.04
    with pytest.raises(BenchError, match="2 calls have 1 answers"):
        timing.answer_times(python("print(1)"), ["a", "b"])


def test_memory_counts_a_process_and_its_children_together() -> None:
    inner = "data = bytearray(b'x') * 30_000_000; print(flush=True); input()"  # the process has its memory until it is told to end
    start = f"import subprocess as s, sys, time; c = s.Popen([sys.executable, '-c', {inner!r}], stdin=s.PIPE, stdout=s.PIPE)\n"
    both = python(
        start + "c.stdout.readline(); data = bytearray(b'x') * 40_000_000; time.sleep(0.5); c.communicate(b'\\n')"
    )
    assert memory.peak_kib(python("pass")) < 30_000
    assert 68_000 < memory.peak_kib(both) < 120_000


def test_a_family_has_the_grandchildren() -> None:
    inner = "import time; time.sleep(30)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen([sys.executable, "-c", outer]) as process:
        end = time.monotonic() + 60
        while len(memory.family(process.pid)) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        found = memory.family(process.pid)
        for pid in reversed(found):
            os.kill(pid, 9)
    assert len(found) == 2 and found[0] == process.pid


def test_a_corpus_has_the_source_files_of_the_commit(tmp_path: Path) -> None:
    found = commit(tmp_path / "a.git")
    assert found.files == tuple((path, FILES[path]) for path in SOURCES)
    assert found.size == sum(len(FILES[path]) for path in SOURCES)
    with pytest.raises(BenchError, match="rev-parse"):
        corpus.load(found.repository, "no-such-revision")


def test_git_grep_reads_the_files_of_the_corpus_only(tmp_path: Path) -> None:
    found = commit(tmp_path / "a.git")
    peers.check_same_files(found)
    expected = f"{found.rev}:a.py:        return self"
    assert matches(peers.git_grep(found, "return self")) == [expected]
    assert len(matches(peers.git_grep(found, "absent text"))) == 0
    assert len(matches(peers.git_grep(found, "return self", everywhere=True))) == 5


def test_files_that_git_grep_would_not_read_are_noticed(tmp_path: Path) -> None:
    found = commit(tmp_path / "a.git")
    more = corpus.Corpus(found.repository, found.rev, (*found.files, ("z.py", b"1\n")))
    with pytest.raises(BenchError, match="same files: z.py"):
        peers.check_same_files(more)


def test_a_neighbour_shares_all_but_a_few_files_and_the_first_is_not_written(tmp_path: Path) -> None:
    files = {f"m{n:03}.py": b"x = %d\n" % n for n in range(100)}
    found = commit(tmp_path / "a.git", files)
    before = sorted(p for p in found.repository.rglob("*"))
    near = corpus.make_neighbour(found, tmp_path / "near.git")
    assert corpus.load(near.repository, near.rev).files == near.files
    changed = [a for a, b in zip(found.files, near.files) if a != b]
    assert len(found.files) == len(near.files) and 1 <= len(changed) <= 13
    assert sorted(p for p in found.repository.rglob("*")) == before


def test_two_halves_hold_all_contents_and_are_parsed(tmp_path: Path) -> None:
    files = {f"m{n}.py": b"x = 1\n" * (n + 1) for n in range(20)}
    found = commit(tmp_path / "a.git", {**files, "bad.py": b"def (:\n"})
    halves = corpus.write_halves(found, tmp_path)
    sizes = [path.stat().st_size for path in halves]
    assert abs(sizes[0] - sizes[1]) < 0.2 * sum(sizes)
    assert sum(sizes) > found.size
    assert timing.together(peers.parse_only(halves)).wall > 0


def test_generated_files_are_the_same_each_time_and_parse() -> None:
    first = [generate.file_of(n) for n in range(60)]
    assert first == [generate.file_of(n) for n in range(60)]
    assert first != [generate.file_of(n, seed=1) for n in range(60)]
    nodes = [node for text in first for node in ast.walk(ast.parse(text))]
    kinds = {type(node) for node in nodes}
    assert {ast.ClassDef, ast.FunctionDef, ast.ImportFrom} <= kinds
    assert len({generate.path_of(n) for n in range(20_000)}) == 20_000
    assert 3_000 < mean(len(generate.file_of(n)) for n in range(400)) < 5_000


def test_odd_shapes_have_the_counts_that_they_are_named_for() -> None:
    (_, long), (_, wide) = *generate.long_file(1_000), *generate.wide_class(50)
    assert long.count(b"\n") == 1_000
    assert len(ast.parse(long).body) == 1 + 998 // 6
    (only,) = ast.parse(wide).body
    assert isinstance(only, ast.ClassDef) and len(only.body) == 50
    parts = [ast.parse(text) for _, text in generate.one_name(250)]
    names = [node.name for part in parts for node in part.body]  # type: ignore[attr-defined]
    assert (len(parts), names) == (3, ["Owner", *["same"] * 250])


def test_steepness_is_one_where_cost_is_proportional() -> None:
    assert growth.steepness([(1, 3.0), (10, 30.0)]) == pytest.approx(1.0)
    assert growth.steepness([(1, 3.0), (10, 30.0), (100, 300.0)]) == pytest.approx(1.0)
    assert growth.steepness([(1, 1.0), (10, 10.0), (100, 1_000.0)]) == pytest.approx(11.0)
    assert growth.steepness([(1, 6.0), (10, 33.0)]) == pytest.approx(0.5)


def test_a_machine_has_a_name() -> None:
    facts = machine.describe(Path("/nowhere/acr-host"))
    assert facts["acr-host"] == "none"
    assert int(facts["cores"]) >= 1 and facts["git"].startswith("git version")
    assert facts["python"].startswith("Python 3")


@pytest.mark.parametrize("extra", [[], ["--only", "cold"], ["--repo", ".", "--rounds", "0"]])
def test_what_is_missing_is_a_usage_error(extra: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.arguments(["--binary", "acr-host", *extra])


def test_a_binary_that_does_not_work_is_no_measurement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = commit(tmp_path / "a.git")
    where = ["--repo", str(found.repository), "--rev", "main"]
    assert bench.main(["--binary", "/bin/false", "--only", "cold", *where]) == 3
    assert "/false index --repo" in capsys.readouterr().err


@pytest.mark.skipif("ACR_BINARY" not in os.environ, reason="ACR_BINARY names no program")
def test_the_program_is_measured_on_a_small_repository(tmp_path: Path) -> None:
    found = commit(tmp_path / "a.git", dict(generate.many_files(30)))
    name = growth.shapes(large=False)[0].class_name
    where = ["--repo", str(found.repository), "--rev", "main", "--symbol", name]
    only = ["--only", "cold", "--only", "warm", "--rounds", "1"]
    binary = ["--binary", os.environ["ACR_BINARY"]]
    json_file = tmp_path / "table.json"
    code = bench.main([*binary, *where, *only, "--json", str(json_file)])
    data = json.loads(json_file.read_text())
    assert code in (0, 1) and data["machine"]["acr-host"].startswith("acr-host ")
    rows = [(row["row"], row["unit"]) for row in data["rows"]]
    assert rows == [("cold", "x"), *[("warm", "x"), ("warm", "files")] * 2]
    assert all(row["value"] > 0 for row in data["rows"] if row["unit"] == "x")


@pytest.mark.full
@pytest.mark.skipif("ACR_BINARY" not in os.environ, reason="ACR_BINARY names no program")
def test_a_comparison_is_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Covers the parts that need no other program; a missing program is reported in one line."""
    found = commit(tmp_path / "a.git", dict(generate.many_files(30)))
    where = ["--repo", str(found.repository), "--rev", "main", "--symbol", growth.shapes(large=False)[0].class_name]
    argv = ["--binary", os.environ["ACR_BINARY"], *where, "--rounds", "1", "--json", str(tmp_path / "table.json")]
    assert compare.main([*argv, "--only", "index"]) in (0, 1)
    rows = {row["row"] for row in json.loads((tmp_path / "table.json").read_text())["rows"]}
    assert rows == {"cold", "warm", "oneshot"} and list(compare.PARTS) == compare.arguments(argv).only
    capsys.readouterr()
    assert compare.main([*argv, "--only", "mcp", "--code-index", "/bin/false"]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_diff_for_the_sandbox_changes_files_and_leaves_the_tree(tmp_path: Path) -> None:
    source = commit(tmp_path / "repo").repository
    files = sandbox.make_repository(source, "main", tmp_path / "made")
    assert files == FILES
    sandbox.make_patch(tmp_path / "made", sorted(files), tmp_path / "patch")
    text = (tmp_path / "patch").read_text()
    assert text.count("diff --git ") == text.count("\n+# changed\n") == 5
    assert corpus.git(tmp_path / "made", "status", "--porcelain") == b""


def test_a_sandbox_that_does_not_run_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = commit(tmp_path / "repo").repository
    argv = ["--binary", "/bin/false", "--repo", str(repository), "--rev", "main"]
    assert sandbox.main([*argv, "--only", "plain", "--rounds", "1"]) == 3
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("sandbox.py: ")
