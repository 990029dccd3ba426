import pytest

from ingest.core.decoders.iostat_columns import COLUMNS, JSON_COLUMNS, TOTALS, read_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.00", 2 * 1024),
        ("2,00", 2 * 1024),
        ("2.0s", 2 * 512),
        ("2.0B", 2),
        ("2.0k", 2 * 1024),
        ("2.0M", 2 * 1024**2),
        ("2.0G", 2 * 1024**3),
        ("2.0T", 2 * 1024**4),
        ("2.0P", 2 * 1024**5),
        ("x", None),
        ("", None),
        ("1.0.0", None),
        ("1e5", None),
    ],
)
def test_size_in_any_unit_is_in_bytes(text: str, value: float | None) -> None:
    assert read_value(text, COLUMNS["rkB/s"]) == value


@pytest.mark.parametrize(("text", "value"), [("5.4%", 5.4), ("5.4", 5.4), ("5.4k", None)])
def test_percentage_may_say_that_it_is_one(text: str, value: float | None) -> None:
    assert read_value(text, COLUMNS["%util"]) == value


@pytest.mark.parametrize(
    ("name", "scale"), [("kB", 1024), ("MB", 1024**2), ("GB", 1024**3), ("sec", 512), ("Blk", 512)]
)
def test_unit_of_a_column_is_in_its_name(name: str, scale: int) -> None:
    found = {f"{name}_read/s": "read_bytes_per_s", f"w{name}/s": "write_bytes_per_s"}

    assert {key: (COLUMNS[key].field, COLUMNS[key].scale) for key in found} == {
        key: (field, scale) for key, field in found.items()
    }


def test_no_column_is_a_total_and_json_names_as_many() -> None:
    assert TOTALS.isdisjoint(COLUMNS)
    assert len(JSON_COLUMNS) == len(COLUMNS)
