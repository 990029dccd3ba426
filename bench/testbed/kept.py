"""The rows of each run, kept one line a run with the commit that was measured."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.fleet.rows import Row, as_json

CHECKOUT = Path(__file__).parents[2]


def keep(file: Path, rows: Sequence[Row], *, commit: str, at: datetime) -> None:
    """Add a line to the file; it is made, with its folder, if it is not there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    line = {"commit": commit, "at": at.astimezone(UTC).isoformat(), "rows": as_json(rows)}
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def present_commit() -> str:
    """The commit of this checkout, with `-dirty` behind it where files differ."""
    argv = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    done = subprocess.run(argv, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
