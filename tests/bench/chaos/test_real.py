"""Two scenarios on the whole product: processes are killed in a pair and in a triple."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.chaos.results import read

pytestmark = [
    pytest.mark.root, pytest.mark.postgres, pytest.mark.valkey, pytest.mark.long,
    pytest.mark.any_database, pytest.mark.timeout(900),
]  # fmt: skip


def test_product_comes_back_from_kills_and_loses_nothing_that_was_acknowledged(tmp_path) -> None:
    table = tmp_path / "results.tsv"

    done = subprocess.run(
        [sys.executable, "-m", "bench.chaos", "--seeds", "1-2", "--again", "--table", table],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    lines = read(table)
    assert {line.seed for line in lines} == {1, 2}
    assert all(line.losses.acknowledged > 100 for line in lines)
