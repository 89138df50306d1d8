"""Tests of how the entry point of an installed extension leads to its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from acr import extension_worker


def located(name: str) -> object:
    """The result of the search for that name."""
    return json.loads(extension_worker.locate(json.dumps({"name": name}).encode()))


def test_an_entry_point_leads_to_the_file_of_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "house_rules").mkdir()
    (tmp_path / "house_rules" / "__init__.py").write_text("")
    (tmp_path / "house_rules" / "checks.py").write_text("raise RuntimeError('it is not imported')\n")
    info = tmp_path / "house_rules-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-rules\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[acr_host.extensions]\nhouse = house_rules.checks\ngone = no_such_module_at_all\nbuilt = sys\n[other]\nodd = house_rules\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert located("house") == {"path": str(tmp_path / "house_rules" / "checks.py")}
    assert located("built") == located("gone") == located("odd") == located("nothing") == {"path": None}
