"""Two servers that took over the same policy file show the same pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounts.models import Membership, Organisation, Role
from advisor.models import Enforcer, Resource, Workload
from tests.advisor.policy_file.site import PRODUCTION, SPARE, on, ran
from tests.web.html import page_of

pytestmark = pytest.mark.django_db


def shown(slug: str) -> dict[str, str]:
    """The text of the pages that show what is stated, by page, with every row of their tables."""
    organisation = Organisation.objects.get(slug=slug)
    user = get_user_model().objects.create_user(f"reader-{slug}")
    Membership.objects.create(user=user, organisation=organisation, role=Role.VIEWER)
    client = Client()
    client.force_login(user)
    pages = {name: f"/{name}" for name in ("", "workloads/", "storage/", "networks/")}
    pages["ladder"] = "/settings/ladder/"
    for row in Resource.objects.filter(organisation=organisation):
        pages[row.name] = f"/resources/{row.pk}/"
    for workload in Workload.objects.filter(organisation=organisation):
        pages[workload.name] = f"/workloads/{workload.pk}/"
    return {
        name: "".join(
            main.all_text().replace(organisation.name, "")
            for main in page_of(client.get(address)).elements("main")
        )
        for name, address in pages.items()
    }


def test_pages_show_the_same_on_both(file: Path) -> None:
    # Which hosts have an agent is no policy.
    Enforcer.objects.all().delete()
    ran(*on(SPARE, "apply", file))

    there, here = shown(SPARE), shown(PRODUCTION)

    assert there == here
    assert "nfs-07" in here[""]
    assert "db h2 high 77 500 800" in here["nfs-07"]
    assert "nights nfs-07 high" in here["ladder"]
    assert "75.0 Mbit/s of 75.0 Mbit/s" in here["h1/up0"]
