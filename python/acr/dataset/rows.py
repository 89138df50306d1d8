"""Prints the rows of a data set as JSON lines.

usage: rows.py PATH [SPLIT]

PATH is a .parquet, .arrow, .csv, .json or .jsonl file (the last three also as .gz), a folder saved by `datasets` (with
one split or several), a folder of Parquet files named after their splits, a task repository of SWE-bench 5, or Harbor
tasks. Without SPLIT, the only split is read, or else "test". Rows of other data sets get SWE-bench's fields
(`sets.py`). An unusable row gets a "fault" and, if it has no id, an id from its number. If nothing can be read, exits
with 2 and one line on stderr.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the host starts this file by its path

from acr.dataset.harbor import folders_of, row_of  # noqa: E402
from acr.dataset.sets import LISTS, BadRow, canonical, tables  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_SHARD = re.compile(r"(.+?)(?:-\d{5}-of-\d{5}.*)?\.parquet")
MAX_FIELD = 64 * 1024 * 1024  # maximum size of a field in a CSV file, in bytes
_ID = re.compile(r"\w[\w.-]*")
_PARTS = {
    "patch": "gold.patch",
    "test_patch": "test.patch",
    "eval_script": "eval.sh",
    "problem_statement": "problem_statement.md",
}


class Unreadable(Exception):
    """The one-line reason why a data set cannot be read."""


def rows_of(path: Path, split: str | None) -> Iterator[dict[str, Any]]:
    """The rows of a data set. Raises Unreadable."""
    if path.suffix == ".parquet":
        return _parquet([path])
    if path.suffix == ".arrow":
        return _arrow([path])
    if path.is_file():
        return _csv(path) if ".csv" in path.suffixes[-2:] else _json(path)
    if harbor := folders_of(path):
        return (row_of(at, path) for at in harbor)
    if (path / "sweb.yaml").exists() or (path / "tasks").is_dir():
        return _tasks(path, split)
    if (path / "state.json").exists():
        return _saved(path)
    saved = {folder.parent.name: folder.parent for folder in path.glob("*/state.json")}
    if saved:
        return _saved(saved[_choose(path, saved, split)])
    shards: dict[str, list[Path]] = {}
    for file in sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")]):
        named = _SHARD.fullmatch(file.name)
        shards.setdefault(named[1] if named else file.stem, []).append(file)
    if not shards:
        raise Unreadable(f"'{path}' holds no data set: neither task.toml, sweb.yaml, state.json nor .parquet files")
    return _parquet(shards[_choose(path, shards, split)])


def _choose(path: Path, known: Iterable[str], split: str | None) -> str:
    names = sorted(known)
    if split is None and len(names) == 1:
        return names[0]
    wanted = split or "test"
    if wanted in names:
        return wanted
    raise Unreadable(f"'{path}' has no split '{wanted}' (--split: {', '.join(names)})")


# ---- Text ----


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"'{path}' is not UTF-8 text: see byte {error.start + 1}") from error
    except (OSError, EOFError, ValueError) as error:
        raise Unreadable(f"'{path}' cannot be read: {error}") from error


def _json(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON list or of JSON lines; NaN is allowed, because Python's json module writes it."""
    text = _read_text(path)
    try:
        whole = json.loads(text) if text.lstrip()[:1] == "[" else None
    except ValueError as error:
        raise Unreadable(f"'{path}' is not JSON: {error}") from error
    for row in whole if isinstance(whole, list) else (at for at in text.split("\n") if at.strip()):
        try:
            yield json.loads(row) if isinstance(row, str) else row
        except ValueError as error:
            yield {"fault": f"is not JSON: {error}"}


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(MAX_FIELD)
    try:
        yield from csv.DictReader(_read_text(path).splitlines(keepends=True))
    except csv.Error as error:
        raise Unreadable(f"'{path}' cannot be read: {error}") from error


# ---- Tables ----


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Unreadable("Parquet and Arrow files need pyarrow; run 'python3 -m pip install pyarrow'") from error
    return pyarrow


def _parquet(files: list[Path]) -> Iterator[dict[str, Any]]:
    pyarrow = _pyarrow()
    for file in files:
        try:
            with pyarrow.parquet.ParquetFile(file) as table:
                for batch in table.iter_batches(batch_size=256):
                    yield from batch.to_pylist()
        except (pyarrow.ArrowException, OSError) as error:
            raise Unreadable(f"'{file}' cannot be read: {error}") from error


def _saved(folder: Path) -> Iterator[dict[str, Any]]:
    """A split saved by `datasets`; state.json lists its files in order."""
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        files = [folder / Path(file["filename"]).name for file in state["_data_files"]]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise Unreadable(f"'{folder / 'state.json'}' names no files: {error!r}") from error
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise Unreadable(f"'{folder}' was saved with an index of rows: save it again with a newer `datasets`")
    return _arrow(files)


