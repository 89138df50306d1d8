"""Finds the scripts that replay recorded model runs; they lie beside the recorded data, outside the repository.

Importing this module imports theirs; if they are missing, it skips the importing test file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from host import ROOT

SHARED = Path(os.environ.get("ACR_SHARED") or ROOT.parent / "shared")
TOOLS = SHARED / "tools" / "recorded"

if not (TOOLS / "replay_runs.py").is_file():
    pytest.skip(f"no scripts for recorded runs in {TOOLS}", allow_module_level=True)
sys.path.append(str(TOOLS))

import environments  # noqa: E402
import tasks  # noqa: E402
import testlogs  # noqa: E402
import trees  # noqa: E402
from changes import encoded  # noqa: E402

__all__ = ["SHARED", "TOOLS", "encoded", "environments", "tasks", "testlogs", "trees"]
