import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core import line_protocol
from ingest.core.line_protocol import (
    LineError,
    Point,
    Precision,
    excerpt,
    logical_lines,
    parse_line,
)

NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12).filter(
    lambda name: not name.endswith("\\")
)
VALUES = (
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)


VALUE_KINDS = "a number, an integer with i or u, true, false or a quoted string is"


@dataclass(frozen=True, kw_only=True)
class BadLine:
    line_number: int
    line: str
    reason: str


def parse_lines(body: bytes) -> Iterator[tuple[int, Point] | BadLine]:
    for line_number, line in logical_lines(body):
        try:
            yield line_number, parse_line(line)
        except LineError as error:
            yield BadLine(line_number=line_number, line=excerpt(line), reason=str(error))


def points(body: str | bytes) -> list[Point]:
    data = body.encode() if isinstance(body, str) else body
    return [line[1] for line in parse_lines(data) if not isinstance(line, BadLine)]


def bad_lines(body: str | bytes) -> list[BadLine]:
    data = body.encode() if isinstance(body, str) else body
    return [line for line in parse_lines(data) if isinstance(line, BadLine)]


def escaped(name: str) -> str:
    for character in " ,=":
        name = name.replace(character, "\\" + character)
    return name


def written(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}i"
        case float():
            return repr(value)
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


@given(
    measurement=NAMES.filter(lambda name: name[0] not in "#=" and "=" not in name),
    tags=st.dictionaries(NAMES, NAMES, max_size=4),
    fields=st.dictionaries(NAMES, VALUES, min_size=1, max_size=5),
    time=st.none() | st.integers(-(2**63), 2**63 - 1),
)
def test_point_that_is_written_is_read_back(
    measurement: str, tags: dict[str, str], fields: dict[str, Any], time: int | None
) -> None:
    head = ",".join(
        [escaped(measurement), *(f"{escaped(k)}={escaped(v)}" for k, v in tags.items())]
    )
    values = ",".join(f"{escaped(k)}={written(v)}" for k, v in fields.items())
    line = f"{head} {values}" + ("" if time is None else f" {time}")

    read = points(line)

    assert read == [
        Point(measurement=measurement, tags=tuple(sorted(tags.items())), fields=fields, time=time)
    ]


@given(st.binary(max_size=200))
def test_any_bytes_give_points_or_reasons(body: bytes) -> None:
    for line in parse_lines(body):
        assert isinstance(line, BadLine | tuple)


@given(st.lists(st.sampled_from(["good", "m v=", 'm v="open', "#comment", "", "m,t v=1", " "])))
def test_good_lines_survive_any_neighbours(lines: list[str]) -> None:
    body = "\n".join("m v=1i 5" if line == "good" else line for line in lines)

    assert len(points(body)) == lines.count("good")


@pytest.mark.parametrize("character", ["\t", "\0", "\x0b", "\x15", "\x7f"])
def test_comment_with_a_control_character_is_refused(character: str) -> None:
    body = f"# fine\n#{character}bad\nm v=1i 5".encode()

    (refused,) = bad_lines(body)
    assert "the comment has a control character" in str(refused)
    assert len(points(body)) == 1


def test_official_corpus_is_decoded_as_it_says(shared_dir: Path) -> None:
    cases = json.loads((shared_dir / "data" / "line-protocol" / "corpus.json").read_text())[
        "decode"
    ]

    differences = [key for key, case in cases.items() if not _agrees(case)]

    assert len(cases) == 240
    assert differences == []


def _agrees(case: dict[str, Any]) -> bool:
    text = case["input"]["text"]
    body = base64.b64decode(text["binary"]) if isinstance(text, dict) else text.encode()
    if "error" in case["output"]:
        return bool(bad_lines(body))
    precision = {"1ns": Precision.NS, "1µs": Precision.US, "1ms": Precision.MS, "1s": Precision.S}[
        case["input"]["precision"]
    ]
    default_ns = case["input"]["defaultTime"] // precision.nanoseconds * precision.nanoseconds
    read = [
        (
            point.measurement,
            point.tags,
            {name: (type(value), value) for name, value in point.fields.items()},
            default_ns if point.time is None else point.time * precision.nanoseconds,
        )
        for point in points(body)
    ]
    return not bad_lines(body) and read == [
        (
            result["name"],
            tuple(sorted((tag["key"], tag["value"]) for tag in result["tags"])),
            {field["key"]: _corpus_value(field["value"]) for field in result["fields"]},
            result["time"],
        )
        for result in case["output"]["result"]
    ]


def _corpus_value(value: dict[str, Any]) -> tuple[type, Any]:
    ((kind, content),) = value.items()
    python = {"int": int, "uint": int, "float": float, "bool": bool, "string": str}[kind]
    return python, python(content)


