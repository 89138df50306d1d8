"""An extension to begin with: it shows where names are assigned, and rejects patches that leave a breakpoint.

Run its tests: acr-host extensions test THIS_FILE --repo DIR
Use it:        acr-host run … --extension THIS_FILE
"""

from __future__ import annotations

from acr.extensions import Event, Patch, Place, Repo, on, patch_check, search_call

API = 1  # the version of the interface that this file is written for
__version__ = "0.1"


@search_call
def search_assignment(repo: Repo, name: str) -> list[Place]:
    """Shows where a name is assigned at the top of a module or a class.

    name: The name, without dots
    """
    # Models see the first paragraph above, and for each argument its line. A text may be returned as well.
    return [Place(each.file, each.start, each.end) for each in repo.symbols(name=name) if each.kind == "assignment"]


@patch_check
def no_breakpoint(patch: Patch) -> str | None:
    """Runs for each patch before it is accepted; what it returns goes back to the model."""
    added = [line for line in patch.diff.splitlines() if line.startswith("+") and "breakpoint()" in line]
    return f"the patch leaves a breakpoint: {added[0][1:].strip()}" if added else None


seen: list[str] = []  # stays from call to call, in one run


@on("call")
def note_repetition(event: Event) -> str | None:
    """Runs before each search call; the user reads what it returns with --verbose."""
    call = event.data["call"]
    seen.append(call)
    return f"{call} was called {seen.count(call)} times" if seen.count(call) > 1 else None


def test_finds_assignments(repo: Repo) -> None:
    """Tests get the repository of --repo, and check results with `assert`."""
    names = [each for each in repo.symbols() if each.kind == "assignment"]
    if names:
        first = names[0]
        assert Place(first.file, first.start, first.end) in search_assignment(repo, first.name)
    assert search_assignment(repo, "no name that is assigned") == []


def test_rejects_a_breakpoint(repo: Repo) -> None:
    """Patches can be made by hand."""
    assert no_breakpoint(Patch("+    breakpoint()\n", [], repo))
    assert no_breakpoint(Patch("-    breakpoint()\n", [], repo)) is None