def _arrow(files: list[Path]) -> Iterator[dict[str, Any]]:
    pyarrow = _pyarrow()
    for file in files:
        try:
            with pyarrow.memory_map(str(file)) as data:
                try:
                    batches: Iterable[Any] = pyarrow.ipc.open_stream(data)
                except pyarrow.ArrowInvalid:
                    table = pyarrow.ipc.open_file(data)
                    batches = (table.get_batch(number) for number in range(table.num_record_batches))
                for batch in batches:
                    yield from batch.to_pylist()
        except (pyarrow.ArrowException, OSError) as error:
            raise Unreadable(f"'{file}' cannot be read: {error}") from error


# ---- Task repositories ----


def _tasks(repo: Path, split: str | None) -> Iterator[dict[str, Any]]:
    """Tasks by name; without a split, the published tasks that `sweb.yaml` lists."""
    config = _yaml(repo / "sweb.yaml") if (repo / "sweb.yaml").exists() else {}
    published = [split] if split else config.get("splits") or ["test"]
    seen = set()
    for folder in sorted((repo / "tasks").glob("*/task.yaml")):
        row = _task(folder.parent)
        seen.add(str(row.get("split")))
        if row.get("split") in published:
            yield row
    if split and split not in seen:
        raise Unreadable(f"'{repo}' has no split '{split}' (--split: {', '.join(sorted(seen))})")


def _task(folder: Path) -> dict[str, Any]:
    row = _yaml(folder / "task.yaml")
    hints = folder / "hints.md"
    try:
        row |= {column: _text(folder / name) for column, name in _PARTS.items()}
        row["hints_text"] = _text(hints) if hints.exists() else ""
        row |= json.loads(_text(folder / "tests.json"))
    except (OSError, ValueError, TypeError) as error:
        raise Unreadable(f"the task '{folder}' cannot be read: {error}") from error
    return row


def _text(path: Path) -> str:
    """Read a file with its line ends unchanged, because they matter in a patch."""
    return path.read_bytes().decode()


def _yaml(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise Unreadable("task repositories need PyYAML; run 'python3 -m pip install PyYAML'") from error
    try:
        told = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, OSError, ValueError) as error:
        raise Unreadable(f"'{path}' cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(told, dict):
        raise Unreadable(f"'{path}' is not a mapping")
    return told


# ---- The program ----


def _plain(value: Any) -> Any:
    """Convert values that JSON cannot hold to text; not-a-number becomes null."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def usable(rows: Iterable[Any], path: Path) -> Iterator[dict[str, Any]]:
    """The rows in SWE-bench's fields; a faulty row gets a "fault", and the others continue.

    Errors: Unreadable (there is no task, or two rows have the same id).
    """
    known, seen, fault = tables(), set(), ""
    is_set = False
    for number, row in enumerate(rows, 1):
        given = _plain(row) if isinstance(row, dict) else {"fault": "is not an object"}
        try:
            if given.get("fault"):
                raise BadRow(given["fault"])
            made = canonical(given, known, path.parent)
            if made["instance_id"] in seen:
                raise Unreadable(f"row {number} of '{path}' repeats the instance '{made['instance_id']}'")
        except BadRow as error:
            made = _faulty(given, number, f"row {number} of '{path}' {error}", seen)
            fault = fault or made["fault"]
        is_set = is_set or "fault" not in made or {"fault", "instance_id"} <= given.keys()
        seen.add(made["instance_id"])
        yield made
    if fault and not is_set:
        raise Unreadable(f"'{path}' has no tasks: {fault}")


def _faulty(row: dict[str, Any], number: int, fault: str, seen: set[str]) -> dict[str, Any]:
    name, repo = str(row.get("instance_id")), str(row.get("repo"))
    made = {
        "instance_id": name if _ID.fullmatch(name) and name not in seen | {"None"} else f"row_{number}",
        "repo": repo if re.fullmatch(r"[\w.-]+/[\w.-]+", repo) else "unknown/unknown",
    }
    return {
        **made,
        "base_commit": "",
        "problem_statement": "",
        "patch": "none",
        "fault": fault,
        **dict.fromkeys(LISTS, []),
    }


def main(arguments: list[str]) -> int:
    """Print the rows in ASCII; returns the exit code."""
    path = Path(arguments[0])
    try:
        for row in usable(rows_of(path, arguments[1] if len(arguments) > 1 else None), path):
            sys.stdout.write(f"{json.dumps(row)}\n")
        sys.stdout.flush()
    except (Unreadable, BadRow) as error:
        sys.stderr.write(" ".join(str(error).split()) + "\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
