"""Django's own checks of a server that is open to others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check_deploy(data: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")
    }
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level=WARNING"],
        cwd=ROOT,
        env=environment
        | {"DJANGO_SETTINGS_MODULE": "config.settings", "SLUICE_DATA_DIR": str(data)}
        | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"SLUICE_TLS_CERTIFICATE": "/etc/sluice/tls.crt", "SLUICE_TLS_KEY": "/etc/sluice/tls.key"},
        {"SLUICE_HTTPS_ONLY": "true", "SLUICE_HSTS_SUBDOMAINS": "true"},
    ],
    ids=["own certificate", "behind a proxy"],
)
def test_server_over_tls_passes_the_checks_of_deployment(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    done = check_deploy(tmp_path, SLUICE_ALLOWED_HOSTS="sluice.example.com", **settings)

    assert done.returncode == 0, done.stderr


def test_server_without_tls_is_told_of(tmp_path: Path) -> None:
    done = check_deploy(tmp_path, SLUICE_ALLOWED_HOSTS="sluice.example.com")

    assert done.returncode == 1
    assert "security.W008" in done.stderr
