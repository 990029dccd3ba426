"""The short way must say exactly what the strict parser says, or nothing."""

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from ingest.core.line_protocol import LineError, parse_common_line, parse_head, parse_line

PIECES = st.sampled_from(
    ["diskio", "host=h", "name=sda", ",", " ", "=", "reads=12i", "x=1.5", "v=1", "1700000000", "i",
     "#", "\\", '"', "\t", "-", "+", "e", ".", "_", "é", "٣", "²", "t", "u", "\x7f", "\udcff", "0",
     "123456789012345678", "9223372036854775807", "9223372036854775808", "NaN"]
)  # fmt: skip
LINES = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=30)
LIKELY = st.builds(
    lambda head, fields, end: f"diskio,host={head} {fields}{end}",
    st.sampled_from(["h,name=sda", "h\\ 1,name=sda", "h,host=h", "", "h,name="]),
    st.lists(
        st.sampled_from(["reads=12i", "x=1.5", "s=\"a b\"", "b=true", "y=-1", "z=1e5", "=1", "n"]),
        min_size=1, max_size=4,
    ).map(",".join),
    st.sampled_from(["", " 1700000000000000000", " -5", "  7", " 9223372036854775808", " 1 2"]),
)  # fmt: skip


@given(LINES | LIKELY)
@example("diskio,host=h,name=sda reads=12i,x=1.5 1700000000000000000")
@example("m v=1_0i 5")
@example("m v=1 ٣")
@example("m v=1i,v=2i 5")
def test_common_line_agrees_with_the_strict_parser(line: str) -> None:
    common = parse_common_line(line)
    if common is None:
        return
    head, fields, time = common

    assert _outcome(lambda: (*parse_head(head), fields, time)) == _outcome(lambda: _parsed(line))


def _parsed(line: str) -> tuple[object, ...]:
    point = parse_line(line)
    return point.measurement, point.tags, point.fields, point.time


def _outcome(parse: Callable[[], tuple[object, ...]]) -> str:
    """What came out, in a form that tells 1 from 1.0; or the reason."""
    try:
        return repr(parse())
    except LineError as error:
        return str(error)


def test_line_of_a_disk_takes_the_short_way() -> None:
    line = "diskio,host=h1,name=sda reads=12i,io_util=0.25 1700000000000000000"

    assert parse_common_line(line) == (
        "diskio,host=h1,name=sda",
        {"reads": 12, "io_util": 0.25},
        1700000000000000000,
    )
