"""Programs of people of the fleet."""

from __future__ import annotations

import pytest

from accounts.models import Organisation
from tests.web.api.asking import Program, program_of
from tests.web.fleet import Fleet


@pytest.fixture
def program(fleet: Fleet) -> Program:
    """Of the operator."""
    return program_of(fleet.people.operator, fleet.organisation)


@pytest.fixture
def viewing(fleet: Fleet) -> Program:
    """Of a viewer, whose token may write."""
    return program_of(fleet.people.viewer, fleet.organisation)


@pytest.fixture
def foreign(fleet: Fleet) -> Program:
    """Of the owner of another organisation."""
    return program_of(fleet.people.outsider, Organisation.objects.get(slug="lakeside"))
