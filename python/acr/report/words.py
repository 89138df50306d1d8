"""A run in a few lines: as text for a terminal, as Markdown for a comment, as JSON, as JUnit's cases."""

from __future__ import annotations

import posixpath
from typing import Any

from acr import layout
from acr.report.batch_page import grade_of
from acr.report.junit import Case
from acr.report.markdown import block, code
from acr.report.plain import count_of, line_of, rows_of, usd, visible
from acr.report.story import RESULTS, SCRIPT_VERDICTS, Run, cost_of, cost_words, stage_words, status_words

MAX_COMMENT_DIFF = 40_000  # characters


def run_summary(run: Run) -> dict[str, Any]:
    """The output of `--format json`."""
    evidence = run.evidence()
    ran = {"script": layout.REPRODUCER % evidence[0], "without": evidence[1].result,
           "with": evidence[2].result} if evidence else None  # fmt: skip
    return {
        "kind": "run", "name": run.name, "verdict": run.verdict, "why": run.why, "status": run.status,
        "error": run.error or None, "models": run.models, "commit": run.commit or None,
        "search_history": run.has_history,
        "files": [file.path for file in run.files], "evidence": ran, "locations": [
            {"file": at.file, "class": at.klass or None, "func": at.func or None, "start": at.lines[0],
             "end": at.lines[1], "intended_behavior": at.behavior} for at in run.places],
        "edits": [edit for attempt in run.attempts[:20] for one in attempt.tries[:50] for edit in rows_of(one.get("edits"))],
        "cost": cost_of(run),
        "stages": {name: dict(zip(("steps", "ms", "cost_microusd"), sums)) for name, sums in run.journal.stages.items()},
    }  # fmt: skip


def _facts(run: Run) -> list[tuple[str, str]]:
    cost, evidence = cost_of(run), run.evidence()
    verdict = f"{run.said} ({run.why})" if run.why else run.said
    log = posixpath.normpath(f"{run.folder}/{run.test_log}") if run.test_log else ""
    rows = [("run", run.name), ("verdict", verdict), ("grade", grade_of(run)), ("test log", log)]
    rows += [
        ("error", " ".join(run.error.split())),
        ("unread", " ".join(run.unread.split())),
        ("status", status_words(run.status) if run.status != "APPLICABLE_PATCH" else ""),
        ("script", layout.SCRIPT if run.script else ""),
    ]
    rows += [("model", model) for model in run.models] + [("commit", run.base)]
    rows += [("history", "the model could read git's history")] * run.has_history
    if evidence:
        said = [RESULTS.get(ran.result, ran.result) for ran in evidence[1:]]
        rows.append(("evidence", f"{layout.REPRODUCER % evidence[0]}: {said[0]} without the patch; {said[1]} with it"))
    rows.append(("validated", f"'{line_of(run.validate, 200)}' {run.validation}" if run.validation else ""))
    rows += [
        ("place", f"{at.file}:{'-'.join(map(str, at.lines))} {line_of(at.behavior, 200)}") for at in run.places[:20]
    ]
    rows += [("changed", line_of(file.path)) for file in run.files[:50]]
    so_far = usd(sum(sums[2] for sums in run.journal.stages.values())) + " so far"
    spent = f"{count_of(cost['calls'], 'call')}, {cost_words(cost)}" if run.cost else so_far
    rows.append(("cost", spent if run.models or cost["calls"] else ""))
    return [(name, value) for name, value in rows if value]


def run_text(run: Run) -> str:
    """A line for each fact."""
    sums = run.journal.stages.items()
    stages = [
        ("stage", f"{stage_words(name)}: {count_of(steps, 'step')}, {ms / 1000:.1f} s") for name, (steps, ms, _) in sums
    ]
    return "".join(f"{name:9} {value}\n" for name, value in [*_facts(run), *stages])


def pair_text(run: Run, other: Run) -> str:
    """Two runs, one after the other."""
    said = "Both runs wrote the same patch." if run.patch == other.patch else "The patches differ."
    return "".join(f"{each.folder or each.name}\n{run_text(each)}\n" for each in (run, other)) + said + "\n"


def run_markdown(run: Run) -> str:
    """A comment with the facts, the issue's places and the diff."""
    facts = "".join(f"- **{name}**: {code(value, 1000)}\n" for name, value in _facts(run))
    diff = visible(run.patch[:MAX_COMMENT_DIFF])
    cut = "\nThe rest of the diff is left out.\n" if len(run.patch) > MAX_COMMENT_DIFF else ""
    if run.verdict in SCRIPT_VERDICTS:
        return f"### acr-host: {run.said}\n\n{facts}" + (f"\n{block('python', run.script)}" if run.script else "")
    return f"### acr-host: {run.said}\n\n{facts}\n" + (block("diff", diff) + cut if diff else "There is no patch.\n")


def run_cases(run: Run) -> list[Case]:
    """The claims of a run: that there is a patch, and that it is proved."""
    seconds = sum(sums[1] for sums in run.journal.stages.values()) / 1000
    suite, why = run.name.rpartition("/")[2] or "run", run.error or run.why or run.status
    if run.verdict in SCRIPT_VERDICTS:
        return [(suite, "the issue was reproduced", "passed" if run.script else "failed", why, seconds)]
    has_patch = run.verdict != "none"
    state = {"verified": "passed", "validated": "passed", "refused": "failed"}.get(run.verdict, "skipped")
    return [
        (suite, "a patch was written", "passed" if has_patch else "failed", why, seconds),
        (suite, "the patch is proved", state if has_patch else "skipped", why, 0.0),
    ]
