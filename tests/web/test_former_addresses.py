"""Bookmarks and links in mails of the release before still lead to their page."""

from __future__ import annotations

import pytest
from django.test import Client

from advisor.lab.replay.study import Experiment, experiments
from tests.web.fleet import Fleet

pytestmark = pytest.mark.any_database


@pytest.fixture
def viewer(nothing_yet: Fleet) -> Client:
    client = Client()
    client.force_login(nothing_yet.people.viewer)
    return client


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("/episodes/", "/incidents/"),
        ("/episodes/?page=2", "/incidents/?page=2"),
        ("/episodes/7/", "/incidents/7/"),
        ("/episodes/7/?range=1h", "/incidents/7/?range=1h"),
        ("/replay/000-test-3/", "/replay/sioc-nfs-idle-vm/"),
        ("/replay/000-test-3/?speed=20", "/replay/sioc-nfs-idle-vm/?speed=20"),
        ("/replay/000-test-3/timeline.json", "/replay/sioc-nfs-idle-vm/timeline.json"),
    ],
)
def test_former_address_leads_to_the_present_one_for_good(
    viewer: Client, former: str, present: str
) -> None:
    response = viewer.get(former)

    assert (response.status_code, response.headers["Location"]) == (301, present)


@pytest.mark.parametrize("experiment", experiments(), ids=lambda each: each.old_name)
def test_former_address_of_every_replay_shows_its_page(
    viewer: Client, experiment: Experiment
) -> None:
    response = viewer.get(f"/replay/{experiment.old_name}/", follow=True)

    assert response.redirect_chain == [(f"/replay/{experiment.name}/", 301)]
    assert experiment.title in response.content.decode()


def test_unknown_replay_has_no_page(viewer: Client) -> None:
    assert viewer.get("/replay/000-test-99/").status_code == 404
