"""Small plots: bars in a table, strips as SVG; the page's classes colour them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest

from acr.report.markup import Html, join, table, tag

WIDTH, HEIGHT, BUCKETS = 960, 30, 120


def bars(label: str, rows: list[tuple[str, float, str]], kinds: Iterable[str] = ()) -> Html:
    """A bar for each (name, value, value as written), in the colours of `kinds`."""
    most = max((value for _, value, _ in rows), default=0) or 1
    drawn: list[list[object]] = [
        [name, tag("meter", value=round(value, 3), max=round(most, 3), aria_label=f"{label}: {name}", class_=kind),
         tag("span", written, class_="n")] for (name, value, written), kind in zip_longest(rows, kinds)]  # fmt: skip
    return table(["", "", ""], drawn, label)


def heat(name: str, seen: Counter[int], places: Iterable[tuple[int, int]], edits: Iterable[tuple[int, int]]) -> Html:
    """A strip for a file: how often its lines were shown, frames around places of the bug, edited lines below."""
    places, edits = list(places), list(edits)
    last = max([*seen, *(end for _, end in [*places, *edits]), 1])
    buckets = min(BUCKETS, last)
    counts: Counter[int] = Counter()
    for line, times in seen.items():
        counts[min((line - 1) * buckets // last, buckets - 1)] += times
    most = max(counts.values(), default=1)
    step = WIDTH / buckets
    drawn = [tag("rect", x=0, y=4, width=WIDTH, height=16, class_="rail")]
    for bucket, times in sorted(counts.items()):
        strength = round(0.15 + 0.85 * times / most, 2)
        drawn.append(tag("rect", x=round(bucket * step, 1), y=4, width=round(step, 1), height=16, class_="seen",
                         fill_opacity=strength))  # fmt: skip
    for spans, kind, y, height in ((places, "place", 2, 20), (edits, "edit", 24, 5)):
        for first, end in spans:
            x = (first - 1) / last * WIDTH
            width = max((end - first + 1) / last * WIDTH, 4)
            drawn.append(tag("rect", x=round(x, 1), y=y, width=round(width, 1), height=height, class_=kind))
    label = f"{name}: lines 1 to {last}; shown to the model, places of the bug, edited lines"
    strip = tag(
        "svg", *drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none", role="img", aria_label=label
    )
    return join([tag("h3", name), strip])
