"""The shared parts of the command lines in this folder: common options, the machine's name, a working folder, the table, and the exit code."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import machine
import table
from timing import BenchError

SHOWN = ("processor", "cores", "system", "load before", "acr-host")


def parser(doc: str | None, rounds: int) -> argparse.ArgumentParser:
    """A parser with --binary, --rounds (default: `rounds`) and --json; its description is the first line of `doc`."""
    made = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    made.add_argument("--binary", type=Path, required=True, help="measure this acr-host")
    made.add_argument("--rounds", type=_positive, default=rounds, help="repeat each comparison N times")
    made.add_argument("--json", type=Path, help="also write the table to this file")
    return made


def _positive(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def main(name: str, options: argparse.Namespace, measure: Callable[[Path], Sequence[table.Row]], *more: str) -> int:
    """Measure in a separate working folder and print the table; `more` adds facts about the machine.

    Returns 0 if every target was met, 1 if not or if nothing was measured, 3 if something could not be measured.
    """
    facts = machine.describe(options.binary.resolve())
    for fact in (*SHOWN, *more):
        print(f"{fact:12} {facts[fact]}")
    try:
        with tempfile.TemporaryDirectory(prefix="acr-bench-", ignore_cleanup_errors=True) as work:
            found = measure(Path(work))
    except (BenchError, OSError, subprocess.SubprocessError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 3
    print(table.render(found), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": facts, "rows": table.to_json(found)}, indent=1) + "\n")
    return 0 if found and all(row.met is not False for row in found) else 1
