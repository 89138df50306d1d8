"""A patch is also proved in a container, or without a sandbox; acr-host notices files that the script rewrites there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sandboxes
from hostile import TINY
from repos import digest
from verifying import RED, RIGHT, SCRIPT, YES_YES, Case, case, guard, patch, review, search, test_line, verified

__all__ = ["case"]

IMAGE = "acr-host-test/tiny"
REWRITES = "\nwith open({name!r}, 'a') as file:\n    file.write('# more\\n')\n"


@pytest.fixture(scope="module", params=["podman", pytest.param("dockerd", marks=pytest.mark.full)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Engine]:
    """An engine with an image that contains the project."""
    folder = tmp_path_factory.mktemp(request.param)
    sandboxes.make_rootfs(TINY, folder / "root.tar")
    started = sandboxes.start(request.param, folder / "engine", {IMAGE: folder / "root.tar"})
    yield started
    started.stop()


SCRIPTS = pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "yes (reproducer_1.py fails without the patch and passes with it; "),
        (REWRITES.format(name="app.py"), "the script writes 'app.py'"),
    ],
    ids=["honest", "project"],
)


@SCRIPTS
def test_a_proof_in_an_image(case: Case, engine: sandboxes.Engine, more: str, said: str) -> None:
    before = digest(case.repo.path)
    script = SCRIPT.replace("\n\n", more + "\n\n", 1)
    lines = [guard(), test_line(script), *search(RED), patch(RIGHT), review(YES_YES, RED)]
    case.options = ["--image", IMAGE, "--verify"]
    result = case.run(lines, env={"DOCKER_HOST": f"unix://{engine.socket}"}, timeout=180).check()
    assert said in verified(result)
    assert verified(result).startswith("yes") == (more == "")
    assert digest(case.repo.path) == before
    assert engine.containers() == []
    replayed = case.host.run("replay", case.out, env={"DOCKER_HOST": "unix:///nowhere"}).check()
    assert replayed.stdout == result.stdout


@SCRIPTS
def test_a_proof_without_walls(case: Case, more: str, said: str) -> None:
    before = digest(case.repo.path)
    script = SCRIPT.replace("\n\n", more + "\n\n", 1)
    case.options = ["--sandbox", "plain", "--verify"]
    result = case.run([guard(), test_line(script), *search(RED), patch(RIGHT), review(YES_YES, RED)]).check()
    assert said in verified(result)
    assert verified(result).startswith("yes") == (more == "")
    assert digest(case.repo.path) == before
