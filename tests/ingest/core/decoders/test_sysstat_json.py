import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.errors import FormatError
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.sysstat_json import reports
from tests.ingest.core.decoders.chunks import split_at

REPORTS = st.lists(
    st.fixed_dictionaries(
        {"timestamp": st.text(max_size=5)},
        optional={
            "disk": st.lists(st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False)))
        },
    ),
    max_size=4,
)


def sysstat(*hosts: tuple[str, list[Any]], indent: int | None = None) -> str:
    found = [
        {"nodename": name, "number-of-cpus": 9, "statistics": statistics, "restarts": []}
        for name, statistics in hosts
    ]
    return json.dumps({"sysstat": {"hosts": found}}, indent=indent)


def read(
    body: str, places: list[int] | None = None
) -> tuple[list[tuple[str, Any]], list[tuple[str, int]]]:
    rejections = Rejections()
    found = [
        (about.get("nodename", ""), report)
        for about, report in reports(split_at(body.encode(), places or []), rejections)
    ]
    return found, [(refused.reason, refused.count) for refused in rejections.all()]


@given(
    hosts=st.lists(st.tuples(st.sampled_from(["a", "kvm-01"]), REPORTS), min_size=1, max_size=3),
    places=st.lists(st.integers(0, 3000), max_size=5),
    indent=st.sampled_from([None, 1]),
)
def test_every_report_is_found_whatever_the_chunks(
    hosts: list[tuple[str, list[Any]]], places: list[int], indent: int | None
) -> None:
    found, refused = read(sysstat(*hosts, indent=indent), places)

    assert found == [(name, report) for name, statistics in hosts for report in statistics]
    assert refused == []


@given(cut=st.integers(0, 10_000))
def test_file_that_ends_anywhere_keeps_the_reports_before(cut: int) -> None:
    statistics = [{"timestamp": str(number), "disk": []} for number in range(20)]
    whole = sysstat(("h", statistics))
    start = whole.index('"statistics": [') + 15
    body = whole[: start + cut % len(whole)]

    found, refused = read(body)

    assert [report for _, report in found] == statistics[: len(found)]
    begun = body[start:].count("{")
    assert refused == ([("the file ends within a report", 1)] if begun > len(found) else [])


@pytest.mark.parametrize("padding", [0, 100_000])
def test_broken_report_is_named_and_the_others_are_kept(padding: int) -> None:
    statistics = [
        {"timestamp": str(number), "disk": [], "x": " " * padding} for number in range(5)
    ]
    body = sysstat(("h", statistics)).replace('"2", "disk": []', '"2", "disk": [}')

    found, refused = read(body, [1000 * n for n in range(100)])

    assert [report["timestamp"] for _, report in found] == ["0", "1", "3", "4"]
    assert refused == [("a report is broken", 1)]


def test_report_that_is_no_object_is_named() -> None:
    found, refused = read(sysstat(("h", [1, {"timestamp": "x"}])))

    assert [report for _, report in found] == [{"timestamp": "x"}]
    assert refused == [("a report is no object", 1)]


@given(st.text(max_size=200) | st.text('{}[]",:statistics 1', max_size=200))
def test_text_of_any_kind_gives_reports_reasons_or_a_named_error(text: str) -> None:
    found, _ = read('{"statistics": [' + text)

    assert all(isinstance(report, dict) for _, report in found)


def test_file_without_reports_is_a_named_error() -> None:
    with pytest.raises(FormatError, match="statistics"):
        read('{"hosts": []}')


def test_file_is_read_in_memory_of_a_few_reports() -> None:
    report = json.dumps(
        {"timestamp": "x", "disk": [{"disk_device": f"sd{n}"} for n in range(2000)]}
    )

    def long_file() -> Iterator[bytes]:
        yield b'{"sysstat": {"hosts": [{"nodename": "h", "statistics": ['
        for _ in range(100):
            yield report.encode() + b","
        yield b"1]"

    tracemalloc.start()
    try:
        count = sum(1 for _ in reports(long_file(), Rejections()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert count == 100
    # 100 reports of 50 kB; a report takes some ten times its text as a mapping.
    assert peak < 30 * len(report)


@pytest.mark.parametrize("size", [300_000, 3_000_000])
def test_report_without_end_is_left_out_in_bounded_memory(size: int) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"statistics": [{"timestamp": "1"}, {"timestamp": "2", "x": "'
        for _ in range(size // 1000):
            yield b"x" * 1000
        yield b'"}, {"timestamp": "3"}]}'

    rejections = Rejections()
    tracemalloc.start()
    try:
        found = list(reports(endless(), rejections, most_characters=100_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert [report["timestamp"] for _, report in found] == ["1", "3"]
    assert [refused.reason for refused in rejections.all()] == ["a report is broken"]
    # The text is held twice while it is put together.
    assert peak < 800_000


def test_array_nested_without_end_is_named() -> None:
    found, refused = read('{"statistics": [' + "[" * 200_000 + '{"timestamp": "x"}')

    assert [report for _, report in found] == [{"timestamp": "x"}]
    assert refused == [("a report is broken", 1)]
