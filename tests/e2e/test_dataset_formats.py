"""Data sets in every format that SWE-bench's package accepts: JSON, Parquet, folders saved by `datasets`, task
repositories.

pyarrow and `datasets` themselves write the files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import packages
import pytest
from host import ROOT, Host

READER = ROOT / "python" / "acr" / "dataset" / "rows.py"
TABLES = ["pyarrow==26.0.1", "PyYAML==6.0.3"]
SETS = [*TABLES, "datasets==5.2.0"]
COUNT = 600  # number of rows, more than one batch

ROWS = [
    {
        "instance_id": f"a__b-{number}",
        "repo": "pallets/flask",
        "base_commit": "0" * 40,
        "problem_statement": "a\r\nb é \N{SNOWMAN}",
        "patch": "--- a/x\n+++ b/x\n",
        "FAIL_TO_PASS": '["t::a"]',
        "PASS_TO_PASS": ["t::b"],
        "hints_text": None,
        "log_parser": "parse_log_pytest",
        "image": "x",
        "eval_script": "true\n",
    }
    for number in range(COUNT)
]

MAKE_PARQUET = """
import json, os, sys
import pyarrow as pa, pyarrow.parquet as pq
rows = json.load(open("rows.json"))
table = pa.Table.from_pylist(rows)
pq.write_table(table, "one.parquet")
for folder in ("hub/data", "named", "two"):
    os.makedirs(folder)
pq.write_table(table.slice(0, 5), "hub/data/dev-00000-of-00001-0123456789abcdef.parquet")
pq.write_table(table.slice(0, 300), "hub/data/test-00000-of-00002.parquet")
pq.write_table(table.slice(300), "hub/data/test-00001-of-00002.parquet")
pq.write_table(table, "named/test.parquet")
pq.write_table(table.slice(0, 2), "two/dev.parquet")
pq.write_table(table.slice(0, 2), "two/train.parquet")
for name, writer in (("stream.arrow", pa.ipc.new_stream), ("file.arrow", pa.ipc.new_file)):
    with writer(name, table.schema) as out:
        out.write_table(table, max_chunksize=100)
"""
MAKE_SAVED = """
import json
from datasets import Dataset, DatasetDict
rows = Dataset.from_list(json.load(open("rows.json")))
rows.save_to_disk("saved", num_shards=3)
rows.select(range(COUNT - 1, -1, -1)).save_to_disk("backwards")
DatasetDict({"test": rows, "dev": rows.select([3, 1])}).save_to_disk("splits")
"""


def made_by(python: Path, code: str, folder: Path) -> Path:
    """Run the code in a folder; return the folder."""
    (folder / "rows.json").write_text(json.dumps(ROWS))
    subprocess.run([python, "-c", code.replace("COUNT", str(COUNT))], cwd=folder, check=True, capture_output=True)
    return folder


def read(python: Path, path: Path, *split: str) -> list[dict[str, Any]]:
    done = subprocess.run([python, READER, path, *split], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(python: Path, path: Path, *split: str) -> str:
    """The line that says why the rows cannot be read."""
    done = subprocess.run([python, READER, path, *split], check=False, capture_output=True, text=True)
    assert done.returncode == 2, done
    (line,) = done.stderr.splitlines()
    return line


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python with pyarrow and PyYAML."""
    return packages.pinned_python(TABLES)


