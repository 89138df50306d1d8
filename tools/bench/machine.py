"""Describes the machine and the programs of a measurement, because figures mean nothing without them."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

PYTHON = "/usr/bin/python3"


def _first_line(*command: str) -> str:
    """The first line that a command prints, or "none" if the command does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, text=True)
    except OSError:
        return "none"
    return (done.stdout.splitlines() or ["none"])[0].strip()


def _field(path: str, name: str) -> str:
    """The value of the first `name : value` line of a file in /proc, or "?"."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "?"
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else "?"


def _memory_gib() -> str:
    """The machine's memory, in GiB."""
    kib = _field("/proc/meminfo", "MemTotal").split()[0]
    return f"{int(kib) / 2**20:.1f} GiB" if kib.isdigit() else "?"


def describe(binary: Path) -> dict[str, str]:
    """What was measured and where: name -> text, in the order of display."""
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "?")
    load = " ".join(f"{part:.2f}" for part in os.getloadavg())
    return {
        "processor": _field("/proc/cpuinfo", "model name"),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": _memory_gib(),
        "system": f"{system}, Linux {platform.release()}",
        "load before": load,
        "acr-host": _first_line(str(binary), "--version"),
        "git": _first_line("git", "--version"),
        "python": _first_line(PYTHON, "--version"),
    }
