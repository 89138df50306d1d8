"""The container image of tools/package, built as the first lines of its Dockerfile say, on a Debian image made here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import sandboxes
from host import ROOT
from repos import sample_repo
from runs import ISSUE, SCRIPT, check_patch

pytestmark = pytest.mark.full
MOST_BYTES = 220_000_000
LIKE_SLIM = ("man", "locale", "doc")
# The usual base has the first instead of the second, which needs all of Perl.
MERGED, MERGER = "usr-is-merged", "usrmerge"
OPEN = ("--security-opt=seccomp=unconfined", "--security-opt=systempaths=unconfined")


class Podman:
    """The command, with a store below `folder`; only the command sees its mounts."""

    def __init__(self, folder: Path) -> None:
        self.env = os.environ | sandboxes.podman_environment(folder)

    def __call__(self, *words: object, seconds: int = 600) -> str:
        command = ["unshare", "--mount", "--propagation", "private", "podman", *map(str, words)]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=seconds)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        return done.stdout + done.stderr

    def run(self, *words: object) -> str:
        """The output of acr-host in a container of the image."""
        return self("run", "--rm", "--network=none", *words)


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Podman:
    """With the image `acr-host`."""
    sandboxes.need("podman")
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is not installed")
    folder = tmp_path_factory.mktemp("image")
    words = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in LIKE_SLIM]
    words += [f'--aptopt=Acquire::{name} "false"' for name in ("Check-Valid-Until", "Check-Date")]
    words += [f"--include={MERGED}", f'--customize-hook=chroot "$1" apt-get -qy purge {MERGER} "perl-modules-5.*"']
    words += ["--customize-hook=rm -rf $1/var/lib/apt/lists/* $1/var/cache/apt/*", "bookworm", f"{folder}/base.tar"]
    made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", *words], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no Debian 12 can be made here: {made.stderr.decode()[-300:]}")
    podman = Podman(folder / "podman")
    podman("import", "--quiet", folder / "base.tar", "debian:bookworm-slim")
    build = (
        "build",
        "--network=host",
        "--isolation=chroot",
        "-t",
        "acr-host",
        "-f",
        ROOT / "tools/package/Dockerfile",
        ROOT,
    )
    podman(*build, seconds=1800)
    return podman


def test_it_is_small(podman: Podman) -> None:
    assert int(podman("image", "inspect", "--format={{.Size}}", "acr-host")) < MOST_BYTES
    assert podman("image", "inspect", "--format={{.User}}", "acr-host").strip() == "acr"


def test_it_fixes_the_sample(podman: Podman) -> None:
    for user in ("acr", "1234:1234"):
        assert "+            total += cost_in_blocks" in podman.run(f"--user={user}", "acr-host", "demo")
    assert "verified: yes (" in podman.run(*OPEN, "acr-host", "demo")


def test_a_repository_of_another_user_is_worked_on(podman: Podman, tmp_path: Path) -> None:
    """The repository is mounted where the image searches first; the patch belongs to the repository's owner."""
    repo = sample_repo(tmp_path / "repo")
    for name, file in (("issue.md", ISSUE), ("answers.jsonl", SCRIPT)):
        shutil.copy(file, repo.path / ".git" / name)
    run = ("run", "--issue", ".git/issue.md", "--model", "script:.git/answers.jsonl", "--verify=never")
    mounted = ("-v", f"{repo.path}:/repo", "acr-host", *run)
    assert "part.days" in podman.run(*mounted, "--repo", "/repo")
    own(repo.path, 1234)
    assert "part.days" in podman.run("--user=1234:1234", *mounted, "--apply")
    own(repo.path, 0)
    patch = repo.git_bytes("diff", "--full-index")
    repo.git("checkout", "-q", "-f", "HEAD")
    check_patch(patch, repo)


def own(folder: Path, user: int) -> None:
    """Make a user the owner of the whole tree."""
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, user, user, follow_symlinks=False)
