"""Tests of which faults tools/faults injects where, and that the choice is repeatable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).resolve().parents[2] / "tools" / "faults"
sys.path.insert(0, str(FAULTS))

import rooms  # noqa: E402
import seeding  # noqa: E402

CODE = """\
/* if (a < b) return; */
static int file = 1 == 1;
static bool save(int fd, const char *path, GError **error)
{
    if (!path)
        return false;
    if (!acr_write(fd, path, error))
        return false;
    g_assert(fd > 2);
    if (fd >= MAX_FILES)
        return acr_set_error(error, "%d > %d", fd + 1, MAX_FILES);
    for (int i = 0; i < fd - 1; i++)
        if (path[i] == '<')
            use(path);
    return fsync(fd) == 0;
}
"""


def found() -> list[tuple[str, int, str]]:
    """(kind, line, changed line) of all faults in the code above."""
    rows = []
    for fault in seeding.candidates("a.c", CODE):
        line = fault.applied(CODE).splitlines()[fault.line - 1].strip()
        rows.append((fault.kind, fault.line, line))
    return rows


def test_each_kind_is_found_in_code_and_nowhere_else() -> None:
    assert found() == [
        ("check", 5, "if (false && (!path))"),
        ("error", 7, "if ((!acr_write(fd, path, NULL)) && false)"),
        ("check", 10, "if (false && (fd >= MAX_FILES))"),
        ("comparison", 10, "if (fd < MAX_FILES)"),
        ("off by one", 10, "if (fd > MAX_FILES)"),
        ("comparison", 12, "for (int i = 0; i >= fd - 1; i++)"),
        ("off by one", 12, "for (int i = 0; i <= fd - 1; i++)"),
        ("off by one", 12, "for (int i = 0; i < fd; i++)"),
        ("comparison", 13, "if (path[i] != '<')"),
        ("sync", 15, "return 0 == 0;"),
        ("comparison", 15, "return fsync(fd) != 0;"),
    ]


def test_choice_depends_on_the_seed_alone_and_begins_with_lost_syncs() -> None:
    first = seeding.draw("a.c", CODE, "1")
    assert first == seeding.draw("a.c", CODE, "1")
    assert first[0].kind == "sync" and len({fault.kind for fault in first[1:5]}) == 4
    assert sorted(first) == sorted(seeding.draw("a.c", CODE, "2"))
    assert any(first != seeding.draw("a.c", CODE, str(seed)) for seed in range(2, 6))


def test_key_of_a_fault_stays_when_its_line_moves() -> None:
    moved = CODE.replace("static bool save", "\n\nstatic bool save")
    keys = [[fault.key for fault in seeding.candidates("a.c", text)] for text in (CODE, moved)]
    assert keys[0] == keys[1] and len(set(keys[0])) == len(keys[0])


def test_fault_of_a_file_that_has_changed_is_refused() -> None:
    [fault] = [fault for fault in seeding.candidates("a.c", CODE) if fault.kind == "sync"]
    with pytest.raises(AssertionError, match="a.c:15 has changed"):
        fault.applied("\n" + CODE)


def test_table_names_folders_and_tests_that_exist() -> None:
    root = FAULTS.parents[1]
    for folder, room in rooms.ROOMS.items():
        assert (root / folder).is_dir() or list(root.glob(f"{folder}*.c"))
        for _, tests in rooms.stages(room):
            for test in tests:
                kind, name = test.removeprefix("asan/").partition("[")[0].split("/")
                paths = {"unit": f"tests/unit/{name}", "fuzz": f"tests/fuzz/fuzz_{name}.c"}
                assert (root / paths.get(kind, f"tests/{kind}/test_{name}.py")).exists(), test
