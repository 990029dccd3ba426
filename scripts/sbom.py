"""What a package or an image is made of, as CycloneDX 1.6 (ECMA-424) in JSON.

Python's packages are read from their metadata, Debian's from dpkg's list. The same parts give the
same text: its time is that of the commit, its number that of its content.

    SOURCE_DATE_EPOCH=SECONDS python3 -m scripts.sbom NAME VERSION

prints that of something without parts, as the agent is: it needs Python's own library alone.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # RFC 9562, of URLs
SOURCE = "pkg:generic/sluice"


def python_parts(site_packages: Path) -> Iterator[dict[str, Any]]:
    """Each package that is installed in the folder."""
    for metadata in sorted(site_packages.glob("*.dist-info/METADATA")):
        fields = HeaderParser().parsestr(metadata.read_text(errors="replace"))
        name = re.sub(r"[-_.]+", "-", str(fields["Name"])).lower()
        yield _part(
            name, str(fields["Version"]), f"pkg:pypi/{name}@{quote(str(fields['Version']))}",
            license_of=fields.get("License-Expression") or fields.get("License"),
        )  # fmt: skip


def debian_parts(root: Path) -> Iterator[dict[str, Any]]:
    """Each package that dpkg has installed below the root."""
    status = root / "var/lib/dpkg/status"
    if not status.is_file():
        return
    for paragraph in sorted(status.read_text().split("\n\n")):
        fields = HeaderParser().parsestr(paragraph)
        if str(fields["Status"]).endswith(" installed"):
            name, version, machine = (
                fields[key] for key in ("Package", "Version", "Architecture")
            )
            address = f"pkg:deb/debian/{name}@{quote(version)}?arch={machine}&distro=trixie"
            yield _part(name, version, address)


def bill(name: str, version: str, parts: Iterable[dict[str, Any]], *, made_s: int) -> bytes:
    """The whole document, about the thing of this name."""
    components = sorted(parts, key=lambda one: str(one["purl"]))
    about = {
        "type": "application", "bom-ref": name, "name": name, "version": version,
        "purl": f"{SOURCE}/{name}@{version}",
        "licenses": [{"expression": "Apache-2.0"}],
    }  # fmt: skip
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(made_s, UTC).isoformat(),
            "component": about,
        },
        "components": components,
        "dependencies": [{"ref": name, "dependsOn": [one["bom-ref"] for one in components]}],
    }
    serial = uuid.uuid5(NAMESPACE, json.dumps(content, sort_keys=True))
    whole = {**content, "serialNumber": f"urn:uuid:{serial}"}
    return (json.dumps(whole, indent=1, sort_keys=True) + "\n").encode()


def _part(name: str, version: str, purl: str, *, license_of: str | None = None) -> dict[str, Any]:
    part: dict[str, Any] = {
        "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
    }  # fmt: skip
    # Some packages have their whole licence there.
    if license_of and len(license_of) < 80 and "\n" not in license_of:
        part["licenses"] = [{"license": {"name": license_of}}]
    return part


if __name__ == "__main__":
    name_, version_ = sys.argv[1:]
    made = int(os.environ["SOURCE_DATE_EPOCH"])
    sys.stdout.write(bill(name_, version_, (), made_s=made).decode())
