#!/usr/bin/env python3
"""Writes helm/sluice/README.md from the comments of values.yaml beside it; --check only compares.

    scripts/chart_readme.py [--check]

A comment is about the key that follows it, and a row of the table. A key without one is a row too
if it has a value of its own, and its text is empty.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[1] / "helm" / "sluice"
LINE = re.compile(r"^(?P<indent> *)(?P<key>[\w-]+):(?P<value>.*)$")
HEAD = """\
# Chart of Sluice

{description}.

```sh not-run="needs a cluster"
helm install sluice ./helm/sluice --namespace=sluice --create-namespace --values my-values.yaml
```

[docs/kubernetes.md](../../docs/kubernetes.md) says how to install, upgrade and roll back, and what
was never run.
Examples of values are in [ci](ci).

This page is written by `scripts/chart_readme.py` from `values.yaml`.
It needs Kubernetes {kubernetes}. Licence: Apache-2.0.

| Value | Meaning | Default |
|---|---|---|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A value: its path, what is said of it, and its default."""

    path: str
    text: str
    default: str


def main() -> int:
    """Write the page; with --check 1 if it is not what would be written."""
    page, target = made(CHART), CHART / "README.md"
    if "--check" not in sys.argv[1:]:
        target.write_text(page)
        return 0
    if target.exists() and target.read_text() == page:
        return 0
    print(f"{target} is not up to date; run scripts/chart_readme.py", file=sys.stderr)
    return 1


def made(chart: Path) -> str:
    """The page of a chart."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    head = HEAD.format(
        description=about["description"],
        kubernetes=about["kubeVersion"].removeprefix(">=").removesuffix(".0-0") + " or later",
    )
    lines = [f"| `{one.path}` | {one.text} | {one.default} |\n" for one in rows(chart)]
    return head + "".join(lines)


def rows(chart: Path) -> list[Row]:
    """In the order of the file."""
    text = (chart / "values.yaml").read_text()
    values = yaml.safe_load(text)
    found, parents, comment = [], list[tuple[int, str]](), list[str]()
    for line in text.splitlines():
        if line.lstrip().startswith("# "):
            comment.append(line.strip().removeprefix("# "))
            continue
        if not (match := LINE.match(line)):
            comment = []
            continue
        indent = len(match["indent"])
        parents = [one for one in parents if one[0] < indent] + [(indent, match["key"])]
        path = [key for _, key in parents]
        is_leaf = bool(match["value"].strip()) or not isinstance(_at(values, path), dict)
        if comment or is_leaf:
            default = _shown(_at(values, path)) if is_leaf else ""
            found.append(Row(path=".".join(path), text=_cell(" ".join(comment)), default=default))
        comment = []
    return found


def _at(values: Any, path: list[str]) -> Any:
    for key in path:
        values = values[key]
    return values


def _shown(value: Any) -> str:
    return f"`{_cell(json.dumps(value))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
