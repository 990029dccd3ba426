"""The vendored libraries are the files that their table names, and scripts stay small."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[2] / "web" / "static"
VENDOR = STATIC / "vendor"
ROW = re.compile(r"^\| \S+ \| [\d.]+ \| `([^`]+)` \| `([0-9a-f]{64})` \|", re.MULTILINE)
LARGEST_SCRIPT_BYTES = 120_000


@pytest.mark.parametrize(("name", "digest"), ROW.findall((VENDOR / "README.md").read_text()))
def test_vendored_file_is_unchanged(name: str, digest: str) -> None:
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


def test_every_vendored_file_is_named_or_a_licence() -> None:
    named = {name for name, _ in ROW.findall((VENDOR / "README.md").read_text())}
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}

    others = files - named - {"README.md"}

    assert {Path(name).name for name in others} == {"LICENSE"}


def test_all_scripts_together_stay_below_their_limit() -> None:
    packed = [len(gzip.compress(path.read_bytes())) for path in STATIC.rglob("*.js")]

    assert sum(packed) < LARGEST_SCRIPT_BYTES
