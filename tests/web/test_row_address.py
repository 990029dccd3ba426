"""Lists write the same addresses as everybody else."""

from __future__ import annotations

import pytest
from django.urls import reverse

from web.row_address import row_address


@pytest.mark.parametrize("page", ["host", "resource", "workload"])
@pytest.mark.parametrize("pk", [0, 7, 100_200])
def test_address_of_a_row_is_that_of_its_route(page: str, pk: int) -> None:
    assert row_address(page, pk) == reverse(page, args=[pk])
