"""The pairs that are judged exactly are those with the best exact effect of all."""

from itertools import product
from random import Random

import pytest

from advisor.advice.placement.decide.disk_exchange import JUDGED, exchanges
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import layout_of
from advisor.advice.placement.decide.disk_rules import RuleBook, units
from advisor.advice.placement.decide.move_effect import MoveEffect, move_effect
from tests.advisor.advice.placement.placements import GB, NOW, datastore, vdisk

Pair = tuple[str, str]


def crowded(seed: int) -> PlacementInputs:
    """Six virtual disks on a slow datastore and six on a quicker one, both full to 790 GB."""
    random = Random(seed)
    return PlacementInputs(
        datastores=(
            datastore("ds1", slope=0.2, used=790 * GB, other_iops=300.0),
            datastore("ds2", slope=0.15, used=790 * GB, other_iops=200.0),
        ),
        vdisks=tuple(
            vdisk(
                f"{store}-{number}",
                store,
                outstanding_io=random.uniform(*busy),
                iops=random.uniform(100, 2000),
                size=random.uniform(50, 70) * GB,
            )
            for store, busy in (("ds1", (5.0, 40.0)), ("ds2", (0.1, 10.0)))
            for number in range(6)
        ),
        now=NOW,
        threshold_ms=25.0,
        samples=192,
    )


def exact(inputs: PlacementInputs) -> dict[Pair, MoveEffect]:
    """The exact effect of every pair that keeps the space and makes the target fast enough."""
    layout = layout_of(inputs)
    ends = [(layout.datastores[one], layout.loads[one]) for one in ("ds1", "ds2")]
    found = {}
    for out, back in product(
        *([one for one in inputs.vdisks if one.datastore == name] for name in ("ds1", "ds2"))
    ):
        effect = move_effect([out], ends[0], ends[1], inputs, back=[back])
        assert effect is not None
        # 10 GB are left on each.
        fits = abs(out.size_bytes - back.size_bytes) <= 10 * GB
        if fits and effect.target_after_ms <= min(25.0, effect.source_before_ms):
            found[out.vdisk, back.vdisk] = effect
    return found


@pytest.mark.parametrize("seed", range(8))
def test_judged_exchanges_are_the_best_of_all_pairs(seed: int) -> None:
    inputs = crowded(seed)
    effects = exact(inputs)
    worth = {pair: one.benefit - one.cost for pair, one in effects.items()}
    best = sorted((pair for pair in worth if worth[pair] > 0), key=lambda pair: -worth[pair])
    layout = layout_of(inputs)

    together = [
        tuple(layout.vdisks[name] for name in unit) for unit in units(inputs.rules, layout.vdisks)
    ]

    found = exchanges(inputs, layout, RuleBook(inputs.rules), together, ["ds1"])

    judged = [(one.proposal.moved[0].vdisk, one.proposal.back[0].vdisk) for one in found]
    assert len(best) > JUDGED
    assert judged == best[:JUDGED]
    assert [one.effect for one in found] == [effects[pair] for pair in judged]
