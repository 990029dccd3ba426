"""Bills of materials: what is installed, told so that the same parts give the same text."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.sbom import bill, debian_parts, python_parts

MADE_S = 1_700_000_000

STATUS = """Package: tzdata
Status: install ok installed
Architecture: all
Version: 2026b-0+deb13u1

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.41-12
"""


def site(folder: Path) -> Path:
    for name, lines in (
        ("Django-5.2.dist-info", "Name: Django\nVersion: 5.2\nLicense-Expression: BSD-3-Clause\n"),
        ("a.b_c-1.0+x.dist-info", "Name: a.b_c\nVersion: 1.0+x\n\nText with Name: other\n"),
    ):
        (folder / name).mkdir()
        (folder / name / "METADATA").write_text(f"Metadata-Version: 2.4\n{lines}")
    return folder


def test_python_packages_are_named_as_their_index_does(tmp_path: Path) -> None:
    found = {part["purl"]: part for part in python_parts(site(tmp_path))}

    assert set(found) == {"pkg:pypi/django@5.2", "pkg:pypi/a-b-c@1.0%2Bx"}
    assert found["pkg:pypi/django@5.2"]["licenses"] == [{"license": {"name": "BSD-3-Clause"}}]


def test_packages_that_are_gone_are_no_part_of_a_debian(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)

    assert [part["purl"] for part in debian_parts(tmp_path)] == [
        "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=trixie",
        "pkg:deb/debian/tzdata@2026b-0%2Bdeb13u1?arch=all&distro=trixie",
    ]


def test_same_parts_give_the_same_bill_in_any_order(tmp_path: Path) -> None:
    parts = list(python_parts(site(tmp_path)))

    text = bill("sluice", "1.0", parts, made_s=MADE_S)

    assert text == bill("sluice", "1.0", parts[::-1], made_s=MADE_S)
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    # 1,700,000,000 s after 1970 (date -u -d @1700000000).
    assert found["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    (depends,) = found["dependencies"]
    assert set(depends["dependsOn"]) == {part["bom-ref"] for part in found["components"]}
    assert (
        found["serialNumber"]
        != json.loads(bill("sluice", "1.0", (), made_s=MADE_S))["serialNumber"]
    )
