"""How fast the allocation solver is, beside a general solver and beside the floor.

Run `python -m bench.allocation`. The floor is `numpy.sort` of the breakpoints, which any exact
algorithm of this kind must do. The rival is HiGHS: an LP is exact for additive reservations, a
convex QP for floors. Every row is timed in this run, on this machine, on the same allocations.
"""

import argparse
import sys
import time
from collections.abc import Callable
from random import Random

import numpy as np

from advisor.core.allocation import Allocation, ReservationMode, entitlements

SIZES = (1_000, 10_000, 100_000)
LARGEST_QP = 1_000
"""HiGHS solves QPs by an active-set method, whose work grows with the cube of the size."""
SHARES = (500, 1000, 2000)


def scenario(count: int, seed: int) -> tuple[float, list[Allocation]]:
    """A contended resource: half of it reserved, half limited, a third of known demand."""
    random = Random(seed)
    allocations = []
    for _ in range(count):
        reservation = random.choice((0.0, random.uniform(0, 5)))
        limit = random.choice((None, random.uniform(5, 50)))
        demand = random.choice((None, None, random.uniform(0, 50)))
        allocations.append(Allocation(reservation, limit, random.choice(SHARES), demand))
    return 8.0 * count, allocations


def best_of(repeats: int, call: Callable[[], object]) -> float:
    """The shortest time of several, in seconds: the one that the machine disturbed least."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def sort_floor(count: int, seed: int) -> Callable[[], object]:
    """Sorting as many random numbers as there are breakpoints."""
    points = np.random.default_rng(seed).random(2 * count)
    return lambda: np.sort(points)


def arrays(allocations: list[Allocation]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reservation within the cap, cap, and shares."""
    infinite = float("inf")
    cap = np.array(
        [
            min(c.limit or infinite, infinite if c.demand is None else c.demand, 1e9)
            for c in allocations
        ]
    )
    reservation = np.minimum(np.array([c.reservation for c in allocations]), cap)
    return reservation, cap, np.array([float(c.shares) for c in allocations])


def additive_by_lp(capacity: float, allocations: list[Allocation]) -> list[float]:
    """The lowest level λ at which y <= λ·shares adds up to what the reservations leave."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, identity

    reservation, cap, shares = arrays(allocations)
    shares /= shares.mean()  # The level then has the size of a rate, as HiGHS's tolerances expect.
    count = len(allocations)
    below_level = hstack([identity(count), csr_array(-shares.reshape(-1, 1))], format="csr")
    one_sum = csr_array(np.append(np.ones(count), 0.0).reshape(1, -1))
    bounds = np.column_stack((np.zeros(count + 1), np.append(cap - reservation, np.inf)))
    solution = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=below_level,
        b_ub=np.zeros(count),
        A_eq=one_sum,
        b_eq=[capacity - reservation.sum()],
        bounds=bounds,
        method="highs-ipm",  # Several times faster than its simplex here.
    )
    return list(reservation + solution.x[:count])


def floor_by_qp(capacity: float, allocations: list[Allocation]) -> list[float]:
    """The least sum of x²/shares within the bounds, whose solution is clamp(λ·shares, r, cap)."""
    import highspy

    reservation, cap, shares = arrays(allocations)
    count = len(allocations)
    model = highspy.HighsModel()
    model.lp_.num_col_, model.lp_.num_row_ = count, 1
    model.lp_.col_cost_ = np.zeros(count)
    model.lp_.col_lower_, model.lp_.col_upper_ = reservation, np.minimum(cap, capacity)
    model.lp_.row_lower_ = model.lp_.row_upper_ = np.array([capacity])
    matrix = model.lp_.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.array([0, count])
    matrix.index_, matrix.value_ = np.arange(count), np.ones(count)
    model.hessian_.dim_ = count
    model.hessian_.format_ = highspy.HessianFormat.kTriangular
    model.hessian_.start_ = np.arange(count + 1)
    model.hessian_.index_, model.hessian_.value_ = np.arange(count), 1000.0 / shares
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.passModel(model)
    solver.run()
    return list(solver.getSolution().col_value)


def report(count: int, mode: ReservationMode, seed: int) -> str:
    """One row: our time, the floor's, the rival's, the ratios, and how far the results differ."""
    capacity, allocations = scenario(count, seed)
    ours = best_of(5, lambda: entitlements(capacity, allocations, mode))
    floor = best_of(5, sort_floor(count, seed))
    row = f"{count:>8,}  {mode:<9}{ours * 1e3:>9.2f} ms{floor * 1e3:>9.2f} ms{ours / floor:>8.1f}×"
    rival = floor_by_qp if mode is ReservationMode.FLOOR else additive_by_lp
    if mode is ReservationMode.FLOOR and count > LARGEST_QP:
        return f"{row}   QP: left out above {LARGEST_QP:,} allocations"
    try:
        begin = time.perf_counter()
        theirs = rival(capacity, allocations)
        taken = time.perf_counter() - begin
    except ImportError as error:
        return f"{row}   {error.name} is not installed"
    apart = max(
        abs(a - b) for a, b in zip(entitlements(capacity, allocations, mode), theirs, strict=True)
    )
    name = "QP" if mode is ReservationMode.FLOOR else "LP"
    return f"{row}   {name}:{taken * 1e3:>10.1f} ms{taken / ours:>9.0f}×   {apart:.1e} apart"


def main() -> None:
    """Print a row per size and mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    out = sys.stdout.write
    out("  allocations  mode           ours       sort   ours/sort   HiGHS          HiGHS/ours\n")
    for count in SIZES:
        for mode in ReservationMode:
            out(report(count, mode, seed) + "\n")


if __name__ == "__main__":
    main()
