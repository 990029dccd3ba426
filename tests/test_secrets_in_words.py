"""What a program writes about its own values, into logs and tracebacks, shows no secret."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "accounts",
    "advisor",
    "appliance",
    "config",
    "enforcers",
    "ingest",
    "sluice_client",
    "web",
)
SOUNDS = ("secret", "password", "token", "signing_key", "report_key", "document_key", "private")
NO_SECRET = {
    # A digest of one.
    "accounts/row_wall.py: Seen.secret",
}


def fields_that_sound_secret() -> Iterator[tuple[str, bool]]:
    """Texts and bytes in dataclasses, and whether each is left out of their representation."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ClassDef) and _is_dataclass(node):
                    for field in node.body:
                        if isinstance(field, ast.AnnAssign) and _is_secret(field):
                            name = f"{file.relative_to(ROOT)}: {node.name}.{_name(field)}"
                            yield name, _is_hidden(field)


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(one) for one in node.decorator_list)


def _name(field: ast.AnnAssign) -> str:
    return ast.unparse(field.target)


def _is_secret(field: ast.AnnAssign) -> bool:
    kinds = set(ast.unparse(field.annotation).replace("|", " ").split())
    return bool(kinds & {"str", "bytes", "DocumentKey"}) and any(
        one in _name(field) for one in SOUNDS
    )


def _is_hidden(field: ast.AnnAssign) -> bool:
    return field.value is not None and "repr=False" in ast.unparse(field.value)


def test_no_dataclass_shows_a_secret() -> None:
    found = dict(fields_that_sound_secret())

    assert {name for name, is_hidden in found.items() if not is_hidden} == NO_SECRET
    # Not vacuous: these are secrets.
    assert "advisor/decisions/enrolment.py: Enrolment.token" in found
    assert "enforcers/config.py: ServerConfig.document_key" in found


def fields_of_lines() -> Iterator[tuple[str, str]]:
    """The fields by name that calls of loggers and of `tell` add to lines, by their file."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call):
                    for word in node.keywords:
                        if word.arg == "extra" and isinstance(word.value, ast.Dict):
                            for key in word.value.keys:
                                if isinstance(key, ast.Constant):
                                    yield str(file.relative_to(ROOT)), str(key.value)
                        elif ast.unparse(node.func) in {"tell", "working_on"} and word.arg:
                            yield str(file.relative_to(ROOT)), word.arg


def test_no_line_of_a_log_has_a_field_that_sounds_secret() -> None:
    found = set(fields_of_lines())

    assert {one for one in found if any(word in one[1] for word in SOUNDS)} == set()
    # Not vacuous.
    assert ("web/api/enforcer.py", "host") in found
    assert ("config/heartbeats.py", "reason") in found
