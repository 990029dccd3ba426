"""Writes the tables of `docs/metrics.md` from the catalogue, the figures and the sources.

The words before the first table stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ingest.core.canonical_figures import FIGURES
from ingest.core.catalogue import MEASUREMENTS
from ingest.sources.registry import SOURCES

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
_FIGURES_HEAD = "| kind | figure | number | how | unit |\n|---|---|---|---|---|"
_SOURCES_HEAD = """\
## Sources

| source | measurements | what it is |
|---|---|---|"""


def lines() -> Iterator[str]:
    """The page, line by line."""
    yield PAGE.read_text().partition(_FIGURES_HEAD)[0] + _FIGURES_HEAD
    for kind, figures in FIGURES.items():
        for figure in figures:
            yield f"| {kind} | `{figure.name}` | {figure.number} | {figure.how} | {figure.unit} |"
    for measurement in MEASUREMENTS:
        yield f"\n## `{measurement.name}`\n\n{measurement.about}\n"
        yield "| field | type | unit | meaning |\n|---|---|---|---|"
        for field in measurement.fields:
            yield f"| `{field.name}` | {field.kind} | {field.unit} | {field.meaning} |"
    yield f"\n{_SOURCES_HEAD}"
    for source in SOURCES:
        about = (import_module(f"ingest.sources.{source.name}").__doc__ or "").split("\n\n")[0]
        names = ", ".join(f"`{name}`" for name in sorted(source.measurements))
        link = f"[{source.name}](../ingest/sources/{source.name}/README.md)"
        yield f"| {link} | {names} | {' '.join(about.split())} |"


def page() -> str:
    """The whole page."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
