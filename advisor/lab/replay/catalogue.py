"""All experiments that can be replayed, in the order of the seeds."""

from advisor.lab.replay import (
    seed_000_test_1,
    seed_000_test_2,
    seed_000_test_3,
    seed_000_test_4,
    seed_001_test_1,
    seed_001_test_2,
    seed_001_test_3,
    seed_001_test_4,
    seed_002_olio,
    seed_002_practices,
    seed_002_reservations,
    seed_002_scheduler,
    seed_003,
    seed_004,
)
from advisor.lab.replay.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    seed_000_test_1.EXPERIMENT,
    seed_000_test_2.EXPERIMENT,
    seed_000_test_3.EXPERIMENT,
    seed_000_test_4.EXPERIMENT,
    *seed_001_test_1.EXPERIMENTS,
    seed_001_test_2.EXPERIMENT,
    seed_001_test_3.EXPERIMENT,
    seed_001_test_4.EXPERIMENT,
    seed_002_reservations.EXPERIMENT,
    seed_002_scheduler.TRAFFIC_EXPERIMENT,
    seed_002_olio.EXPERIMENT,
    seed_002_scheduler.COST_EXPERIMENT,
    seed_002_practices.EXPERIMENT,
    seed_003.EXPERIMENT,
    *seed_004.EXPERIMENTS,
)


def find_experiment(name: str) -> Experiment | None:
    """The experiment of this name, or None."""
    return next((each for each in EXPERIMENTS if each.name == name), None)
