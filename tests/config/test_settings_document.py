"""docs/settings.md names every variable that is read, with the code's default, and no other."""

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path

from config.log_format import LogFormat

ROOT = Path(__file__).resolve().parents[2]
NAME = r"(?:SLUICE_[A-Z_]+|DATABASE_URL(?:_(?!FILE)[A-Z]+)?|REDIS_URL)"
READ = re.compile(
    rf"(?:env\.(?:text|words|choice|boolean|integer|secret)\(|environ\.get\()\s*\"({NAME})\""
)
PRODUCT = ("accounts", "appliance", "config", "ingest", "advisor", "web")
READER = re.compile(r"env\.(?:text|words|choice|boolean|integer)")
EMPTY_HAS_A_MEANING = {"SLUICE_SOURCE_ADDRESSES"}
"""Without a value it is not none that holds, but what the document says."""


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
    assert documented()["product"] == read_by(*PRODUCT)


def test_every_setting_of_the_tests_is_documented_and_no_other():
    assert documented()["tests"] == read_by("tests") - documented()["product"]


def test_defaults_of_the_code_are_those_of_the_document():
    stated = defaults_by(*PRODUCT)
    shown = documented_defaults()

    wrong = {
        name: (default, shown[name])
        for name, default in stated.items()
        if name not in EMPTY_HAS_A_MEANING and not is_shown(default, shown[name])
    }
    assert wrong == {}
    # Each kind of reader is looked at.
    assert stated.items() >= {
        ("SLUICE_LOCK_TIMEOUT_S", "10"), ("SLUICE_MAX_BODY_BYTES", "33554432"),
        ("SLUICE_DEBUG", "0"), ("SLUICE_OIDC_SCOPES", "openid,profile,email"),
        ("SLUICE_CONNECTIONS_PER_ADDRESS", "1000"), ("SLUICE_LOG_FORMAT", "text"),
        ("SLUICE_DATABASE_ROLE", "owner"), ("SLUICE_URL", ""),
    }  # fmt: skip


def is_shown(default: str, shown: str) -> bool:
    """The default stands first, as code; where it is empty there is none, or 0."""
    return shown.startswith(f"`{default}`") if default else shown.startswith("none")


def documented_defaults() -> dict[str, str]:
    document = (ROOT / "docs" / "settings.md").read_text()
    row = re.compile(rf"^\| `({NAME})` \| .* \| ([^|]*) \|$", re.MULTILINE)
    return dict(row.findall(document))


def defaults_by(*folders: str) -> dict[str, str]:
    """The default of each setting for which the code states a value, as one would write it."""
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    return dict(found for file in files for found in defaults_in(file.read_text()))


def defaults_in(source: str) -> Iterator[tuple[str, str]]:
    tree = ast.parse(source)
    constants = {
        ast.unparse(one.targets[0]): one.value for one in tree.body if isinstance(one, ast.Assign)
    }
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and READER.fullmatch(ast.unparse(call.func))):
            continue
        name = ast.literal_eval(call.args[0])
        if not re.fullmatch(NAME, name):
            continue
        named = [one.value for one in call.keywords if one.arg == "default"]
        for value in [*call.args[1:2], *named]:
            default = written(constants.get(ast.unparse(value), value))
            if default is not None:
                yield name, default


def written(value: ast.expr) -> str | None:
    """A value as the variable would hold it; None where the code works it out."""
    match value:
        case ast.Constant(value=bool(found)):
            return str(int(found))
        case ast.Constant(value=found):
            return str(found)
        case ast.Attribute(value=ast.Name(id="LogFormat"), attr=member):
            return LogFormat[member]
        case ast.BinOp(op=ast.Mult()):
            # Constants alone: 32 * 1024 * 1024.
            factors = [one.value for one in ast.walk(value) if isinstance(one, ast.Constant)]
            return str(math.prod(factors))
    return None
