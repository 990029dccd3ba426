"""Host names of every length and script, from the wire to the page; a plain host beside them.

What is shown is the name as it was sent. A name that is too long is refused with its reason.
"""

from __future__ import annotations

from contextlib import suppress
from io import StringIO
from itertools import count

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django.utils.html import escape
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from accounts.models import Membership, Organisation, Role
from advisor.models import Resource
from advisor.pipeline.groups import judge_alone
from advisor.tasks import discover_organisation
from ingest.core.lengths import LONGEST_HOST_NAME
from ingest.models import RejectedLine
from tests.advisor.samples import send

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

NUMBERS = count()
# Not the backslash, which escapes in line protocol, nor what no text can hold.
letters = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\\")
names = st.one_of(
    st.text(letters, min_size=1, max_size=40),
    st.builds(
        lambda letter, length: letter * length,
        letters.filter(lambda letter: not letter.isspace()),
        st.integers(190, LONGEST_HOST_NAME + 10),
    ),
).filter(lambda name: name.strip() == name)


def disk_line(host: str) -> str:
    for letter in ", =":
        host = host.replace(letter, f"\\{letter}")
    stamp = int(timezone.now().timestamp()) * 10**9
    return f"diskio,host={host},name=sda reads=1i,writes=1i {stamp}"


def make_tenant(kind: str) -> Organisation:
    return Organisation.objects.create(slug=f"{kind}-{next(NUMBERS)}", name=kind)


def status_of(organisation: Organisation) -> str:
    out = StringIO()
    with suppress(SystemExit):
        call_command("status", organisation=organisation.slug, stdout=out)
    return out.getvalue()


def pages_of(organisation: Organisation, resource: Resource) -> list[str]:
    person = get_user_model().objects.create(username=organisation.slug)
    Membership.objects.create(organisation=organisation, user=person, role=Role.VIEWER)
    client = Client()
    client.force_login(person)
    answers = [client.get(path) for path in ("/", f"/resources/{resource.pk}/", "/hosts/")]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    return [answer.content.decode() for answer in answers]


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(names)
@example("سيرفر-٣")
@example("שרת\u200f-7")
@example("👩‍👩‍👧‍👦.example")
@example("e\u0301" * 126)
@example("主" * LONGEST_HOST_NAME)
@example("🜚" * LONGEST_HOST_NAME)
@example("h" * LONGEST_HOST_NAME)
@example("h" * (LONGEST_HOST_NAME + 1))
@example("<script>alert(1)</script>")
@example("../../etc")
@example("a b,c=d")
def test_name_is_shown_as_it_was_sent_or_refused_and_others_go_on(name: str) -> None:
    odd, plain = make_tenant("odd"), make_tenant("plain")
    sent = send(odd, f"{disk_line(name)}\n{disk_line('beside')}", now=timezone.now())
    assert sent.accepted + sent.rejected == 2, sent
    send(plain, disk_line("h1"), now=timezone.now())

    for organisation in (odd, plain):
        discover_organisation(organisation.pk)
    for resource in Resource.objects.filter(organisation__in=(odd, plain)):
        judge_alone(resource, now=timezone.now())

    assert [one.name for one in plain.resources.all()] == ["h1/sda"]
    assert "h1/sda" in status_of(plain)
    found = {one.name: one for one in odd.resources.all()}
    assert "beside/sda" in found, sent
    if len(name) > LONGEST_HOST_NAME:
        assert set(found) == {"beside/sda"}
        refused = RejectedLine.objects.get(organisation=odd)
        assert refused.reason == 'tag "host" is longer than 253 characters'
        return
    assert set(found) == {"beside/sda", f"{name}/sda"}
    assert f"{name}/sda" in status_of(odd)
    overview, page, hosts = pages_of(odd, found[f"{name}/sda"])
    assert escape(f"{name}/sda") in overview
    assert escape(f"{name}/sda") in page
    assert escape(name) in hosts
