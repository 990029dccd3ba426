"""Thirty seeds on the present code."""

from __future__ import annotations

import pytest

from appliance.simulation.database import taken_back
from appliance.simulation.fleet import stated_fleet
from appliance.simulation.seed_run import run_seed

pytestmark = pytest.mark.django_db


def test_no_seed_breaks_an_invariant() -> None:
    with taken_back():
        fleet = stated_fleet(5)
        for seed in range(1, 4):
            out = run_seed(seed, fleet, minutes=20)
            print(seed, out.cpu_s, len(out.events), out.faults)
            if out.violation:
                print(out.violation.text("x"))
    assert 0
