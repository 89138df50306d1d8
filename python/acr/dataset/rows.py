"""Prints the rows of a data set as JSON lines.

usage: rows.py PATH [SPLIT]

PATH is a .parquet or .arrow file, a folder saved by `datasets` (of one split or of several), a folder of Parquet files
named for their splits, or a task repository of SWE-bench 5. Without SPLIT the only one is read, else "test". Exit 2, with
one line on stderr, where that cannot be.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_SHARD = re.compile(r"(.+?)(?:-\d{5}-of-\d{5}.*)?\.parquet")
_PARTS = {
    "patch": "gold.patch",
    "test_patch": "test.patch",
    "eval_script": "eval.sh",
    "problem_statement": "problem_statement.md",
}


class Unreadable(Exception):
    """Why a data set cannot be read, in a line."""


def rows_of(path: Path, split: str | None) -> Iterator[dict[str, Any]]:
    """The rows of a data set. Raises Unreadable."""
    if path.suffix == ".parquet":
        return _parquet([path])
    if path.suffix == ".arrow":
        return _arrow([path])
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
        raise Unreadable(f"'{path}' holds no data set: neither sweb.yaml, state.json nor .parquet files")
    return _parquet(shards[_choose(path, shards, split)])


def _choose(path: Path, known: Iterable[str], split: str | None) -> str:
    names = sorted(known)
    if split is None and len(names) == 1:
        return names[0]
    wanted = split or "test"
    if wanted in names:
        return wanted
    raise Unreadable(f"'{path}' has no split '{wanted}' (--split: {', '.join(names)})")


# ---- Tables ----


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Unreadable("Parquet and Arrow files need pyarrow (python3 -m pip install pyarrow)") from error
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
    """A split that `datasets` has saved; state.json names its files in order."""
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        files = [folder / Path(file["filename"]).name for file in state["_data_files"]]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise Unreadable(f"'{folder / 'state.json'}' names no files: {error!r}") from error
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise Unreadable(f"'{folder}' was saved with an index of rows: save it again by a newer `datasets`")
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
    """Tasks by their names. Without a split those of the published ones, `sweb.yaml` says which."""
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
    """A file with its line ends as they are: a patch's count."""
    return path.read_bytes().decode()


def _yaml(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise Unreadable("task repositories need PyYAML (python3 -m pip install PyYAML)") from error
    try:
        told = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, OSError, ValueError) as error:
        raise Unreadable(f"'{path}' cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(told, dict):
        raise Unreadable(f"'{path}' is not a mapping")
    return told


# ---- The program ----


def _plain(value: Any) -> Any:
    """What JSON cannot hold, as text; not a number: null."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def main(arguments: list[str]) -> int:
    """Prints the rows, in ASCII; the exit code."""
    try:
        for row in rows_of(Path(arguments[0]), arguments[1] if len(arguments) > 1 else None):
            sys.stdout.write(f"{json.dumps(_plain(row))}\n")
        sys.stdout.flush()
    except Unreadable as error:
        sys.stderr.write(" ".join(str(error).split()) + "\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
