from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.lines import lines
from ingest.core.decoders.rejections import MOST_REASONS, Rejections
from tests.ingest.core.decoders.chunks import split_at


@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    places=st.lists(st.integers(0, 500), max_size=6),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    line_break=st.sampled_from(["\n", "\r\n"]),
)
def test_lines_do_not_depend_on_chunks_encoding_and_line_break(
    texts: list[str], places: list[int], encoding: str, line_break: str
) -> None:
    # A byte order mark begins no text, and none stands for UTF-16 without one.
    texts = ["first", *texts]
    body = "".join(text + line_break for text in texts).encode(encoding)

    found = list(lines(split_at(body, places), Rejections()))

    assert [line.decode() for line in found] == texts


@pytest.mark.parametrize(
    ("body", "found"), [(b"", []), (b"\n", [b""]), (b"\n\n", [b"", b""]), (b"\na", [b"", b"a"])]
)
def test_empty_lines_are_lines_and_an_empty_file_has_none(body: bytes, found: list[bytes]) -> None:
    assert list(lines([body], Rejections())) == found


def test_last_line_needs_no_line_break() -> None:
    assert list(lines([b"a\nb"], Rejections())) == [b"a", b"b"]


def test_last_line_without_line_break_is_refused_where_it_may_be_cut_off() -> None:
    rejections = Rejections()

    assert list(lines([b"a\nb"], rejections, last_is_whole=False)) == [b"a"]
    assert [(found.part, found.count) for found in rejections.all()] == [("b", 1)]


@pytest.mark.parametrize("size_of_chunks", [1, 7, 1000])
def test_line_that_is_too_long_is_refused_and_its_neighbours_are_kept(size_of_chunks: int) -> None:
    body = b"before\n" + b"x" * 50 + b"\nafter\n"
    chunks = [body[i : i + size_of_chunks] for i in range(0, len(body), size_of_chunks)]
    rejections = Rejections()

    found = list(lines(chunks, rejections, longest_bytes=20))

    assert found == [b"before", b"after"]
    [refused] = rejections.all()
    assert refused.reason == "the line is longer than 20 bytes"
    assert refused.part.startswith("x")


def test_too_long_line_is_not_collected_in_memory() -> None:
    seen = 0

    def endless() -> Iterator[bytes]:
        nonlocal seen
        for _ in range(10_000):
            seen += 1
            yield b"x" * 1000
        yield b"\nend\n"

    assert list(lines(endless(), Rejections(), longest_bytes=2000)) == [b"end"]
    assert seen == 10_000


def test_rejections_of_one_reason_are_counted_and_the_first_part_is_named() -> None:
    rejections = Rejections()
    rejections.add("cell 3", "no number")
    rejections.add("cell 9", "no number", count=4)

    [only] = rejections.all()

    assert (only.part, only.reason, only.count) == ("cell 3", "no number", 5)
    assert rejections.count == 5


def test_rejections_are_bounded_and_none_is_uncounted() -> None:
    rejections = Rejections()
    for number in range(10 * MOST_REASONS):
        rejections.add("x" * 10_000, f"reason {number}")

    assert len(rejections.all()) == MOST_REASONS + 1
    assert rejections.count == 10 * MOST_REASONS
    assert max(len(rejection.part) for rejection in rejections.all()) == 200


def test_rejected_part_is_printable() -> None:
    rejections = Rejections()
    rejections.add("a\0b\ud800\u202e", "bad")

    assert rejections.all()[0].part == "a\ufffdb\ufffd\ufffd"
