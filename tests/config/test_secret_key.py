"""The SECRET_KEY below the data directory."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from config.secret_key import secret_key


@pytest.fixture(autouse=True)
def _no_given_key(monkeypatch):
    monkeypatch.delenv("SLUICE_SECRET_KEY", raising=False)


def test_key_is_made_once_and_kept(tmp_path):
    path = tmp_path / "new" / "secret-key"

    first = secret_key(path)

    assert len(first) >= 50
    assert secret_key(path) == first


def test_key_is_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "secret-key"

    secret_key(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_programs_that_start_together_agree_on_one_key(tmp_path):
    path = tmp_path / "secret-key"

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(secret_key, [path] * 8))

    assert len(keys) == 1


def test_given_key_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_SECRET_KEY", "given")

    assert secret_key(tmp_path / "secret-key") == "given"
    assert not (tmp_path / "secret-key").exists()
