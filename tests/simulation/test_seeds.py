"""Thirty seeds on the present code, and that a seed says the same each time."""

from __future__ import annotations

import pytest

from appliance.simulation.database import taken_back
from appliance.simulation.play import play
from appliance.simulation.rows import rows_of

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.any_database]

CI_SEEDS = range(1, 31)


@pytest.mark.timeout(600)
def test_no_seed_breaks_an_invariant_and_each_kind_of_fault_strikes() -> None:
    outcomes = list(play(CI_SEEDS, hosts=5, minutes=20.0))

    violations = [one.violation.text(f"--seeds {one.seed}") for one in outcomes if one.violation]
    assert not violations, "\n\n".join(violations)
    never = [
        row.what for row in rows_of(outcomes) if row.what.startswith("fault") and not row.holds
    ]
    assert never == []


def test_same_seed_gives_the_same_events_and_another_one_others() -> None:
    with taken_back():
        first, again, other = play((7, 7, 8), hosts=3, minutes=10.0)

    assert "\n".join(first.events).encode() == "\n".join(again.events).encode()
    assert first.faults == again.faults
    assert first.events != other.events
    assert len(first.events) > 20
