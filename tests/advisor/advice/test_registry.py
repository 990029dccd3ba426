"""The registry of kinds, their folders and their documents say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.kind import Kind
from advisor.advice.registry import KINDS, kind_of, kinds_table, variants
from advisor.models import Recommendation

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ROOT / "advisor" / "advice"
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def test_every_folder_of_a_kind_is_in_the_registry() -> None:
    folders = {path.parent.name for path in ROOMS.glob("*/kind.py")}

    assert folders == {kind.name for kind in KINDS}


def test_import_contract_keeps_all_kinds_apart() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (apart,) = (
        one
        for one in contracts["contracts"]
        if one["type"] == "independence" and one["modules"][0].startswith("advisor")
    )

    assert set(apart["modules"]) == {f"advisor.advice.{kind.name}" for kind in KINDS}


@each_kind
def test_readme_says_needs_formula_and_outcomes_of_each_variant(kind: Kind[Any, Any]) -> None:
    text = (ROOMS / kind.name / "README.md").read_text()

    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Needs", "Formula", "Outcomes"]
    outcomes = text.partition("## Outcomes")[2]
    assert [one.name for one in kind.variants if f"`{one.name}`" not in outcomes] == []


def test_document_on_advice_has_the_table_of_the_registry() -> None:
    assert kinds_table() in (ROOT / "docs" / "advice.md").read_text()


def test_names_are_unique_and_fit_their_columns() -> None:
    names = [kind.name for kind in KINDS]
    stored = [one.name for one in variants()]
    column = {name: Recommendation._meta.get_field(name).max_length for name in ("topic", "kind")}

    assert len(set(names)) == len(names)
    assert len(set(stored)) == len(stored)
    assert max(len(kind.topic) for kind in KINDS) <= column["topic"]
    assert max(map(len, stored)) <= column["kind"]


@each_kind
def test_recommendation_finds_the_kind_that_gave_it(kind: Kind[Any, Any]) -> None:
    rows = [Recommendation(topic=kind.topic, kind=one.name) for one in kind.variants]

    assert [kind_of(row) for row in rows] == [kind] * len(rows)


def test_recommendation_of_an_unknown_topic_has_no_kind() -> None:
    assert kind_of(Recommendation(topic="weather", kind="weather")) is None
