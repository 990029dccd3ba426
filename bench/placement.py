"""How long advice on placement takes in a large cluster where no move helps, the longest search.

Run `python -m bench.placement`. Every datastore is above its threshold and nearly full, so all
single moves and all exchanges are weighed. The rival is the plain search: the exact effect of
every pair, whose time is told from a part of the pairs.
"""

import argparse
import sys
import time
from datetime import UTC, datetime
from random import Random

from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.placement.decide.disk_layout import layout_of
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.placement.decide.move_effect import move_effect

SIZES = ((10, 200), (50, 2_000), (50, 10_000))
SAMPLED_PAIRS = 20_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def cluster(datastores: int, vdisks: int, seed: int) -> PlacementInputs:
    """Full datastores of like speed, all slow."""
    random = Random(seed)
    return PlacementInputs(
        datastores=tuple(
            DatastoreState(
                datastore=f"ds{number:02}",
                intercept_ms=random.uniform(0.5, 2),
                slope_ms=random.uniform(0.1, 0.2),
                capacity_bytes=1e13,
                used_bytes=0.79e13,
                copy_bytes_per_s=1e8,
            )
            for number in range(datastores)
        ),
        vdisks=tuple(
            VdiskState(
                vdisk=f"v{number:05}",
                workload=f"w{number:05}",
                datastore=f"ds{random.randrange(datastores):02}",
                size_bytes=random.uniform(5e10, 3e11),
                outstanding_io=random.uniform(1, 20),
                iops=random.uniform(50, 1000),
            )
            for number in range(vdisks)
        ),
        now=NOW,
        threshold_ms=1.0,
        samples=200,
    )


def plain_search_s(inputs: PlacementInputs) -> float:
    """The time for every pair of virtual disks of two datastores, from a part of them."""
    layout = layout_of(inputs)
    random, vdisks = Random(0), list(layout.vdisks.values())
    pairs = [(random.choice(vdisks), random.choice(vdisks)) for _ in range(SAMPLED_PAIRS)]
    begin = time.perf_counter()
    for one, other in pairs:
        ends = [(layout.datastores[x.datastore], layout.loads[x.datastore]) for x in (one, other)]
        move_effect([one], ends[0], ends[1], inputs, back=[other])
    each_s = (time.perf_counter() - begin) / SAMPLED_PAIRS
    return each_s * len(vdisks) ** 2 / 2


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args(argv).seed
    print("datastores  virtual disks      ours   plain search of exchanges   outcome")
    for datastores, vdisks in SIZES:
        inputs = cluster(datastores, vdisks, seed)
        begin = time.perf_counter()
        answer = advise_placement(inputs)
        ours_s = time.perf_counter() - begin
        print(
            f"{datastores:10}  {vdisks:13,}  {ours_s:6.2f} s   "
            f"{plain_search_s(inputs):16.0f} s         {answer.outcome}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
