"""Test vectors of the reference: one case per row, skipped by name where the file is absent."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("core", deadline=None, max_examples=40)
settings.load_profile("core")

CHECKOUT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("SLUICE_SHARED", CHECKOUT.parent / "shared"))
VECTORS = SHARED / "reference" / "vectors.json"


def rows(section: str) -> list[Any]:
    """The rows of one section as test parameters."""
    if not VECTORS.exists():
        absent = pytest.mark.skip(reason="reference/vectors.json is not beside the checkout")
        return [pytest.param(None, id="absent", marks=absent)]
    found = json.loads(VECTORS.read_text())[section]
    return [pytest.param(row, id=str(row.get("id", index))) for index, row in enumerate(found)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give an argument named `<section>_vector` each row of that section in turn."""
    for name in metafunc.fixturenames:
        if name.endswith("_vector"):
            metafunc.parametrize(name, rows(name.removesuffix("_vector")))
