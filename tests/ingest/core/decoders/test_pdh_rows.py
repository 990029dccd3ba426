from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.pdh_rows import cells_of, rows
from ingest.core.decoders.rejections import Rejections

TIME = '"12/11/2012 20:20:00"'
CELLS = st.sampled_from(['"1.00"', '""', '"2.00""3.00"', '"4', '"x"', "5.00", "", TIME])


@given(
    cells=st.lists(CELLS, max_size=8),
    width=st.integers(2, 6),
    last=st.booleans(),
    end=st.sampled_from(["", ",", " ", '"']),
)
def test_every_row_is_as_wide_as_the_header(
    cells: list[str], width: int, last: bool, end: str
) -> None:
    line = (",".join([TIME, *cells]) + end).encode()

    found = list(rows(line, width, Rejections(), name="line 1", last=last))

    assert {len(row) for row in found} <= {width}


@given(numbers=st.lists(st.floats(0, 10**9), min_size=1, max_size=6), places=st.data())
def test_row_with_one_pair_of_cells_fused_keeps_every_other(
    numbers: list[float], places: st.DataObject
) -> None:
    cells = [f"{number:.2f}" for number in (1.0, *numbers)]
    fused = places.draw(st.integers(0, len(cells) - 2))
    quoted = [f'"{cell}"' for cell in cells]
    quoted[fused : fused + 2] = [quoted[fused] + quoted[fused + 1]]
    line = ",".join([TIME, *quoted]).encode()

    [row] = rows(line, len(cells) + 1, Rejections(), name="line 1", last=False)

    missing = {fused, fused + 1}
    assert row[1:] == [b"" if n in missing else cell.encode() for n, cell in enumerate(cells)]


def test_a_line_of_commas_is_not_taken_apart() -> None:
    assert len(cells_of(b"," * 1_000_000)) == 1_000_001
    assert cells_of(b"," * 1_000_001) == []
