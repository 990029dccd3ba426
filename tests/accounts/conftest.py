import pytest

from tests.ingest.scenario import Tenant, make_tenant


@pytest.fixture
def tenant(db: None) -> Tenant:
    """The organisation whose members and tokens are meant."""
    return make_tenant("northgate")


@pytest.fixture
def stranger(db: None) -> Tenant:
    """Another organisation, which must see and change nothing of the first."""
    return make_tenant("lakeside")
