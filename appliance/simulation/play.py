"""Seeds one after the other, on a fleet that is stated once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.test.utils import override_settings

from appliance.simulation.agenda import Agenda
from appliance.simulation.database import taken_back
from appliance.simulation.fleet import stated_fleet
from appliance.simulation.network import Question
from appliance.simulation.seed_run import Outcome, run_seed
from appliance.simulation.service import SimulatedService
from appliance.simulation.trail import Trail

# Of no worth: what is signed and sealed by them is gone with the run.
_KEYS = {
    "SIGNER_SOCKET": None,
    "SIGNING_KEYS": lambda: ["simulated " * 4],
    "ENCRYPTION_KEYS": lambda: ["c2ltdWxhdGVkc2ltdWxhdGVkc2ltdWxhdGVkc2ltdWw="],
}


def play(seeds: Iterable[int], *, hosts: int, minutes: float) -> Iterator[Outcome]:
    """What came of each. The database is as before at the end."""
    with override_settings(**_KEYS), taken_back():
        fleet = stated_fleet(hosts)
        _import_views()
        for seed in seeds:
            yield run_seed(seed, fleet, minutes=minutes)


def _import_views() -> None:
    """A first question imports them, which is no cost of a seed."""
    service = SimulatedService(Trail(Agenda()), lambda _question, _said: None)
    service.serve(Question(method="GET", path="/health/live", body=b"", headers={}))
