"""docs/settings.md names every variable that is read, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = r"(?:SLUICE_[A-Z_]+|DATABASE_URL(?:_(?!FILE)[A-Z]+)?|REDIS_URL)"
READ = re.compile(
    rf"(?:env\.(?:text|words|choice|boolean|integer|secret)\(|environ\.get\()\s*\"({NAME})\""
)


def read_by(*folders: str) -> set[str]:
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    return {name for file in files for name in READ.findall(file.read_text())}


def documented() -> dict[str, set[str]]:
    """The names in the first column of each table, by the heading above it."""
    document = (ROOT / "docs" / "settings.md").read_text()
    product, tests = document.split("## For tests")
    row = re.compile(rf"^\| `({NAME})` \|", re.MULTILINE)
    return {"product": set(row.findall(product)), "tests": set(row.findall(tests))}


def test_every_setting_of_the_product_is_documented_and_no_other():
    assert documented()["product"] == read_by(
        "accounts", "appliance", "config", "ingest", "advisor", "web"
    )


def test_every_setting_of_the_tests_is_documented_and_no_other():
    assert documented()["tests"] == read_by("tests") - documented()["product"]