def test_telegraf_example_outputs_are_good_or_refused_line_by_line(shared_dir: Path) -> None:
    folder = shared_dir / "data" / "telegraf" / "readme-example-output"

    results = {
        path.name: list(parse_lines(path.read_bytes())) for path in sorted(folder.glob("*.txt"))
    }

    refused = {
        (name, line.line_number): line.reason
        for name, lines in results.items()
        for line in lines
        if isinstance(line, BadLine)
    }
    assert len(results) == 200
    # The official decoder, given each line alone, refuses the same 257 of 1809.
    assert sum(map(len, results.values())) == 1809
    assert len(refused) == 257
    assert refused["dmcache.txt", 1].startswith('field "cache_used": "1099511627776ii" is not')
    assert refused["hddtemp.txt", 1] == 'tag "status" has no value'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("m", 'expected a space and a field, found the end of the line'),
        ("m ", 'expected a field, found the end of the line'),
        (",t=1 v=1", 'expected a measurement, found ","'),
        ("m,t v=1", 'expected "=" after "t", found " "'),
        ("m,t= v=1", 'tag "t" has no value'),
        ("m,t=1,t=2 v=1", 'tag "t" is there twice'),
        ("m v", 'expected "=" after "v", found the end of the line'),
        ("m v=", 'field "v" has no value'),
        ("m v=NaN", f'field "v": "NaN" is not a value; {VALUE_KINDS}'),
        ("m v=inf", f'field "v": "inf" is not a value; {VALUE_KINDS}'),
        ("m v=1e999", 'field "v": "1e999" is too large a number'),
        ("m v=-9223372036854775809i",
         'field "v": "-9223372036854775809" is no signed 64-bit integer'),
        ("m v=-1u", 'field "v": "-1" is no unsigned 64-bit integer'),
        ('m v="open', 'field "v": the closing quote is missing'),
        ("m v=1 soon", '"soon" is not a timestamp'),
        ("m v=1 9223372036854775808", 'timestamp "9223372036854775808" does not fit 64 bits'),
        ("m\x01 v=1", 'expected a space and a field, found "\\x01"'),
        (f"m v=1,{'x' * 99}", f'expected "=" after "{"x" * 61}...", found the end of the line'),
    ],
)  # fmt: skip
def test_bad_line_says_what_is_wrong(line: str, reason: str) -> None:
    assert [bad.reason for bad in bad_lines(line)] == [reason]


def test_bad_line_is_named_by_its_number_and_first_part() -> None:
    body = "# comment\n\nm v=1\nm v=x" + "x" * 300 + "\nm v=2"

    assert [(bad.line_number, bad.line) for bad in bad_lines(body)] == [(4, "m v=x" + "x" * 195)]
    assert len(points(body)) == 2


def test_invalid_utf8_costs_only_its_line() -> None:
    body = b"m,t=\xff v=1\nm v=2"

    assert [bad.reason for bad in bad_lines(body)] == ["the line is not valid UTF-8"]
    assert [point.fields for point in points(body)] == [{"v": 2.0}]


@pytest.mark.parametrize("broken", [b"\0", b"\xff"])
def test_bytes_that_cannot_be_stored_are_replaced_in_what_is_kept(broken: bytes) -> None:
    assert bad_lines(b"m" + broken + b" v=1")[0].line == "m\N{REPLACEMENT CHARACTER} v=1"


def test_quoted_line_break_belongs_to_its_line() -> None:
    body = 'm s="one\ntwo" 1\nm v=x'

    assert [point.fields for point in points(body)] == [{"s": "one\ntwo"}]
    assert [bad.line_number for bad in bad_lines(body)] == [3]


class Counting:
    """A pattern that counts the characters that it searches."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.characters = pattern, 0

    def search(self, text: str) -> re.Match[str] | None:
        self.characters += len(text)
        return self.pattern.search(text)


@pytest.mark.parametrize(
    "line", [pytest.param('a b="x', id="short"), pytest.param('a b="' + "x" * 2000, id="long")]
)
def test_work_for_quotes_that_are_never_closed_grows_with_the_body_alone(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unclosed = Counting(line_protocol._UNCLOSED)
    monkeypatch.setattr(line_protocol, "_UNCLOSED", unclosed)
    body = "\n".join([line] * 4000 + ["good v=1"])

    (only,) = points(body)

    assert only.measurement == "good"
    # What is always searched, 16 times the body, and the lines that were begun.
    assert unclosed.characters <= 1_000_000 + 16 * len(body) + 101 * len(line)


def test_line_with_10000_tags_is_refused() -> None:
    tags = ",".join(f"t{number}=x" for number in range(10_000))

    assert [bad.reason for bad in bad_lines(f"m,{tags} v=1\nm v=2")] == [
        "the line has more than 256 tags"
    ]


def test_line_of_a_megabyte_is_refused() -> None:
    body = f'm s="{"x" * 1_100_000}"\nm v=2'

    assert [bad.reason for bad in bad_lines(body)] == [
        "the line is longer than 1048576 characters"
    ]
    assert len(points(body)) == 1


def test_carriage_returns_end_lines_too() -> None:
    assert points("m v=1 5\r\nm v=2 6\r\n") == [parse_line("m v=1 5"), parse_line("m v=2 6")]
