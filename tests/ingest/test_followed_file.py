"""Files as a program writes them; each look at the file does one step of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ingest.followed_file import follow

HEADER = b"#head"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def followed(path: Path, *steps: Callable[[], object]) -> bytes:
    """What comes while the steps are done, one in each pause."""
    left: Iterator[Callable[[], object]] = iter(steps)

    def wait() -> bool:
        step = next(left, None)
        if step is not None:
            step()
        return step is not None

    return b"".join(follow(path, header=HEADER, wait=wait))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_header_and_what_is_written_from_now_on_come(path: Path) -> None:
    path.write_bytes(b"#head 1\nold\nold\n")

    found = followed(path, lambda: append(path, b"a\nb"), lambda: append(path, b"c\n"))

    assert found == b"#head 1\na\nbc\n"


def test_row_that_is_half_written_at_the_start_comes_whole(path: Path) -> None:
    path.write_bytes(b"#head 1\nold\nha")

    assert followed(path, lambda: append(path, b"lf\n")) == b"#head 1\nhalf\n"


def test_newest_of_several_headers_applies(path: Path) -> None:
    path.write_bytes(b"#head 1\nold\n#head 2\nold\n")

    assert followed(path, lambda: append(path, b"a\n")) == b"#head 2\na\n"


def test_header_behind_a_torn_row_is_found(path: Path) -> None:
    path.write_bytes(b"#head 1\nto#head 2\n")

    assert followed(path, lambda: append(path, b"a\n")) == b"#head 2\na\n"


def test_header_without_its_end_is_waited_for(path: Path) -> None:
    path.write_bytes(b"old\n#head")

    assert followed(path, lambda: append(path, b" 1\na\n")) == b"#head 1\na\n"


@pytest.mark.parametrize("size", [2**18 - 3, 2**18 - 1, 2**18, 2**19 + 7])
def test_header_and_rows_at_the_edge_of_a_chunk_are_found(path: Path, size: int) -> None:
    path.write_bytes(b"x" * (size - 1) + b"\n#head 1\n" + b"old\n" * 2**17)

    assert followed(path, lambda: append(path, b"a\n")) == b"#head 1\na\n"


def test_file_without_a_header_comes_whole(path: Path) -> None:
    path.write_bytes(b"one\n")

    assert followed(path) == b"one\n"


def test_file_that_appears_later_comes_whole(path: Path) -> None:
    found = followed(path, lambda: None, lambda: append(path, b"#head 1\na\n"))

    assert found == b"#head 1\na\n"


def test_rotated_file_is_read_to_its_end_and_then_the_new_one_from_its_start(path: Path) -> None:
    path.write_bytes(b"#head 1\nold\n")

    def rotate() -> None:
        moved = path.rename(path.with_suffix(".1"))
        append(moved, b"last\n")
        path.write_bytes(b"#head 2\na\n")

    found = followed(path, rotate, lambda: append(path, b"b\n"))

    assert found == b"#head 1\nlast\n#head 2\na\nb\n"


def test_file_that_was_moved_away_is_read_until_another_takes_its_place(path: Path) -> None:
    path.write_bytes(b"#head 1\nold\n")
    moved = path.with_suffix(".1")

    found = followed(
        path,
        lambda: path.rename(moved),
        lambda: append(moved, b"last\n"),
        lambda: path.write_bytes(b"#head 2\na\n"),
        lambda: None,
    )

    assert found == b"#head 1\nlast\n#head 2\na\n"


def test_file_that_begins_anew_is_read_from_its_start(path: Path) -> None:
    path.write_bytes(b"#head 1\nold\n")

    found = followed(path, lambda: path.write_bytes(b"#head 2\n"), lambda: append(path, b"a\n"))

    assert found == b"#head 1\n#head 2\na\n"
