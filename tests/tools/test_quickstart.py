"""Tests of tools/quickstart with replacements for the build and the program: what it prints, and when it fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Replaces acr-host: changes a copy of the repository with sed, and writes the diff as the program does.
PROGRAM = r"""#!/bin/bash
set -e
[ "$*" = "run --repo build/quickstart/repo --issue tests/fixtures/sample/issue.md --model \
script:tests/fixtures/sample/answers.jsonl --out build/quickstart/out --verbose" ] || exit 2
echo "round 1: two calls" >&2
cd build/quickstart
mkdir out
cp -r repo copy
sed -i "$EDIT" copy/brookbill/tariffs/seasonal.py
git -C copy diff >out/patch.diff
rm -rf copy
mkdir out/attempt_0
echo "assert whole == parts" >out/attempt_0/reproducer_2.py
says="acr-host run: verified: yes (reproducer_2.py fails without the patch and passes with it)"
eval "$MORE"
cat out/patch.diff
echo "$says" >&2
"""
FIX = "/for part in/,/left -=/s/blocks, period/blocks, part/; /self.season_on(last/,/return/s/blocks, period/blocks, last/"
HALF = "/self.season_on(last/,/return/s/blocks, period/blocks, last/"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The part of the source tree that quickstart needs, with a replacement for the built program."""
    for name in ("tools/lib", "tools/cmake", "tests/fixtures/sample"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy2(ROOT / "tools" / "quickstart", tmp_path / "tools" / "quickstart")
    write_program(tmp_path / "build" / "release" / "acr-host", PROGRAM)
    write_program(tmp_path / "bin" / "cmake", "#!/bin/sh\n")
    write_program(tmp_path / "bin" / "dpkg-query", "#!/bin/sh\nprintf '%s installed\\n' \"$@\"\n")
    return tmp_path


def write_program(path: Path, text: str) -> None:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def quickstart(tree: Path, edit: str, more: str = "") -> subprocess.CompletedProcess[str]:
    """Run quickstart; the program applies `edit` to seasonal.py and also runs `more`."""
    env = os.environ | {"PATH": f"{tree / 'bin'}:{os.environ['PATH']}", "EDIT": edit, "MORE": more}
    command = [str(tree / "tools" / "quickstart")]
    return subprocess.run(command, cwd="/", env=env, capture_output=True, check=False, text=True)


def test_shows_red_rounds_diff_and_green_twice(tree: Path) -> None:
    fixture = tree / "tests" / "fixtures" / "sample" / "repo" / "brookbill" / "tariffs" / "seasonal.py"
    before = fixture.read_bytes()
    for _ in range(2):
        done = quickstart(tree, FIX)
        assert done.returncode == 0, done.stdout + done.stderr
        shown = done.stdout
        places = [
            shown.index(text)
            for text in (
                "FAILED (failures=2)",
                "  round 1: two calls",
                "+            total +=",
                "  verified: yes (reproducer_2.py fails without",
                "    assert whole == parts",
                "Ran 26 tests",
                "  OK\n",
            )
        ]
        assert f'export PATH="{tree}/build/release:$PATH"' in shown and "acr-host doctor\n" in shown
        assert places[5] < places[2], "before the fix too"
        del places[5]
        assert sorted(places) == places
        assert fixture.read_bytes() == before


REFUSED = [
    (HALF, "", "the sample's tests still fail"),
    (FIX, "exit 1", "acr-host run ended with exit code 1"),
    (FIX, ": >out/patch.diff", "acr-host wrote no build/quickstart/out/patch.diff"),
    (FIX, "says=", "acr-host does not say whether the patch was verified"),
    (FIX, "echo more", "what acr-host printed is not its patch.diff"),
    (FIX, "touch repo/new.py", "acr-host changed the repository it worked on"),
    (FIX, "sed -i s/period/perjod/ out/patch.diff", "git refuses the patch"),
]


@pytest.mark.parametrize(("edit", "more", "said"), REFUSED)
def test_is_not_content_with_less(tree: Path, edit: str, more: str, said: str) -> None:
    done = quickstart(tree, edit, more)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"quickstart: {said}"


def test_says_why_nothing_was_verified(tree: Path) -> None:
    said = "verified: no (code cannot be run here: bubblewrap is not installed)"
    done = quickstart(tree, FIX, f"says='acr-host run: {said}'")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n  {said}\n\n" in done.stdout and "assert whole" not in done.stdout


def test_green_tests_before_the_fix_are_refused(tree: Path) -> None:
    (tree / "tests" / "fixtures" / "sample" / "repo" / "tests" / "test_season_change.py").unlink()
    done = quickstart(tree, FIX)
    assert (done.returncode, done.stderr) == (
        1,
        "quickstart: the sample's tests pass before the fix: there is nothing to show\n",
    )


def test_failed_build_shows_its_log(tree: Path) -> None:
    write_program(tree / "bin" / "cmake", "#!/bin/sh\necho 'libgit2 is missing'\nexit 1\n")
    done = quickstart(tree, FIX)
    assert done.returncode == 1 and "libgit2 is missing\n" in done.stderr
    said = "quickstart: configure-release failed; all of its output is in build/logs/configure-release.log"
    assert done.stderr.splitlines()[-1] == said
