"""Describes the contents of packages: an SBOM (CycloneDX 1.6) for each, and SHA256SUMS of all, signed if a key is
given.

usage: provenance.py [--loads "NAME, NAME"] PACKAGE...; the packages are .deb, .tar.gz or .whl files in one folder.
--loads names Debian packages whose libraries the program loads at run time. If the variable ACR_SIGNING_KEY (an
identity of gpg) is set, SHA256SUMS.asc has a signature.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import tarfile
import tempfile
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

NAME = "acr-host"


def sha256(data: bytes) -> list[dict[str, str]]:
    """The hashes of a component."""
    return [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}]


def output(*command: str | Path) -> str:
    """The output of a command; "" if it fails or does not exist."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def tar_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a tar archive, with their contents."""
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file:
                yield member.name, file.read()


def files(package: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a package, with their contents."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist())
    elif package.suffix == ".deb":
        with tempfile.NamedTemporaryFile(suffix=".tar") as tar:
            subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=tar, check=True)
            yield from tar_files(Path(tar.name))
    else:
        yield from tar_files(package)


def needed(program: bytes) -> list[str]:
    """The libraries that an ELF file is linked with."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(program)
        file.flush()
        return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", file.name))


def debian(name: str) -> dict[str, Any]:
    """A Debian package as a component, in the installed version."""
    version, _, architecture = output("dpkg-query", "-W", "-f", "${Version} ${Architecture}\n", name).partition(" ")
    plain = name.partition(":")[0]
    purl = f"pkg:deb/debian/{plain}" + (f"@{version}?arch={architecture.splitlines()[0]}" if version else "")
    found = {"type": "library", "name": plain, "bom-ref": purl, "purl": purl}
    return found | ({"version": version} if version else {})


def owner(library: str) -> dict[str, Any]:
    """The component for a library of the system: the Debian package that has it, if there is one."""
    found = output("dpkg-query", "-S", f"*/{library}").splitlines()
    if found:
        return debian(found[0].partition(": ")[0].split(",")[0])
    return {"type": "library", "name": library, "bom-ref": library}


def components(package: Path, loads: Iterable[str]) -> list[dict[str, Any]]:
    """The package's own components, and those that it needs on the machine, each once, by reference."""
    brought: dict[str, dict[str, Any]] = {}
    wanted: set[str] = set()
    for name, data in files(package):
        if not data.startswith(b"\x7fELF"):
            continue
        wanted.update(needed(data))
        short = name.rpartition("/")[2]
        if ".so" in short:
            brought[short] = {"type": "library", "name": short, "bom-ref": short, "hashes": sha256(data)}
    found = [*brought.values(), *(owner(name) for name in sorted(wanted - set(brought)))]
    found += [debian(name) for name in loads]
    return [component for _, component in sorted({each["bom-ref"]: each for each in found}.items())]


def sbom(package: Path, loads: Iterable[str]) -> dict[str, Any]:
    """The package's bill of materials."""
    hashes = sha256(package.read_bytes())
    match = re.match(r"acr.host[-_](\d[^-_]*)", package.name)
    subject = {"type": "application", "name": NAME, "bom-ref": NAME, "hashes": hashes}
    parts = components(package, loads)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, hashes[0]["content"]).urn,
        "version": 1,
        "metadata": {"component": subject | ({"version": match[1]} if match else {})},
        "components": parts,
        "dependencies": [{"ref": NAME, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loads", default="")
    parser.add_argument("packages", nargs="+", type=Path)
    options = parser.parse_args()
    loads = [name.strip() for name in options.loads.split(",") if name.strip()]
    listed = []
    for package in options.packages:
        bill = package.with_name(package.name + ".cdx.json")
        bill.write_text(json.dumps(sbom(package, loads), indent=1) + "\n", "utf-8")
        listed += [package, bill]
    sums = options.packages[0].with_name("SHA256SUMS")
    old = sums.read_text("utf-8").splitlines() if sums.exists() else []
    lines = {line.split("  ", 1)[1]: line for line in old}
    lines |= {file.name: f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in listed}
    sums.write_text("".join(f"{lines[name]}\n" for name in sorted(lines)), "utf-8")
    if key := os.environ.get("ACR_SIGNING_KEY"):
        command = ["gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", str(sums)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
