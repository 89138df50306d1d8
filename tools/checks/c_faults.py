"""Finds faults in C with clang-tidy: the rules of bugprone and cert that this code follows.

usage: ACR_BINARY=build/release/acr-host c_faults.py [ROOT]; one line per finding, exit 1 if there is one, 77 without
clang-tidy or without compile_commands.json beside the binary. Takes a minute on two cores, and needs clang, so only
`tools/check --full` runs it. The path analyzer is not used: it does not know the cleanup attribute, and so reports
leaks everywhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import source

# Disabled, because their findings here are intended: bounded sscanf, casts of sizes, texts without a final NUL,
# `!memcmp`.
CHECKS = [
    "-*",
    "bugprone-*",
    "-bugprone-assignment-in-if-condition",
    "-bugprone-easily-swappable-parameters",
    "-bugprone-implicit-widening-of-multiplication-result",
    "-bugprone-narrowing-conversions",
    "-bugprone-not-null-terminated-result",
    "-bugprone-reserved-identifier",
    "-bugprone-suspicious-missing-comma",
    "-bugprone-suspicious-string-compare",
    "cert-*",
    "-cert-dcl16-c",
    "-cert-dcl37-c",
    "-cert-dcl51-cpp",
    "-cert-err33-c",
    "-cert-err34-c",
    "misc-redundant-expression",
]
_PORTION = 8  # files per process
_FINDING = re.compile(r"^(/[^:\n]+):(\d+):\d+: (?:warning|error): (.*)$", re.MULTILINE)


def build_folder() -> Path:
    """The folder of the binary under test."""
    return Path(os.environ.get("ACR_BINARY", "")).parent


def check(root: Path) -> Iterator[str]:
    """All findings on the .c files of native/ and runtime/ that the build compiles."""
    commands = json.loads(source.read(build_folder() / "compile_commands.json"))
    rooms = (str(root / "native"), str(root / "runtime"))
    paths = sorted({entry["file"] for entry in commands if entry["file"].startswith(rooms)})
    portions = [paths[at : at + _PORTION] for at in range(0, len(paths), _PORTION)]
    command = ["clang-tidy", "-p", str(build_folder()), "--quiet", f"--checks={','.join(CHECKS)}"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(
            lambda some: subprocess.run(command + some, capture_output=True, check=False, text=True), portions
        )
        for run in runs:
            for path, line, what in _FINDING.findall(run.stdout):
                yield f"{Path(path).relative_to(root) if Path(path).is_relative_to(root) else path}:{line}: {what}"


if __name__ == "__main__":
    if not shutil.which("clang-tidy"):
        source.skip("clang-tidy is not installed")
    if not (build_folder() / "compile_commands.json").is_file():
        source.skip("no compile_commands.json beside $ACR_BINARY")
    source.run(check)
