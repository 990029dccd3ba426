"""A disk whose cache is lost with the power: what was flushed is there, of the rest some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from bench.chaos.volatile_disk import BLOCK, Cache

ON_A_MOUNTED_DISK = """
import os, sys
from pathlib import Path
from bench.chaos.volatile_disk import VolatileDisk

disk = VolatileDisk(Path(sys.argv[1]), size_bytes=64 * 2**20)
disk.switch_on()
kept, lost = disk.mount_point / "kept", disk.mount_point / "lost"
with kept.open("wb") as file:
    file.write(b"a" * 1_000_000)
    file.flush()
    os.fsync(file.fileno())
lost.write_bytes(b"b" * 1_000_000)
disk.cut_power(1)
try:
    (disk.mount_point / "later").write_bytes(b"c" * 100_000)
except OSError:
    pass
disk.take_away()
disk.switch_on()
print(kept.read_bytes() == b"a" * 1_000_000, lost.exists() and lost.stat().st_size == 1_000_000)
disk.take_away()
"""


@pytest.fixture
def image(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "image"
    path.write_bytes(b"." * 4 * BLOCK)
    file = os.open(path, os.O_RDWR)
    yield file
    os.close(file)


def test_what_was_written_is_read_before_and_after_a_flush(image: int) -> None:
    cache = Cache(image)

    cache.write(BLOCK - 2, b"abcd")
    before = cache.read(BLOCK - 3, 6)
    cache.flush()

    assert before == cache.read(BLOCK - 3, 6) == b".abcd."
    assert os.pread(image, 6, BLOCK - 3) == b".abcd."


def test_without_power_blocks_are_kept_or_lost_as_wholes(image: int) -> None:
    cache = Cache(image)
    cache.write(0, b"a" * BLOCK)
    cache.flush()
    cache.write(0, b"b" * 4 * BLOCK)

    waited, kept = cache.lose(Random(3))

    found = [os.pread(image, BLOCK, number * BLOCK) for number in range(4)]
    assert waited == 4
    assert found.count(b"b" * BLOCK) == kept
    assert {bytes(set(block)) for block in found} <= {b"a", b"b", b"."}
    # Of four, one to three: the draw of this seed.
    assert 0 < kept < 4


@pytest.mark.root
def test_file_that_was_flushed_survives_on_a_mounted_disk_and_another_does_not(tmp_path) -> None:
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", sys.executable, "-c",
         ON_A_MOUNTED_DISK, tmp_path],
        capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip

    assert done.stdout.split() == ["True", "False"], done.stderr
