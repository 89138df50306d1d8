"""Makes SARIF 2.1.0 from a run: a result for each place of the bug, with the patch as its fix."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from acr.report.parse_diff import FileDiff, changes
from acr.report.plain import line_of
from acr.report.story import Place, Run

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
RULE = "acr-host/bug-location"


def _artifact(path: str) -> dict[str, Any]:
    return {"uri": quote(path), "uriBaseId": ROOT}


def _replacement(change: Any) -> dict[str, Any]:
    end = (
        {"endLine": change.last} if change.ends_file else {"startColumn": 1, "endLine": change.last + 1, "endColumn": 1}
    )
    inserted = {"insertedContent": {"text": change.text}} if change.text else {}
    return {"deletedRegion": {"startLine": change.first, **end}, **inserted}


def _changes(file: FileDiff) -> dict[str, Any] | None:
    rows = [_replacement(change) for change in changes(file) if change.first >= 1]
    return {"artifactLocation": _artifact(file.path), "replacements": rows} if rows else None


def _fixes(run: Run) -> list[dict[str, Any]]:
    if not run.is_exact or run.verdict in ("refused", "none"):
        return []
    found = [row for row in map(_changes, run.files) if row]
    text = f"Patch of acr-host ({run.verdict})"
    return [{"description": {"text": text}, "artifactChanges": found}] if found else []


def _result(place: Place, run: Run) -> dict[str, Any]:
    first = max(place.lines[0], 1)
    region = {"startLine": first, "endLine": max(first, place.lines[1])}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(place.file), "region": region}}
    if place.name:
        location["logicalLocations"] = [{"fullyQualifiedName": place.name}]
    said = line_of(place.behavior, 4000) or "The issue's bug is here."
    result: dict[str, Any] = {"ruleId": RULE, "ruleIndex": 0, "level": "error", "message": {"text": said},
                              "locations": [location]}  # fmt: skip
    if fixes := _fixes(run):
        result["fixes"] = fixes
    return result


def render_sarif(run: Run, version: str) -> dict[str, Any]:
    """The log as JSON values."""
    rule = {
        "id": RULE, "name": "BugLocation",
        "shortDescription": {"text": "A place that has to change for the issue, as the model located it"},
    }  # fmt: skip
    driver: dict[str, Any] = {"name": "acr-host", "version": version, "rules": [rule]}
    told = {"verdict": run.verdict, "why": run.why, "status": run.status}
    one = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "properties": told,
           "results": [_result(place, run) for place in run.places]}  # fmt: skip
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [one]}
