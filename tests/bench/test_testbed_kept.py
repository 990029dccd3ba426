"""What was measured is kept for each commit."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from bench.fleet.rows import Row, not_measured
from bench.testbed.kept import keep, present_commit

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_each_run_is_one_line_with_its_commit(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "rows.jsonl"
    held = Row(what="limit", unit="IOPS", asked="500", measured=499.9, holds=True)
    keep(file, [held], commit="a" * 40, at=AT)
    keep(file, [not_measured("limit", "IOPS", "500", "no kernel")], commit="b" * 40, at=AT)

    first, second = (json.loads(line) for line in file.read_text().splitlines())

    assert (first["commit"], first["at"]) == ("a" * 40, "2026-11-20T12:00:00+00:00")
    assert [row["measured"] for row in (*first["rows"], *second["rows"])] == [499.9, None]


def test_commit_is_that_of_the_checkout() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", present_commit())
