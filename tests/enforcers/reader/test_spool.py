"""Samples that wait: nothing is lost but what has no room, and that is counted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.errors import StateError
from enforcers.reader.spool import BLOCK_BYTES, Spool


def spool(folder: Path, *, most_bytes: int = 1_000_000) -> Spool:
    return Spool(folder / "samples", most_bytes=most_bytes)


def waiting(found: Spool, *, most_lines: int = 10**9) -> list[str]:
    return found.oldest(most_lines=most_lines)[1]


def test_lines_come_back_in_their_order_after_a_restart(tmp_path: Path) -> None:
    first = spool(tmp_path)
    first.put(("a 1", "b 1"))
    first.put(("a 2",))

    again = spool(tmp_path)
    again.put(("a 3",))

    assert waiting(again) == ["a 1", "b 1", "a 2", "a 3"]
    assert again.waiting_lines == 4
    assert waiting(spool(tmp_path)) == ["a 1", "b 1", "a 2", "a 3"]


def test_what_was_delivered_does_not_come_back(tmp_path: Path) -> None:
    found = spool(tmp_path)
    for number in range(3):
        found.put((f"a {number}",))

    found.remove(found.oldest(most_lines=2)[0])

    assert waiting(found) == waiting(spool(tmp_path)) == ["a 2"]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.integers(1, 100))
def test_a_turn_takes_at_least_one_pass_and_at_most_so_many_lines(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], most: int
) -> None:
    found = spool(tmp_path_factory.mktemp("spool"))
    for number, count in enumerate(counts):
        found.put(tuple(f"a {number}" for _ in range(count)))

    batches, lines = found.oldest(most_lines=most)

    assert len(lines) == sum(counts[: len(batches)])
    assert len(batches) == 1 or len(lines) <= most
    assert len(batches) == len(counts) or len(lines) + counts[len(batches)] > most


def test_oldest_goes_when_there_is_no_room_and_is_counted(tmp_path: Path) -> None:
    # Numbers that do not compress: each pass has about 6,000 bytes and takes two blocks of 4,096.
    found = spool(tmp_path, most_bytes=41_000)
    for number in range(20):
        found.put((os.urandom(5000).hex(), f"a {number}"))

    left = [line for line in waiting(found) if line.startswith("a ")]

    assert left == [f"a {number}" for number in range(15, 20)]
    assert found.dropped_lines == 2 * 15
    size = sum(file.stat().st_size for file in (tmp_path / "samples").iterdir())
    assert 20_000 < size <= 41_000


def test_small_pass_takes_a_whole_block_also_after_a_restart(tmp_path: Path) -> None:
    first = spool(tmp_path, most_bytes=3 * BLOCK_BYTES)
    for number in range(5):
        first.put((f"a {number}",))
    before = waiting(first)
    again = spool(tmp_path, most_bytes=3 * BLOCK_BYTES)
    again.put(("a 5",))

    assert before == ["a 2", "a 3", "a 4"]
    assert waiting(again) == ["a 3", "a 4", "a 5"]


def test_room_is_used_to_the_last_byte(tmp_path: Path) -> None:
    found = spool(tmp_path, most_bytes=2 * BLOCK_BYTES)

    for number in (1, 2):
        found.put((f"a {number}",))

    assert waiting(found) == ["a 1", "a 2"]
    assert min(file.name for file in (tmp_path / "samples").iterdir()) == "000000000001-1.lp.gz"


@pytest.mark.parametrize("left_bytes", [0, 10], ids=["empty after a power cut", "cut off"])
def test_file_that_is_damaged_is_counted_and_the_others_are_sent(
    tmp_path: Path, left_bytes: int
) -> None:
    first = spool(tmp_path)
    first.put(("a 1", "b 1"))
    first.put(("a 2",))
    damaged = min((tmp_path / "samples").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:left_bytes])
    again = spool(tmp_path)

    assert waiting(again) == ["a 2"]
    assert again.dropped_lines == 2
    assert not damaged.exists()


def test_file_that_somebody_removed_is_counted_as_lost(tmp_path: Path) -> None:
    found = spool(tmp_path)
    found.put(("a 1", "b 1"))
    min((tmp_path / "samples").iterdir()).unlink()
    found.put(("a 2",))

    assert waiting(found) == ["a 2"]
    assert found.dropped_lines == 2


def test_half_written_file_of_a_killed_agent_is_removed(tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "000000000007-3.lp.new").write_bytes(b"\x1f")

    assert waiting(spool(tmp_path)) == []
    assert list((tmp_path / "samples").iterdir()) == []


def test_disk_that_takes_nothing_leaves_samples_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = spool(tmp_path)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", full)
        found.put(("a 1",))
        found.put(("a 2",))
        found.put(("a 3",))
    found.put(("a 4",))

    assert waiting(found) == ["a 1", "a 2", "a 3", "a 4"]
    assert [record.message for record in caplog.records] == ["samples wait in memory only"]


def test_disk_that_fills_up_within_a_file_keeps_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = spool(tmp_path)
    really = os.open

    def nearly_full(path: Path, flags: int, mode: int) -> int:
        # Opens as a full disk does, and takes no byte.
        os.close(really(path, flags, mode))
        return really("/dev/full", os.O_WRONLY)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", nearly_full)
        found.put(("a 1",))

    assert list((tmp_path / "samples").iterdir()) == []
    assert waiting(found) == ["a 1"]


def test_files_are_open_to_their_owner_only(tmp_path: Path) -> None:
    spool(tmp_path).put(("a 1",))

    (file,) = (tmp_path / "samples").iterdir()
    assert (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "samples").write_text("a file")

    with pytest.raises(StateError, match="samples cannot be used"):
        spool(tmp_path)
