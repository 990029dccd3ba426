"""Batches that are lost, changed, doubled or there in half are told apart."""

from __future__ import annotations

from bench.chaos.verdict import ROWS_OF, Losses, Stored, losses

KEY = ("chaos-0", 1_000)


def rows_of(number: int, *, at_ms: int = 1_000) -> list[Stored]:
    """A batch as a whole."""
    return [
        Stored(host="chaos-0", at_ms=at_ms, table=table, number=number)
        for table, count in ROWS_OF.items()
        for _ in range(count)
    ]


def found(**counts: int) -> Losses:
    return Losses(
        **{"acknowledged": 1, "lost": 0, "changed": 0, "doubled": 0, "halves": 0} | counts
    )


def test_batch_that_is_there_once_is_well() -> None:
    assert losses({KEY: 7}, rows_of(7)) == found()


def test_batch_of_which_nothing_is_there_is_lost() -> None:
    assert losses({KEY: 7}, []) == found(lost=1)


def test_batch_with_another_number_is_changed() -> None:
    rows = [*rows_of(7)[1:], Stored(host="chaos-0", at_ms=1_000, table="diskio", number=8)]

    assert losses({KEY: 7}, rows) == found(changed=1)


def test_batch_with_a_row_too_many_is_doubled() -> None:
    assert losses({KEY: 7}, [*rows_of(7), rows_of(7)[0]]) == found(doubled=1)


def test_batch_of_which_a_table_lacks_rows_is_a_half_also_if_nobody_acknowledged_it() -> None:
    half = [row for row in rows_of(9, at_ms=2_000) if row.table != "cgroup"]

    assert losses({KEY: 7}, [*rows_of(7), *half]) == found(halves=1)


def test_whole_batch_that_nobody_acknowledged_is_well() -> None:
    assert not losses({KEY: 7}, [*rows_of(7), *rows_of(9, at_ms=2_000)]).any
