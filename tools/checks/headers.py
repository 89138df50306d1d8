"""Checks that each public header includes whatever it needs: compiles it by itself, unless a C file includes it first.

usage: headers.py [ROOT]; one line per finding, exit 1 if there is one. Needs cc ($CC) and pkg-config.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import source

FLAGS = [
    "-std=gnu17",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Werror",
]

_INCLUDE = re.compile(r'^#include ["<](.*)[">]$', re.M)


def unproven_headers(root: Path) -> list[Path]:
    """The public headers of native/ and runtime/ that no C file there includes first, because a build compiles the others."""
    sources = [*source.files(root / "native", ".c"), *source.files(root / "runtime", ".c")]
    first = {match[1] for path in sources if (match := _INCLUDE.search(source.read(path)))}
    found = [
        *source.files(root / "native", ".h"),
        *source.files(root / "runtime", ".h"),
    ]
    return [path for path in found if not path.stem.endswith("_private") and "/".join(path.parts[-2:]) not in first]


def glib_flags() -> list[str]:
    """GLib's flags from pkg-config. Errors: CalledProcessError, FileNotFoundError."""
    command = ["pkg-config", "--cflags", "glib-2.0"]
    return shlex.split(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def compile_alone(root: Path, header: Path, flags: list[str]) -> str | None:
    """The compiler's first error as a finding, or None."""
    folders = [f"-I{root / 'native'}", f"-I{root / 'runtime'}"]
    command = [
        os.environ.get("CC", "cc"),
        *FLAGS,
        *flags,
        *folders,
        *("-fsyntax-only", "-x", "c", "-"),
    ]
    done = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, check=False, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    first = (errors or done.stderr.splitlines() or ["the compiler failed"])[0]
    return f"{header.relative_to(root)}: does not compile alone: {first.replace(f'{root}/', '')}"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    flags = glib_flags()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = pool.map(lambda h: compile_alone(root, h, flags), unproven_headers(root))
        yield from (finding for finding in findings if finding)


if __name__ == "__main__":
    source.run(check)
