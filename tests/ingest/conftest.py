from collections.abc import Iterator

import pytest
from django.db import connection

from ingest.partitions import TABLES
from tests.ingest.scenario import Tenant, make_tenant


@pytest.fixture
def tenant(db: None) -> Tenant:
    """The organisation whose samples are written."""
    return make_tenant("northgate")


@pytest.fixture
def stranger(db: None) -> Tenant:
    """Another organisation, which must see and change nothing of the first."""
    return make_tenant("lakeside")


@pytest.fixture
def committed(transactional_db: None) -> Iterator[None]:
    """What a test writes is really committed; the sample tables are emptied after it.

    Django empties the other tables itself; these it does not manage.
    """
    yield
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")
