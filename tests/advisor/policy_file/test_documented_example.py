"""The example of the document is taken over as it stands, and the document's words hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accounts.models import Organisation
from advisor.decisions.policy_file.decide.yaml_tree import MOST_CHARACTERS
from advisor.models import NotificationChannel
from tests.advisor.policy_file.site import exported, ran

PAGE = (Path(__file__).parents[3] / "docs" / "policy-file.md").read_text()


@pytest.mark.django_db
def test_documented_example_is_taken_over_and_exported_with_its_lines(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "site.yaml"
    file.write_text(example)
    acme = Organisation.objects.create(slug="acme", name="Acme")
    # Channels are set on the server.
    NotificationChannel.objects.create(
        organisation=acme, name="storage-team", kind="mail", address="ann@example.org"
    )

    checked, applied = ran("validate", file), ran("apply", file)

    assert checked == (0, f"{file}: no problem\n")
    assert applied[1].splitlines()[-2] == "14 made, 0 changed, 0 removed"
    # The export says more only where a kind filled something in.
    added = {"unit", "mode", "threshold"}
    lines = exported("acme").splitlines()
    rest = [line for line in lines if line in example.splitlines()]
    assert sorted(rest) == sorted(example.splitlines())
    assert {one.split(":")[0].strip() for one in lines if one not in rest} == added


def test_document_says_how_long_a_file_may_be() -> None:
    assert f"{MOST_CHARACTERS:,} characters" in PAGE
