"""With HTTPS alone, `/metrics` is redirected like a page unless the operator wants it plain."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASKED = """
from django.http import HttpResponse
from django.middleware.security import SecurityMiddleware
from django.test import RequestFactory
layer = SecurityMiddleware(lambda request: HttpResponse())
print(layer(RequestFactory().get("{path}")).status_code)
"""


@pytest.mark.parametrize(
    ("plain", "path", "status"),
    [
        ("", "/metrics", 301), ("1", "/metrics", 200),
        ("1", "/metrics/other", 301), ("1", "/", 301), ("", "/health/ready", 200),
    ],
)  # fmt: skip
def test_metrics_are_answered_over_http_where_that_is_wanted(
    tmp_path: Path, plain: str, path: str, status: int
) -> None:
    environment = {
        "PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings",
        "SLUICE_DATA_DIR": str(tmp_path), "SLUICE_HTTPS_ONLY": "1", "SLUICE_PLAIN_METRICS": plain,
        "SLUICE_ALLOWED_HOSTS": "testserver",
    }  # fmt: skip

    done = subprocess.run(
        [sys.executable, "-c", ASKED.format(path=path)],
        cwd=Path(__file__).resolve().parents[2], env=environment,
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip

    assert done.stdout.split() == [str(status)]
