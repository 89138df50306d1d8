"""tools/package/provenance.py: the bill of materials, the checksums and the signature of packages made for the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "package" / "provenance.py"
PROGRAM = Path("/bin/sh")


def describe(*packages: Path, **env: str) -> list[dict[str, Any]]:
    """Run the script; return the bills of materials."""
    command = [sys.executable, SCRIPT, "--loads", "no-such-package, libc6", *packages]
    subprocess.run(command, check=True, env=os.environ | env)
    return [json.loads(path.with_name(path.name + ".cdx.json").read_text("utf-8")) for path in packages]


def test_packages_are_described_and_summed(tmp_path: Path) -> None:
    if not shutil.which("readelf") or not shutil.which("dpkg-query"):
        pytest.skip("readelf or dpkg-query is missing")
    tarball, wheel = tmp_path / "acr-host-1.2.3-linux-x86_64.tar.gz", tmp_path / "acr_host-1.2.3-py3-none-any.whl"
    with tarfile.open(tarball, "w:gz") as archive:
        archive.add(PROGRAM.resolve(), "acr-host/bin/acr-host")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(PROGRAM, "acr_host/bin/acr-host")
        archive.write(PROGRAM, "acr_host.libs/libc.so.6")
    first, second = describe(tarball, wheel)
    assert (first["bomFormat"], first["specVersion"]) == ("CycloneDX", "1.6")
    assert first["metadata"]["component"]["version"] == second["metadata"]["component"]["version"] == "1.2.3"
    names = [part["name"] for part in first["components"]]
    assert names.count("libc6") == 1 and "no-such-package" in names
    (libc,) = (part for part in first["components"] if part["name"] == "libc6")
    assert libc["purl"].startswith(f"pkg:deb/debian/libc6@{libc['version']}?arch=")
    assert first["dependencies"][0]["dependsOn"] == [part["bom-ref"] for part in first["components"]]
    (brought,) = (part for part in second["components"] if part["name"] == "libc.so.6")
    assert len(brought["hashes"][0]["content"]) == 64
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True)
    assert len((tmp_path / "SHA256SUMS").read_text("utf-8").splitlines()) == 4
    assert describe(tarball) == [first]
    assert not (tmp_path / "SHA256SUMS.asc").exists()


def test_checksums_are_signed_where_a_key_is_given(tmp_path: Path) -> None:
    if not shutil.which("gpg"):
        pytest.skip("gpg is missing")
    home = Path(tempfile.mkdtemp(prefix="acr-gpg-", dir="/tmp"))  # the socket of gpg's agent needs a short path
    env = os.environ | {"GNUPGHOME": str(home)}
    make = ["gpg", "--batch", "--passphrase", "", "--quick-gen-key", "packager@example.org", "ed25519", "sign", "never"]
    subprocess.run(make, check=True, env=env, capture_output=True)
    package = tmp_path / "acr-host-1.2.3.tar.gz"
    with tarfile.open(package, "w:gz") as archive:
        archive.add(PROGRAM.resolve(), "acr-host/bin/acr-host")
    describe(package, GNUPGHOME=str(home), ACR_SIGNING_KEY="packager@example.org")
    check = ["gpg", "--verify", tmp_path / "SHA256SUMS.asc", tmp_path / "SHA256SUMS"]
    subprocess.run(check, check=True, env=env, capture_output=True)
    subprocess.run(["gpgconf", "--kill", "all"], check=False, env=env)
    shutil.rmtree(home, ignore_errors=True)
