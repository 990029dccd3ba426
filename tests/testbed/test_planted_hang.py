"""A disk of a real kernel that takes I/Os and completes none is found as stalled at once."""

from __future__ import annotations

import pytest

from advisor.decisions.casebook.replay import replay
from bench.lab.bundles import bundles_of
from bench.lab.rare_case import PLIGHTS, rare_case
from bench.lab.rare_run import run

SEED = PLIGHTS.index("hang")
PHASE_S = 16.0

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(400),
]


@pytest.mark.django_db
def test_a_disk_that_hangs_is_stalled_from_its_first_window_on() -> None:
    found = run(SEED, phase_s=PHASE_S)
    ((name, bundle),) = bundles_of(found)

    (incident,) = replay(bundle).incidents

    assert name == "hang-disk"
    assert len(found["crowded"]) == rare_case(SEED).hung_windows
    assert all(one["device"]["io_count"] == 0 for one in found["crowded"])
    assert all(one["device"]["io_count"] > 0 for one in found["calm"])
    assert bundle.truth is not None
    assert incident.is_stalled
    assert incident.began_at == bundle.truth.began_at
