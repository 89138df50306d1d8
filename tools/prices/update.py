"""Writes the built-in price table from LiteLLM's list.

usage: update.py [--wheel FILE] [--date YYYY-MM-DD] [--output FILE]; without --wheel, pip downloads the newest wheel.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "native/money/price_table.json"
LIST = "litellm/model_prices_and_context_window_backup.json"
# LiteLLM's provider -> ours.
FAMILIES = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "deepseek": "deepseek",
    "gemini": "gemini",
    "groq": "groq",
    "openai": "openai",
}
PREFIXES = ("openai/", "azure/", "anthropic/", "bedrock/", "gemini/", "groq/", "deepseek/")
# Models that also charge for other things than text tokens.
OTHER = re.compile(r"audio|realtime|lyria|tts|omni|image|computer-use|container|deep-research|search")
KINDS = ("input", "cached", "written", "output", "reasoning")
MEMBERS = {
    "input_cost_per_token": "input",
    "cache_read_input_token_cost": "cached",
    "cache_creation_input_token_cost": "written",
    "output_cost_per_token": "output",
    "output_cost_per_reasoning_token": "reasoning",
}
# The suffix of the members for each service tier; the program asks for tiers at these providers.
SERVICES = ("", "_flex", "_priority")
SERVED = ("openai", "azure", "bedrock", "gemini")
PRICED = re.compile(r"(.+?)(?:_above_(\d+)k_tokens)?(_flex|_priority)?")
MAX_TIERS = 3
# Suffixes that native/money/price_names.c removes from a name.
ENDS = tuple(
    re.compile(end + r"\Z")
    for end in (
        r"@[^/]*",
        r"-\d{4}-\d\d-\d\d",
        r"-\d{8}",
        r"-\d{4}",
        r"-\d\d-\d\d",
        r"-00\d",
        r"-latest",
        r"-v\d:\d",
        r"-v\d",
        r"-v\d:\d:\d\dk",
        r"-v\d:\d:\d\d\dk",
    )
)
REGIONS = ("us.", "eu.", "apac.", "global.", "jp.", "au.", "ca.", "sa.", "us-gov.")

Tier = tuple[int, ...]  # pico-USD per token for each of KINDS, for each of SERVICES; -1: not stated


class Price(NamedTuple):
    """The price of a model's tokens, and its limits in tokens (-1: not stated)."""

    base: Tier
    tiers: tuple[tuple[int, Tier], ...]
    max_input: int
    max_output: int

    def costs(self) -> tuple[Tier, tuple[tuple[int, Tier], ...]]:
        """The price without the limits."""
        return self.base, self.tiers


def pico(usd: Any) -> int:
    """USD per token, as decimal text, in pico-USD, rounded to the nearest."""
    amount = Decimal(str(usd)) * 10**12
    if not 0 <= amount <= 10**10:
        raise ValueError(f"no price of a token: {usd}")
    return int(amount.to_integral_value())


def tier(said: dict[str, int]) -> Tier:
    """A tier: the price of each kind."""
    return tuple(said.get(kind + service, -1) for service in SERVICES for kind in KINDS)


def read_price(row: dict[str, Any], has_services: bool) -> Price | None:
    """A row's price; None if it has no price for input or output, or is free."""
    steps: dict[int, dict[str, int]] = {0: {}}
    for member, value in row.items():
        match = PRICED.fullmatch(member)
        if not match or match[1] not in MEMBERS or value is None or (match[3] and not has_services):
            continue
        step = int(match[2] or 0) * 1000
        steps.setdefault(step, {})[MEMBERS[match[1]] + (match[3] or "")] = pico(value)
    base = steps.pop(0)
    if not base.get("input") or not base.get("output"):
        return None
    if not base.get("written", -1):
        del base["written"]  # here, 0 means "no such kind"
    tiers = tuple((above, tier(steps[above])) for above in sorted(steps))
    if len(tiers) > MAX_TIERS:
        raise ValueError(f"more than {MAX_TIERS} thresholds: {row}")
    limits = (row.get(f"max_{side}_tokens") for side in ("input", "output"))
    return Price(tier(base), tiers, *(int(limit) if limit else -1 for limit in limits))


