"""A statement that is to fail is one of the service, and none of the simulation itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import OperationalError, connection

from accounts.models import Organisation
from appliance.simulation.agenda import Agenda
from appliance.simulation.database import taken_back
from appliance.simulation.faults import ServiceFaults
from appliance.simulation.service import SimulatedService
from appliance.simulation.trail import Trail
from appliance.simulation.truth import Truth

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

BACKS_UP, RESTORES = 2, 3
"""Places among what may strike the service."""


class Chosen(random.Random):
    """Draws what it is told, at times that are drawn."""

    places: Sequence[int] = ()

    def choices(self, population: Any, *_: Any, **__: Any) -> Any:
        place, *self.places = self.places
        return [population[place]]


def test_backup_and_restore_pass_over_the_statement_that_is_to_fail() -> None:
    agenda = Agenda()
    trail = Trail(agenda)
    service = SimulatedService(trail, lambda _question, _said: None)
    rng = Chosen(7)
    rng.places = [BACKS_UP, RESTORES, *[BACKS_UP] * 1000]
    faults = ServiceFaults(service, Truth([], trail), agenda=agenda, trail=trail, rng=rng)

    with taken_back(), connection.execute_wrapper(service.statements):
        service.statements.left = 1
        faults.begin()
        agenda.run_until(3600.0)
        assert trail.faults["restored from a backup"] == 1
        with pytest.raises(OperationalError, match="connection was lost"):
            Organisation.objects.exists()
        assert trail.faults["statement fails"] == 1
