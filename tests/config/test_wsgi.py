"""The application that the web server runs: how large a body may be, by its path."""

from io import BytesIO
from typing import Any

import pytest
from django.conf import settings

from config.wsgi import application

LARGE_BYTES = settings.MAX_BODY_BYTES + 1


def status_of(path: str) -> str:
    """The status of a POST that announces a large body."""
    statuses = []
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "CONTENT_LENGTH": str(LARGE_BYTES),
        "wsgi.input": BytesIO(b"x" * 1000),
        "wsgi.url_scheme": "http",
    }
    b"".join(application(environ, lambda status, _headers: statuses.append(status)))
    return statuses[0]


@pytest.mark.django_db
def test_upload_has_a_limit_of_its_own() -> None:
    """Files for an import may be larger than what a collector sends; here nobody is signed in."""
    assert status_of("/imports/upload/").startswith("302")


@pytest.mark.django_db
def test_body_of_a_collector_is_refused_above_the_limit() -> None:
    assert status_of("/api/v2/write").startswith("413")