def our_name(key: str, family: str) -> str | None:
    """The row's name, "PROVIDER/NAME"; None for regions and commitments, which no model name contains."""
    name = key.removeprefix(family + "/")
    if family in ("azure", "bedrock") and "/" in name:
        return None
    return f"{family}/{name}"


def read_rows(listed: dict[str, Any]) -> dict[str, Price]:
    """The chat models of our providers, by name; a name with a provider takes precedence."""
    rows: dict[str, Price] = {}
    for key, row in sorted(listed.items(), key=lambda item: item[0].count("/")):
        family = FAMILIES.get(row.get("litellm_provider", ""))
        if not family or row.get("mode") not in ("chat", "responses") or OTHER.search(key):
            continue
        name, price = our_name(key, family), read_price(row, family in SERVED)
        if name and price:
            rows[name] = price
    return rows


def shorter(name: str) -> Iterator[str]:
    """The name, and its shorter forms as dates and versions are removed from its end."""
    yield name
    for _ in range(4):
        ends = (end.search(name) for end in ENDS)
        found = next((match for match in ends if match), None)
        if not found:
            return
        name = name[: found.start()]
        yield name


def spellings(name: str) -> Iterator[str]:
    """All names under which the program looks up "PROVIDER/NAME", in order."""
    family, bare = name.split("/", 1)
    yield from (f"{family}/{short}" for short in shorter(bare))
    if family == "bedrock":
        for region in REGIONS:
            if bare.startswith(region):
                rest = bare.removeprefix(region)
                yield from (f"{family}/{short}" for short in shorter(rest))
                return


def thinned(rows: dict[str, Price]) -> dict[str, Price]:
    """The rows, without those that the program finds at the same cost under a shorter name."""
    kept = dict(rows)
    for name in sorted(rows, key=lambda n: (-len(n), n)):
        others = (kept[other] for other in spellings(name) if other != name and other in kept)
        other = next(others, None)
        if other and other.costs() == kept[name].costs():
            del kept[name]
    for name, price in rows.items():
        found = next(kept[other] for other in spellings(name) if other in kept)
        if found.costs() != price.costs():
            raise ValueError(f"{name} is not found any more")
    return kept


def json_row(name: str, price: Price) -> dict[str, Any]:
    """A row of the table, in LiteLLM's format."""
    row: dict[str, Any] = {"litellm_provider": name.split("/", 1)[0]}
    for above, values in ((0, price.base), *price.tiers):
        end = f"_above_{above // 1000}k_tokens" if above else ""
        members = [member + end + service for service in SERVICES for member in MEMBERS]
        for member, value in zip(members, values):
            if value >= 0:
                row[member] = float(Decimal(value).scaleb(-12))
    for side, limit in (("input", price.max_input), ("output", price.max_output)):
        if limit >= 0:
            row[f"max_{side}_tokens"] = limit
    return row


def json_file(rows: dict[str, Price], date: str, version: str) -> str:
    """The table: a line that states its source, then one row per line."""
    about = {"date": date, "source": f"litellm {version} (MIT), by tools/prices/update.py"}
    lines = [f'"sample_spec": {json.dumps(about)}']
    lines += [f"{json.dumps(name)}: {json.dumps(json_row(name, rows[name]))}" for name in sorted(rows)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def download(folder: Path) -> Path:
    """Download the newest wheel of LiteLLM; return its path."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
    subprocess.run([*command, "--dest", str(folder), "litellm"], check=True)
    return next(folder.glob("litellm-*.whl"))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="read this wheel of LiteLLM instead of downloading one")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--output", type=Path, default=TABLE)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel or download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            listed = json.loads(archive.read(LIST), parse_float=str)
    rows = thinned(read_rows(listed))
    text = json_file(rows, options.date, wheel.name.split("-")[1])
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: {len(rows)} names, {len(set(rows.values()))} prices")


if __name__ == "__main__":
    main()