@pytest.fixture(scope="module")
def tables(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Parquet and Arrow files."""
    return made_by(python, MAKE_PARQUET, tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("name", ["one.parquet", "hub", "named", "stream.arrow", "file.arrow"])
def test_tables_give_the_rows_that_were_written(python: Path, tables: Path, name: str) -> None:
    assert read(python, tables / name) == ROWS


def test_splits_are_chosen(python: Path, tables: Path) -> None:
    assert read(python, tables / "hub", "dev") == ROWS[:5]
    assert refused(python, tables / "hub", "gone").endswith("has no split 'gone' (--split: dev, test)")
    assert "has no split 'test' (--split: dev, train)" in refused(python, tables / "two")


@pytest.mark.parametrize(
    "text", ["# Title\n\ntext\n", '{"instance_id": "a__b-1", "model_patch": ""}\n', '{"a":\n1}\n', "[1]"]
)
def test_a_file_of_another_kind_is_one_line(python: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "file.txt").write_text(text)
    assert "file.txt' has no tasks: row 1 of" in refused(python, tmp_path / "file.txt")


def test_damaged_tables_are_one_line(python: Path, tables: Path, tmp_path: Path) -> None:
    whole = (tables / "one.parquet").read_bytes()
    for name, data in {"cut.parquet": whole[:1000], "empty.parquet": b"", "not.arrow": whole}.items():
        (tmp_path / name).write_bytes(data)
        assert name in refused(python, tmp_path / name)
    (tmp_path / "latin.jsonl").write_bytes(b'{"instance_id": "\xe9"}')
    assert refused(python, tmp_path / "latin.jsonl").endswith("latin.jsonl' is not UTF-8 text: see byte 18")
    assert "no data set" in refused(python, tmp_path.joinpath("folder"))
    (tmp_path / "state.json").write_text('{"_data_files": 3}')
    assert "state.json" in refused(python, tmp_path)


@pytest.mark.full
def test_what_datasets_saves(tmp_path: Path) -> None:
    python = packages.pinned_python(SETS)
    made_by(python, MAKE_SAVED, tmp_path)
    assert read(python, tmp_path / "saved") == ROWS
    assert read(python, tmp_path / "backwards") == ROWS[::-1]
    assert read(python, tmp_path / "splits") == ROWS
    assert read(python, tmp_path / "splits", "dev") == [ROWS[3], ROWS[1]]
    assert read(python, tmp_path / "splits" / "dev") == [ROWS[3], ROWS[1]]
    assert "--split: dev, test" in refused(python, tmp_path / "splits", "gone")


# ---- Task repositories ----


def write_task(repo: Path, row: dict[str, Any], split: str, *, hints: str = "") -> Path:
    folder = repo / "tasks" / row["instance_id"]
    folder.mkdir(parents=True)
    lines = [f"instance_id: {row['instance_id']}", f"repo: {row['repo']}", 'version: "2.0"', f"split: {split}"]
    lines += [f"base_commit: '{row['base_commit']}'", "image: x", "log_parser: parse_log_pytest"]
    lines += ["eval_type: pass_and_fail", "datasets:", "- own"]
    (folder / "task.yaml").write_text("\n".join(lines) + "\n")
    tests = {"FAIL_TO_PASS": ["t::a", "no", "1.0"], "PASS_TO_PASS": []}
    (folder / "tests.json").write_text(json.dumps(tests))
    for name, text in {
        "problem_statement.md": "p é\n",
        "gold.patch": "a\r\nb\n",
        "test.patch": "t\n",
        "eval.sh": "true\n",
        "hints.md": hints,
    }.items():
        if text:
            (folder / name).write_bytes(text.encode())
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A task repository of three tasks, one of them in a split that is not published."""
    folder = tmp_path / "repo"
    for number, split in enumerate(["test", "dev", "deprecated"]):
        write_task(folder, ROWS[number], split, hints="h" * number)
    (folder / "sweb.yaml").write_text("datasets: [own]\nsplits: [test, dev]\n")
    return folder


def test_a_task_repository(python: Path, repo: Path) -> None:
    rows = read(python, repo)
    assert [row["instance_id"] for row in rows] == ["a__b-0", "a__b-1"]
    assert rows[0]["patch"] == "a\r\nb\n"
    assert rows[0]["problem_statement"] == "p é\n"
    assert (rows[0]["version"], rows[0]["FAIL_TO_PASS"]) == ("2.0", ["t::a", "no", "1.0"])
    assert [row["hints_text"] for row in rows] == ["", "h"]
    assert [row["instance_id"] for row in read(python, repo, "deprecated")] == ["a__b-2"]
    assert "--split: deprecated, dev, test" in refused(python, repo, "gone")
    (repo / "sweb.yaml").unlink()
    assert [row["instance_id"] for row in read(python, repo)] == ["a__b-0"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tests.json", "{", "cannot be read"),
        ("task.yaml", "a: [", "task.yaml"),
        ("task.yaml", "- a", "is not a mapping"),
        ("gold.patch", None, "gold.patch"),
    ],
)
def test_a_damaged_task_is_one_line(python: Path, repo: Path, name: str, content: str | None, said: str) -> None:
    path = repo / "tasks" / "a__b-0" / name
    path.unlink() if content is None else path.write_text(content)
    assert said in refused(python, repo)


# ---- In the program ----


def beside(folder: Path, command: str) -> dict[str, str]:
    """An environment whose python3 is that program."""
    folder.mkdir()
    program = folder / "python3"
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def known(host: Host, dataset: Path, folder: Path, env: dict[str, str], *more: str) -> list[str]:
    """The tasks that `eval` finds in a data set."""
    options = ["--dataset", dataset, "--predictions", "empty", "--run-id", "x", "--out", folder / "out", *more]
    result = host.run("eval", *options, "--regrade", "--json", env=env)
    return json.loads(result.check(3).stdout)["error_ids"]


def test_each_verb_reads_them(host: Host, python: Path, tables: Path, repo: Path, tmp_path: Path) -> None:
    env = beside(tmp_path / "bin", str(python))
    all_ids = sorted(row["instance_id"] for row in ROWS)
    assert known(host, tables / "hub", tmp_path / "a", env) == all_ids
    assert known(host, tables / "hub", tmp_path / "b", env, "--split", "dev") == all_ids[:1] + sorted(
        row["instance_id"] for row in ROWS[1:5]
    )
    assert known(host, repo, tmp_path / "c", env) == ["a__b-0", "a__b-1"]
    result = host.run(
        *["swe-bench", "--dataset", tables / "one.parquet", "--repos", tmp_path, "--model", "script:x"],
        *["--out", tmp_path / "runs", "--instance", "gone"],
        env=env,
    )
    result.one_line(2, "no instance 'gone'")


def test_what_is_missing_is_named_with_the_remedy(host: Host, repo: Path, tmp_path: Path) -> None:
    env = beside(tmp_path / "bin", f"{sys.executable} -I -S")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    options = ["--predictions", "empty", "--run-id", "x", "--out", tmp_path / "out", "--regrade"]
    for name, library in {"x.parquet": "pyarrow", "repo": "PyYAML"}.items():
        result = host.run("eval", "--dataset", tmp_path / name, *options, env=env)
        result.one_line(2, f"need {library}; run 'python3 -m pip install {library}")
    result = host.run("eval", "--dataset", tmp_path / "bin", *options, env=env)
    result.one_line(2, "holds no data set")
    (tmp_path / "empty").mkdir()
    result = host.run("eval", "--dataset", tmp_path / "x.parquet", *options, env={"PATH": str(tmp_path / "empty")})
    result.one_line(2, "x.parquet", "python3")
