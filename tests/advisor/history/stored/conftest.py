import pytest

from tests.ingest.scenario import Tenant, make_tenant


@pytest.fixture
def tenant(db: None) -> Tenant:
    """The organisation whose history is stored."""
    return make_tenant("northgate")


@pytest.fixture
def stranger(db: None) -> Tenant:
    """Another organisation, whose history is its own."""
    return make_tenant("lakeside")
