"""`sluice rejects`, as people and programs use it."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.ingest.scenario import Tenant, write_lines


def run(*words: str) -> str:
    output = StringIO()
    call_command("rejects", *words, stdout=output, stderr=StringIO())
    return output.getvalue()


def run_json(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


def test_several_organisations_must_be_told_apart(tenant: Tenant, stranger: Tenant) -> None:
    with pytest.raises(CommandError, match="choose one with --organisation: lakeside, northgate"):
        run()


def test_rejected_lines_are_listed_with_their_reason(tenant: Tenant) -> None:
    write_lines(tenant, "weather,host=h1 rain=1", "bad", "weather,host=h2 rain=2")

    rows = run_json()

    assert [(row["line_number"], row["lines"], row["line"], row["reason"]) for row in rows] == [
        (1, 2, "weather,host=h1 rain=1", 'unknown measurement "weather": nothing of it is stored'),
        (2, 1, "bad", "expected a space and a field, found the end of the line"),
    ]
    assert rows[0]["token"] == "telegraf of northgate"
    assert "unknown measurement" in run("--limit", "1")


def test_no_rejected_lines_is_a_sentence(tenant: Tenant) -> None:
    assert run() == "no rejected lines\n"
    assert run_json() == []
