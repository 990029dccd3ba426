"""Lines hold every name that a host can have, and the service reads them back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.reader.line import LARGEST_INTEGER, escaped, head, integers, quoted, whole
from ingest.core.line_protocol import parse_line

names = st.text(st.characters(), min_size=1, max_size=40)


@given(host=st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True), name=names, value=names)
def test_every_name_and_value_makes_a_line_that_the_service_reads(
    host: str, name: str, value: str
) -> None:
    line = f"{head('diskio', host, name=name)} note={quoted(value)},reads=1i 5"

    point = parse_line(line)

    assert point.measurement == "diskio"
    assert set(dict(point.tags)) <= {"host", "name"}
    assert (point.fields["reads"], point.time) == (1, 5)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=200))
def test_text_without_control_characters_arrives_as_it_is(text: str) -> None:
    value = parse_line(f"m,host=h note={quoted(text)}").fields["note"]

    assert value == text


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("sda", "sda"),
        ("my disk", r"my\ disk"),
        ("a,b=c", r"a\,b\=c"),
        ("two\nlines", r"two\nlines"),
        (r"machine-qemu\x2d1\x2ddb1.scope", r"machine-qemu\x2d1\x2ddb1.scope"),
        ("ends\\", "ends"),
        # The override that shows "cod" as "doc": kept, so that the name can be found again.
        ("\u202ecod.exe", "\u202ecod.exe"),
        # The byte 0xff of a directory's name that is no UTF-8.
        ("db\udcff", r"db\xff"),
        ("\ud800\udfff", r"\x00\xff"),
    ],
)
def test_name_is_written_as_line_protocol_asks(name: str, written: str) -> None:
    assert escaped(name) == written


def test_tag_without_value_is_left_out() -> None:
    assert head("m", "h1", name="", path=None, device="sda") == "m,host=h1,device=sda"


def test_number_that_the_wire_cannot_carry_is_left_out() -> None:
    # A counter of the kernel has 64 bits without a sign.
    fields = {"a": 2**63 - 1, "b": 2**63, "c": -1, "d": 0}

    assert integers(fields) == f"a={LARGEST_INTEGER}i,d=0i"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("18446743919241604546", None),
        ("9" * 400, None),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("", None),
    ],
)
def test_counter_is_a_whole_number_or_nothing(text: str, value: int | None) -> None:
    assert whole(text) == value


def test_long_value_is_cut() -> None:
    assert quoted("x" * 5000) == '"' + "x" * 1000 + '"'
