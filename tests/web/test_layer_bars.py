"""The bar of a disk is as long as its layers together, without gap or overlap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from advisor.core.device.felt_latency import FeltLatency, Layer, LayerTime, NoFeltLatency
from advisor.models import Allocation, Resource
from advisor.queries.felt_latency import DiskLatency
from web.drawing.layer_bars import COLOURS, layer_bars, shared_gaps
from web.drawing.scale import WIDTH


def disk(**ms: float | None) -> DiskLatency:
    layers = tuple(LayerTime(layer=Layer(name), ms=value) for name, value in ms.items())
    whole = sum(one.ms or 0.0 for one in layers)
    found = FeltLatency(whole_ms=whole, layers=layers, ios=100.0, windows=6)
    return DiskLatency(name="ds", allocation=Allocation(), resource=Resource(), found=found)


@given(st.lists(st.lists(st.floats(0, 1e4), min_size=3, max_size=3), min_size=1, max_size=4))
def test_cuts_lie_side_by_side_on_one_scale(times: list[list[float]]) -> None:
    disks = [disk(own_limit=one, queue=two, device=three) for one, two, three in times]

    bars = layer_bars(disks)

    for bar in bars:
        for cut, following in zip(bar.cuts, bar.cuts[1:], strict=False):
            assert cut.x + cut.width == following.x
        assert all(cut.x + cut.width <= WIDTH for cut in bar.cuts)
    longest = max(range(len(times)), key=lambda place: sum(times[place]))
    ends = [max((cut.x + cut.width for cut in bar.cuts), default=0) for bar in bars]
    assert ends[longest] == max(ends)


def test_layer_without_time_has_no_cut_and_each_other_a_colour_of_its_own() -> None:
    # The longest bar has 1000 / 1.02 = 980 of room: 10 of 40 ms are 245 of it.
    (bar,) = layer_bars([disk(own_limit=0.0, queue=10.0, network=None, device=30.0)])

    assert [(cut.part.layer, cut.x, cut.width) for cut in bar.cuts] == [
        (Layer.QUEUE, 0, 245),
        (Layer.DEVICE, 245, 735),
    ]
    assert len({cut.colour for cut in bar.cuts}) == 2
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert set(COLOURS) == set(Layer) - {Layer.NETWORK}


def test_disk_of_which_nothing_is_told_has_no_bar() -> None:
    (bar,) = layer_bars([untold()])

    assert (bar.cuts, bar.found, bar.whole) == ((), None, None)


GAPS = st.lists(st.sampled_from([Layer.QUEUE, Layer.NETWORK, Layer.HOST]), unique=True)


@given(st.lists(st.none() | st.tuples(GAPS, st.sampled_from("ab"))))
def test_each_gap_of_each_disk_is_told_and_what_all_have_in_common_once(
    said: list[tuple[list[Layer], str] | None],
) -> None:
    disks = [untold() if one is None else with_gaps(*one) for one in said]

    shared, bars = shared_gaps(disks), layer_bars(disks)

    for one, bar in zip(disks, bars, strict=True):
        if isinstance(one.found, FeltLatency):
            assert sorted([*bar.gaps, *shared], key=str) == sorted(one.found.absent, key=str)
        else:
            assert bar.gaps == ()


def test_of_one_disk_nothing_is_in_common() -> None:
    (bar,) = layer_bars([with_gaps([Layer.QUEUE], "a")])

    assert [gap.layer for gap in bar.gaps] == [Layer.QUEUE]


def with_gaps(layers: list[Layer], reason: str) -> DiskLatency:
    own = tuple(LayerTime(layer=one, ms=None, reason=reason) for one in layers)
    found = FeltLatency(whole_ms=None, layers=own, ios=1.0, windows=6)
    return DiskLatency(name="ds", allocation=Allocation(), resource=Resource(), found=found)


def untold() -> DiskLatency:
    found = NoFeltLatency(reason="why")
    return DiskLatency(name="ds", allocation=Allocation(), resource=Resource(), found=found)
