"""What a new database starts with, and the local reader's token."""

import socket
import stat
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.core import management
from django.db import ProgrammingError
from django.utils import timezone

from accounts.models import Membership, Organisation, Token
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.first_run import create_first_login
from appliance.embedded.local_reader import local_reader
from appliance.embedded.prepared import prepare_database
from appliance.embedded.telegraf import find_telegraf
from config.paths import DataDir
from enforcers.config import load_reader

pytestmark = pytest.mark.django_db


@pytest.fixture
def data(tmp_path) -> DataDir:
    (tmp_path / "log").mkdir()
    return DataDir(tmp_path)


def test_first_log_in_owns_the_demo_organisation():
    login = create_first_login()

    user = authenticate(username=login.username, password=login.password)
    membership = Membership.objects.get(user=user)
    assert (membership.organisation.slug, membership.role) == ("demo", "owner")


def test_database_with_an_organisation_gets_no_second_log_in():
    create_first_login()

    assert create_first_login() is None
    assert Organisation.objects.count() == 1


def test_local_reader_gets_a_token_that_may_only_write_samples(data):
    create_first_login()

    local_reader(data)

    secret = data.reader / "ingest-token"
    token = Token.objects.valid(secret.read_text(), now=timezone.now())
    assert (token.scope, token.organisation.slug) == ("ingest", "demo")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_local_reader_keeps_its_token_until_it_is_revoked(data):
    create_first_login()

    def secret() -> str:
        local_reader(data)
        return (data.reader / "ingest-token").read_text()

    first = secret()
    assert secret() == first

    Token.objects.update(revoked_at=timezone.now())
    assert secret() != first


def test_local_reader_gets_a_configuration_that_the_agent_takes(data):
    create_first_login()

    spec = local_reader(data)

    reader = load_reader(Path(spec.argv[-1]))
    assert (reader.host, reader.endpoint.socket) == (socket.gethostname(), data.web_socket)
    assert reader.buffer_dir == data.reader / "samples"


def test_chosen_telegraf_comes_before_the_built_one(monkeypatch, tmp_path):
    built = tmp_path / "bin" / "telegraf"
    built.parent.mkdir()
    built.touch(mode=0o755)
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("SLUICE_TELEGRAF", raising=False)

    assert find_telegraf() == built

    monkeypatch.setenv("SLUICE_TELEGRAF", "/opt/telegraf")
    assert str(find_telegraf()) == "/opt/telegraf"


def test_migration_that_fails_is_told_with_what_to_do(monkeypatch, data):
    def fail(*_: object, **__: object) -> None:
        raise ProgrammingError('relation "x" already exists')

    monkeypatch.setattr(management, "call_command", fail)

    with pytest.raises(EmbeddedError, match=r'"x" already exists\n.*sluice migrate --traceback'):
        prepare_database(data, with_reader=False)
