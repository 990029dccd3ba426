"""Commands on policy files, of two organisations: one with a site, and one that is empty."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

PRODUCTION, SPARE = "acme", "spare"


def ran(*words: str | Path) -> tuple[int, str]:
    """The exit status and what was printed."""
    out = io.StringIO()
    try:
        call_command(*map(str, words), stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def refused(*words: str | Path) -> str:
    with pytest.raises(CommandError) as refusal:
        ran(*words)
    return str(refusal.value)


def exported(slug: str = PRODUCTION) -> str:
    return ran("export", "--organisation", slug)[1]


def on(slug: str, *words: str | Path) -> tuple[Any, ...]:
    return (*words, "--organisation", slug)
