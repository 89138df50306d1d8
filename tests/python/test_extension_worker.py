"""Tests of how the entry point of an installed extension leads to its file, and of the signatures of its functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from acr import extension_worker, extensions


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


HEAD = "from functools import lru_cache, wraps\nfrom acr.extensions import *\nAPI = 1\n"
REFUSED = {
    "@patch_check\ndef f(): pass": "the check function must be `def f(patch)`: too many positional arguments",
    "@on('call')\ndef f(event, more): pass": "the on:call function must be `def f(event)`: missing a required argument: 'more'",
    "@log_parser('x')\ndef f(*, log): pass": "the parser function must be `def f(log)`: too many positional arguments",
    "@localiser\ndef f(repo): pass": "the localiser function must be `def f(repo, issue)`: too many positional arguments",
    "@issue_source('x')\ndef f(): pass": "the source function must be `def f(reference)`: too many positional arguments",
    "@search_call\ndef f(a: str):\n    'F.'": "the first argument of the call f must be `repo`: `def name(repo, a: str)`",
    "@search_call\ndef f(**repo):\n    'F.'": "the first argument of the call f must be `repo`: `def name(repo, a: str)`",
}
TAKEN = (
    "@patch_check\ndef f(patch, limit=3, *rest, **more): pass",
    "@patch_check\ndef f(*given): pass",
    "@lru_cache\n@patch_check\ndef f(patch): pass",
    "def put(g):\n    @wraps(g)\n    def f(patch): return g(patch, 1)\n    return f\n@put\n@patch_check\ndef f(patch, more): pass",
)


def test_a_function_must_take_what_it_is_called_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for source, wanted in (REFUSED | dict.fromkeys(TAKEN)).items():
        monkeypatch.setattr(extensions, "marked", [])
        question = json.dumps({"path": str(tmp_path / "mine.py"), "source": HEAD + source})
        assert json.loads(extension_worker.load(question.encode())).get("error") == wanted, source
