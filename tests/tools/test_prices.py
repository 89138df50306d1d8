"""Tests of the script that writes the built-in price table, on a small list."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "prices" / "update.py"


@pytest.fixture(scope="module")
def update() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("update", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["update"] = module
    spec.loader.exec_module(module)
    return module


def row(cost: str, provider: str = "openai", **more: Any) -> dict[str, Any]:
    """A model's row whose tokens cost `cost`, sent and received."""
    return {
        "litellm_provider": provider,
        "mode": "chat",
        "input_cost_per_token": cost,
        "output_cost_per_token": cost,
        **more,
    }


def test_prices_are_taken_from_their_decimals(update: ModuleType) -> None:
    assert update.pico("3e-06") == 3_000_000
    assert update.pico("0.000000375") == 375_000
    assert update.pico(0) == 0
    for absurd in ("-1e-6", "0.02", "NaN"):
        with pytest.raises((ValueError, ArithmeticError)):
            update.pico(absurd)


def test_a_row_has_tiers_and_limits(update: ModuleType) -> None:
    price = update.read_price(
        row(
            "1e-6",
            input_cost_per_token_above_200k_tokens="2e-6",
            cache_creation_input_token_cost_above_200k_tokens="5e-6",
            input_cost_per_token_batches="9e-6",
            output_cost_per_token_flex="5e-7",
            input_cost_per_token_above_200k_tokens_priority="4e-6",
            cache_creation_input_token_cost_above_12hr_flex="7e-6",
            max_input_tokens=1000,
        ),
        True,
    )
    none = (-1,) * 5
    assert price.base == (1_000_000, -1, -1, 1_000_000, -1, -1, -1, -1, 500_000, -1, *none)
    assert price.tiers == ((200_000, (2_000_000, -1, 5_000_000, -1, -1, *none, 4_000_000, -1, -1, -1, -1)),)
    assert (price.max_input, price.max_output) == (1000, -1)
    assert update.read_price(row("1e-6", input_cost_per_token_flex="5e-7"), False).base[5:] == none + none
    assert update.read_price(row("0"), True) is None


def test_names_that_are_found_under_shorter_ones_are_left_out(update: ModuleType) -> None:
    listed = {
        "gpt-x": row("1e-6"),
        "gpt-x-2025-01-02": row("1e-6"),
        "gpt-x-2024-01-02": row("2e-6"),
        "us.a.m-v1:0": row("1e-6", "bedrock_converse"),
        "a.m-v1:0": row("1e-6", "bedrock"),
        "eu.a.m-v1:0": row("3e-6", "bedrock"),
        "bedrock/eu-west-1/a.m-v1:0": row("9e-6", "bedrock"),
        "azure/eu/gpt-x": row("9e-6", "azure"),
        "other/gpt-x": row("1e-6", "other"),
        "gpt-audio": row("1e-6"),
        "picture": row("1e-6", mode="image_generation"),
    }
    kept = update.thinned(update.read_rows(listed))
    assert sorted(kept) == ["bedrock/a.m-v1:0", "bedrock/eu.a.m-v1:0", "openai/gpt-x", "openai/gpt-x-2024-01-02"]


def test_the_command_line_writes_a_table(tmp_path: Path) -> None:
    wheel, output = tmp_path / "litellm-9.9-py3-none-any.whl", tmp_path / "table.json"
    name = "litellm/model_prices_and_context_window_backup.json"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(name, json.dumps({"gpt-x": row("1e-6") | {"max_tokens": 5}}))
    options = ["--wheel", wheel, "--output", output, "--date", "2026-01-02"]
    subprocess.run([sys.executable, SCRIPT, *map(str, options)], check=True)
    table = json.loads(output.read_text("utf-8"))
    assert table.pop("sample_spec")["date"] == "2026-01-02"
    prices = {"input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06}
    assert table == {"openai/gpt-x": {"litellm_provider": "openai", **prices}}
