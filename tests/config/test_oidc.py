"""The settings of the company's login, and what is refused at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounts.models import Role
from config.env import SettingError
from config.oidc import ROLES, oidc_provider

LEAST = {"SLUICE_OIDC_ISSUER": "https://login.corp.example/", "SLUICE_OIDC_CLIENT_ID": "sluice"}


def test_without_an_issuer_there_is_none() -> None:
    assert oidc_provider({}) is None


def test_least_settings_are_enough() -> None:
    found = oidc_provider(LEAST)

    assert found is not None
    assert (found.name, found.groups_claim, found.roles) == ("login.corp.example", "groups", {})
    assert found.scopes == ("openid", "profile", "email")


def test_secret_and_table_may_lie_in_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    (tmp_path / "roles").write_text('{"CN=Storage,OU=Teams": {"northgate": "admin"}}')

    found = oidc_provider(
        LEAST
        | {
            "SLUICE_OIDC_CLIENT_SECRET_FILE": str(tmp_path / "secret"),
            "SLUICE_OIDC_ROLES_FILE": str(tmp_path / "roles"),
        }
    )

    assert found is not None
    assert found.secret == "s3cret"
    assert found.roles == {"CN=Storage,OU=Teams": {"northgate": "admin"}}
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"SLUICE_OIDC_ISSUER": "http://login.corp.example"}, "must begin with https://"),
        ({"SLUICE_OIDC_ISSUER": "login.corp.example"}, "must begin with https://"),
        ({"SLUICE_OIDC_CLIENT_ID": ""}, "SLUICE_OIDC_CLIENT_ID"),
        ({"SLUICE_OIDC_ROLES": "storage=admin"}, "is no JSON"),
        ({"SLUICE_OIDC_ROLES": "[]"}, "must give organisations to groups"),
        ({"SLUICE_OIDC_ROLES": '{"storage": "admin"}'}, "must give organisations to groups"),
        ({"SLUICE_OIDC_ROLES": '{"storage": {"x": "king"}}'}, "use one of viewer, operator"),
        ({"SLUICE_OIDC_SESSION_HOURS": "0"}, "use 1 or more"),
    ],
)
def test_wrong_setting_is_refused_by_its_name(wrong: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        oidc_provider(LEAST | wrong)


def test_provider_on_this_machine_may_go_without_tls() -> None:
    assert oidc_provider(LEAST | {"SLUICE_OIDC_ISSUER": "http://127.0.0.1:8080"}) is not None


def test_roles_of_the_table_are_those_of_members() -> None:
    assert list(ROLES) == Role.values
