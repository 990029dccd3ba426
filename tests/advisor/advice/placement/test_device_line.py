"""Latency in placement: by the model of the mix, else by the line, else refused and why."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.advice.placement.decide.device_line import LineSource, Mix, SeenModel, choose_lines
from advisor.advice.placement.decide.disk_answer import LineUsed, Objection
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.placement.decide.line_columns import TrafficColumns, device_columns
from advisor.core.device.device_model import DeviceLine, DeviceModel
from tests.advisor.advice.placement.placements import GB, NOW, datastore, vdisk

# Reads take 1 ms and 0.1 ms for each one that waits, writes 1 ms and 0.3 ms, whatever their size.
MODEL = DeviceModel(
    intercept=(1.0, 0.0, 1.0, 0.0),
    slope=(0.1, 0.0, 0.3, 0.0),
    error_ratio=0.08,
    point_count=120,
)
SEEN = SeenModel(
    model=MODEL,
    least_io_bytes=4000.0,
    most_io_bytes=16_000.0,
    least_read_ratio=0.0,
    most_read_ratio=1.0,
)
LINE = DeviceLine(intercept_ms=2.0, slope_ms=0.5)
READS, WRITES = (Mix(mean_io_bytes=8000.0, read_ratio=part) for part in (1.0, 0.0))


def test_model_gives_the_line_of_each_mix():
    chosen = choose_lines(SEEN, LINE, [READS, WRITES])

    assert chosen.source is LineSource.DEVICE_MODEL
    assert [(one.intercept_ms, one.slope_ms) for one in chosen.lines] == [(1.0, 0.1), (1.0, 0.3)]


@pytest.mark.parametrize(
    ("seen", "mixes"),
    [
        (None, [READS]),
        (SEEN, [READS, Mix(mean_io_bytes=64_000.0, read_ratio=1.0)]),
        (replace(SEEN, least_read_ratio=0.5), [READS, WRITES]),
        (replace(SEEN, model=replace(MODEL, slope=(0.1, 0.0, 0.0, 0.0))), [READS, WRITES]),
        (SEEN, [None]),
    ],
    ids=["no model", "size never seen", "writes never seen", "no slope for writes", "no I/O"],
)
def test_the_one_line_holds_for_all_where_the_model_cannot_speak_of_each(seen, mixes):
    chosen = choose_lines(seen, LINE, mixes)

    assert chosen.source is LineSource.FITTED_LINE
    assert chosen.lines == (LINE,) * len(mixes)


def test_without_model_and_line_there_is_none():
    assert choose_lines(None, None, [READS]) is None


@pytest.mark.parametrize(
    ("size_bytes", "reads", "is_known"),
    [
        # A quarter more or less than 4 to 16 kB, and a tenth more or less than 0.3 to 0.6 reads.
        (3200.0, 0.5, True),
        (3199.0, 0.5, False),
        (20_000.0, 0.5, True),
        (20_001.0, 0.5, False),
        (8000.0, 0.25, True),
        (8000.0, 0.19, False),
        (8000.0, 0.65, True),
        (8000.0, 0.71, False),
    ],
)
def test_table_asks_the_model_about_the_same_mixes_as_for_one(size_bytes, reads, is_known):
    seen = replace(SEEN, least_read_ratio=0.3, most_read_ratio=0.6)
    columns = device_columns([datastore("ds1", intercept=2.0, slope=0.5, seen_model=seen)])
    traffic = TrafficColumns(
        iops=np.array([100.0]),
        bytes_per_s=np.array([100.0 * size_bytes]),
        reads_per_s=np.array([100.0 * reads]),
    )

    slope_ms = float(columns.lines_of(traffic).slope_ms[0])

    # Reads take 0.1 ms for each one that waits, writes 0.3 ms.
    expected = 0.3 - 0.2 * reads if is_known else 0.5
    assert slope_ms == pytest.approx(expected)
    line = seen.line_at(Mix(mean_io_bytes=size_bytes, read_ratio=reads))
    assert (line is not None) is is_known


@pytest.mark.parametrize(("iops", "slope_ms"), [(0.0, 0.1), (0.5, 0.5)])
def test_both_lines_of_a_table_are_fitted_once_one_io_is_of_a_size_never_seen(iops, slope_ms):
    columns = device_columns([datastore("ds1", intercept=2.0, slope=0.5, seen_model=SEEN)])
    reads, large = (
        TrafficColumns(
            iops=np.array([rate]),
            bytes_per_s=np.array([rate * size]),
            reads_per_s=np.array([rate]),
        )
        for rate, size in ((100.0, 8000.0), (iops, 64_000.0))
    )

    with np.errstate(invalid="ignore"):
        lines = [*columns.lines_of_two(reads, large), *columns.lines_of_two(large, reads)]

    assert [float(one.slope_ms[0]) for one in lines] == [slope_ms] * 4


# ds1 carries 4000 reads/s and 1000 writes/s: 80 % reads, so 1 + (0.08 + 0.06) · 100 = 15 ms.
MIXED = PlacementInputs(
    datastores=tuple(
        datastore(name, intercept=None, slope=None, seen_model=SEEN) for name in ("ds1", "ds2")
    ),
    vdisks=(
        vdisk("reader", "ds1", outstanding_io=80, iops=4000, read_ratio=1.0, size=20 * GB),
        vdisk("writer", "ds1", outstanding_io=20, iops=1000, read_ratio=0.0, size=10 * GB),
    ),
    now=NOW,
    threshold_ms=12.0,
    samples=192,
)


def test_move_is_judged_by_the_mix_that_each_datastore_would_have():
    result = advise_placement(MIXED)

    (move,) = result.moves
    # Reads alone wait 1 + 0.1 · 80 = 9 ms, writes alone 1 + 0.3 · 20 = 7 ms.
    assert move.vdisks == ("writer",)
    assert move.effect.source_before_ms == pytest.approx(15.0)
    assert move.effect.source_after_ms == pytest.approx(9.0)
    assert move.effect.target_after_ms == pytest.approx(7.0)
    assert move.effect.source_line is LineSource.DEVICE_MODEL
    assert result.lines[0] == LineUsed(
        datastore="ds1",
        source=LineSource.DEVICE_MODEL,
        reason="120 windows, off by 8% in the middle",
    )


def test_answer_says_that_and_why_the_fitted_line_was_used():
    lined = tuple(
        replace(
            one,
            seen_model=None,
            model_gap="12 windows; 40 are needed",
            intercept_ms=1.0,
            slope_ms=0.14,
        )
        for one in MIXED.datastores
    )

    result = advise_placement(replace(MIXED, datastores=lined))

    assert result.moves[0].effect.target_line is LineSource.FITTED_LINE
    assert result.lines[0].source is LineSource.FITTED_LINE
    assert result.lines[0].reason == "12 windows; 40 are needed"


def test_datastore_without_any_line_is_refused_with_the_reason():
    blind = datastore("ds3", intercept=None, slope=None, line_gap="2 depths; 3 are needed")
    busy = replace(
        MIXED,
        datastores=(*MIXED.datastores, blind),
        vdisks=tuple(replace(one, outstanding_io=200.0) for one in MIXED.vdisks),
    )

    result = advise_placement(busy)

    refused = [one for one in result.rejected if one.target == "ds3"]
    assert {one.objection for one in refused} <= {Objection.UNKNOWN_DEVICE}
    assert (result.lines[2].source, result.lines[2].reason) == (None, "2 depths; 3 are needed")


def test_where_no_latency_is_known_nothing_is_called_above_or_below_the_threshold():
    # Models of small I/Os say nothing of large ones, and there is no line beside them.
    unknown = tuple(replace(one, line_gap="2 depths") for one in MIXED.datastores)
    large = tuple(replace(one, mean_io_bytes=1e6) for one in MIXED.vdisks)
    both = (large[0], replace(large[1], datastore="ds2"))

    result = advise_placement(replace(MIXED, datastores=unknown, vdisks=both))

    assert result.summary == (
        "No beneficial move: the latency of ds1 and ds2 is not known, because: the device model "
        "never saw such a mix of I/Os, and no line was fitted: 2 depths"
    )
