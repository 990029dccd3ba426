"""An organisation with an incident, and somebody who is to be told of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from advisor.models import Incident
from tests.advisor.notifications.receivers import MailSink, WebSink, mail_sink, web_sink
from tests.advisor.scenario import Cluster, make_cluster

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def cluster(db: None, settings: Any) -> Cluster:
    settings.NOTIFY_INSIDE = True
    settings.PUBLIC_URL = "https://sluice.example.net"
    return make_cluster()


@pytest.fixture
def incident(cluster: Cluster) -> Incident:
    return Incident.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        started_at=NOW - timedelta(minutes=3),
        peak_value=0.99,
        threshold=0.9,
        windows=18,
        aggressors=[{"workload": "web-3"}],
        victims=[{"workload": "web-1", "rate": 40e6, "reservation": 75e6}],
    )


@pytest.fixture
def web() -> Iterator[WebSink]:
    with web_sink() as sink:
        yield sink


@pytest.fixture
def mail(settings: Any) -> Iterator[MailSink]:
    """The server that the product sends by."""
    with mail_sink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.HAS_MAIL, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", sink.port
        settings.EMAIL_TIMEOUT = 5
        yield sink
