from hypothesis import given
from hypothesis import strategies as st

from ingest.core.line_protocol import parse_line
from ingest.core.point import FieldValue, Point
from ingest.core.point_line import point_line
from tests.ingest.core.test_line_protocol import NAMES, VALUES


@given(
    measurement=NAMES.filter(lambda name: name[0] not in "#="),
    tags=st.dictionaries(NAMES, NAMES, max_size=4),
    fields=st.dictionaries(NAMES, VALUES, min_size=1, max_size=5),
    time=st.none() | st.integers(-(2**63), 2**63 - 1),
)
def test_line_of_a_point_is_read_back(
    measurement: str, tags: dict[str, str], fields: dict[str, FieldValue], time: int | None
) -> None:
    point = Point(
        measurement=measurement, tags=tuple(sorted(tags.items())), fields=fields, time=time
    )

    assert parse_line(point_line(point)) == point


def test_control_characters_and_backslashes_at_the_end_of_names_are_not_written() -> None:
    point = Point(measurement="m", tags=(("a", "x\ty\\"), ("b", "\\")), fields={"v": 1.5}, time=7)

    assert point_line(point) == "m,a=x\N{REPLACEMENT CHARACTER}y v=1.5 7"
