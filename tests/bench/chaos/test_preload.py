"""Programs that are started with the library have a clock that can be moved; other clocks stay."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.chaos.preload import Preload

TELLS_TIMES = "import time; print(time.time(), time.monotonic())"
FLUSHES = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for _ in range(4):
    try:
        os.fsync(file)
        print(0)
    except OSError as error:
        print(error.errno)
"""


@pytest.fixture
def preload(tmp_path: Path) -> Preload:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc) is on PATH")
    return Preload(tmp_path)


def answer(preload: Preload, argv: list[str]) -> list[str]:
    done = subprocess.run(
        argv, env={**os.environ, **preload.environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_wall_clock_is_moved_and_the_monotonic_one_is_not(preload: Preload) -> None:
    preload.move_clock(-3600.5)

    wall_s, monotonic_s = map(float, answer(preload, [sys.executable, "-c", TELLS_TIMES]))

    assert time.time() - wall_s == pytest.approx(3600.5, abs=5)
    assert monotonic_s == pytest.approx(time.monotonic(), abs=5)


def test_so_many_flushes_of_the_database_fail_and_those_of_others_do_not(
    preload: Preload, tmp_path: Path
) -> None:
    # The library goes by the name of the program.
    (tmp_path / "postgres").symlink_to(sys.executable)
    preload.fail(2, errno.EIO)

    others = answer(preload, [sys.executable, "-c", FLUSHES, str(tmp_path / "file")])
    own = answer(preload, [str(tmp_path / "postgres"), "-c", FLUSHES, str(tmp_path / "file")])

    assert others == ["0"] * 4
    assert own == [str(errno.EIO)] * 2 + ["0"] * 2
