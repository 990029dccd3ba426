"""Operations that read ask the database a fixed number of questions, however much there is."""

from __future__ import annotations

import pytest

from tests.web.api.asking import program_of
from tests.web.fleet import Fleet
from tests.web.test_query_counts import count_queries, grow
from web.api.v1.document import openapi

pytestmark = pytest.mark.any_database

READ = [path for path, methods in openapi()["paths"].items() if "get" in methods]
LISTS = [path for path in READ if "{" not in path]
OF_A_RESOURCE = [path for path in READ if path.startswith("/api/v1/resources/{pk}")]


@pytest.mark.parametrize("path", [*LISTS, *OF_A_RESOURCE])
def test_more_rows_ask_no_more_queries(fleet: Fleet, path: str) -> None:
    program = program_of(fleet.people.owner, fleet.organisation)
    address = path.replace("{pk}", str(fleet.resources["nfs-07"].pk))
    # When a token was used is written down once a minute.
    assert program("GET", address).status_code == 200
    before = count_queries(lambda: program("GET", address))

    grow(fleet)

    assert count_queries(lambda: program("GET", address)) <= before
