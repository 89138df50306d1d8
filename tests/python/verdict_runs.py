"""Runs the experiments of a verdict without a sandbox: each script in a fresh folder, with this Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from acr.experiments.outcome import Outcome
from acr.experiments.verdict import Case, Run, judge

Texts = dict[str, bytes | None]
FIRST = "reproducer.py"


def execute(files: Texts, script: str, file: str, is_pipe: bool, seed: int, tree: Path) -> Outcome:
    """Run the script beside these files, written to `tree`; return how it ended."""
    tree.mkdir()
    for path, text in files.items():
        if text is not None:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(text)
    if not is_pipe:
        (tree / file).write_text(script, "utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(tree / "src")}
    environment["USER"] = os.urandom(4).hex()  # in the sandbox, too, each run has another user
    done = subprocess.run(
        [sys.executable, "-" if is_pipe else file],
        cwd=tree,
        env=environment,
        input=script.encode() if is_pipe else b"",
        capture_output=True,
        timeout=120,
    )
    return Outcome(done.returncode, 0 <= done.returncode <= 128, done.stderr, done.stdout, file)


def verdict(script: str, before: Texts, after: Texts, seed: str = "seed") -> tuple[str, list[dict]]:
    """(why the patch from `before` to `after` is not verified, or "" if it is; the table of experiments)."""
    with TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"

        def ended(files: Texts, text: str, file: str, is_pipe: bool, number: int) -> Outcome:
            outcome = execute(files, text, file, is_pipe, number, tree)
            tree.rename(Path(folder) / f"old_{len(os.listdir(folder))}")
            return outcome

        first = ended(before, script, FIRST, False, 0)
        if not first.failed or not ended(after, script, FIRST, False, 0).passed:
            return "it is not red before and green after", []
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        sides = [{path: side.get(path) for path in changed} for side in (before, after)]
        tops = {path.split("/")[1 if path.startswith(("src/", "lib/")) else 0].removesuffix(".py") for path in before}
        case = Case(script, first, str(tree), sides[0], sides[1], tops, seed)
        steps, got = judge(case), None
        try:
            while True:
                run: Run = steps.send(got)
                files = {**before, **(case.patched if run.is_patched else {}), **run.files}
                got = ended(files, run.script, run.file, run.is_pipe, run.hash_seed)
        except StopIteration as end:
            return end.value, case.rows
