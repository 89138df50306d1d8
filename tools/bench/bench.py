#!/usr/bin/env python3
"""Prints the speed table for one repository: acr-host compared with other programs, as ratios within one run.

usage: bench.py --binary FILE --repo DIR --rev REV [--near REV] [--only ROW]... [--rounds N] [--json FILE]
       bench.py --binary FILE --only growth [--large] [--work DIR]

Exit 0 if every target was met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import growth
import machine
import peers
import rows
import table
from corpus import Corpus, load, make_neighbour
from timing import BenchError, run

GROWTH = "growth"


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--binary", type=Path, required=True, help="measure this acr-host")
    add("--repo", type=Path, help="read this git repository")
    add("--rev", default="HEAD", help="measure this commit")
    add("--near", help="use this neighbouring commit (default: a generated one)")
    add("--symbol", default="Prefix", help="search for this class")
    add("--only", action="append", choices=[*rows.ROWS, GROWTH], default=[])
    add("--rounds", type=int, default=9, help="repeat each comparison N times")
    add("--large", action="store_true", help="measure growth up to 100,000 files")
    add("--work", type=Path, help="keep generated repositories in this folder")
    add("--json", type=Path, help="also write the table to this file")
    options = parser.parse_args(argv)
    options.only = options.only or list(rows.ROWS)
    if options.repo is None and set(options.only) - {GROWTH}:
        parser.error("--repo is missing")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def prepare(options: argparse.Namespace, work: Path) -> rows.Bench:
    """Read the commits, and index them once. Errors: BenchError."""
    here = load(options.repo.resolve(), options.rev)
    near = load(here.repository, options.near) if options.near else make_neighbour(here, work / "near.git")
    ours = peers.Ours(options.binary.resolve(), work / "cache")
    for corpus in (here, near):
        peers.check_same_files(corpus)
        run(ours.index(corpus))
    return rows.Bench(ours, here, near, work, options.rounds, options.symbol)


def describe(corpus: Corpus) -> str:
    """The repository in one line."""
    size = corpus.size / 1e6
    return f"{corpus.rev[:12]}: {len(corpus.files)} source files, {size:.1f} MB"


def measure(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """Print each row of the table as soon as it is measured; returns all rows. Errors: BenchError."""
    found: list[table.Row] = []
    if set(options.only) - {GROWTH}:
        bench = prepare(options, work)
        print(f"{'repository':12} {describe(bench.here)}\n", flush=True)
        for name, row in rows.ROWS.items():
            found += row(bench) if name in options.only else []
        print(table.render(found), flush=True)
    if GROWTH in options.only:
        kept = options.work or work
        found += growth.measure(options.binary.resolve(), kept, options.large)
    return found


def main(argv: list[str]) -> int:
    """Measure and print; returns the exit code."""
    options = arguments(argv)
    facts = machine.describe(options.binary.resolve())
    for name, fact in facts.items():
        print(f"{name:12} {fact}")
    try:
        with tempfile.TemporaryDirectory(prefix="acr-bench-") as work:
            found = measure(options, Path(work))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 3
    if options.json:
        data = {"machine": facts, "rows": table.to_json(found)}
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.met is not False for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
