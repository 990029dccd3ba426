"""`sluice claims`: what is claimed, by whom, where it lies, and changes of classes."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.models import ClassChange, ClusterClaim, ReadSource, Workload
from tests.web.claimed import changed, claimed, cluster
from tests.web.fleet import Fleet


def sluice(*words: str, of: str = "northgate") -> str:
    out = StringIO()
    call_command("claims", "--organisation", of, *words, stdout=out)
    return out.getvalue()


def plain(*words: str, of: str = "northgate") -> Any:
    return json.loads(sluice("--json", *words, of=of))


def names(*words: str) -> list[str]:
    return [f"{one['namespace']}/{one['name']}" for one in plain(*words)]


def test_claim_is_a_line_with_its_size_user_and_disk(fleet: Fleet) -> None:
    claimed(fleet, size_bytes=3 * 2**29, current_class="silver")
    changed(fleet, ClusterClaim.objects.get(), state="failed")

    head, line = sluice().splitlines()

    assert head.split("  ")[0] == "source"
    assert [word.strip() for word in line.split("  ") if word] == [
        "main", "shop/data-000", "1.5 GiB", "fast", "silver", "db-orders", "nfs-07",
        "gold: failed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (2**43, "8 TiB")]
)
def test_size_is_in_the_largest_unit_of_which_it_has_one(
    fleet: Fleet, size: int, text: str
) -> None:
    claimed(fleet, size_bytes=size)

    assert f"  {text}  " in sluice()


def test_json_has_what_the_api_answers(fleet: Fleet) -> None:
    claimed(fleet, size_bytes=2**30)
    change = changed(fleet, ClusterClaim.objects.get())

    (found,) = plain()

    assert (found["size_bytes"], found["storage_class"], found["attributes_class"]) == (
        2**30, "fast", None,
    )  # fmt: skip
    assert [one["workload"] for one in found["pods"]] == ["db-orders"]
    assert found["newest_change"]["id"] == change.pk
    assert plain("changes") == [found["newest_change"]]


def test_filters_leave_what_they_name(fleet: Fleet) -> None:
    source = claimed(fleet)
    for of, namespace, name in ((source, "test", "free"), (cluster(fleet, "b"), "shop", "x")):
        ClusterClaim.objects.create(
            organisation=fleet.organisation, source=of, uid=name, namespace=namespace, name=name
        )
    free, used = ClusterClaim.objects.get(name="free"), ClusterClaim.objects.get(name="data-000")
    changed(fleet, free, workload="other", state="failed")
    changed(fleet, used)
    idle = Workload.objects.exclude(name="db-orders").order_by("pk")[0].name
    disk = ClassChange.objects.latest("pk").recommendation.resource.name

    assert names() == ["shop/x", "shop/data-000", "test/free"]
    assert names("--source", "b") == ["shop/x"]
    assert names("--namespace", "test") == names("--namespace", "test", "changes") == ["test/free"]
    assert names("--workload", "db-orders") == ["shop/data-000"]
    assert names("changes", "--workload", "db-orders") == ["shop/data-000"]
    assert names("--workload", idle) == names("--namespace", "none") == []
    assert names("--resource", "nfs-07") == ["shop/data-000"]
    assert names("changes", "--state", "failed") == ["test/free"]
    assert names("changes", "--resource", disk) == ["shop/data-000", "test/free"]
    assert names("changes", "--source", "b") == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--source", "nothing"], 'there is no cluster "nothing"; there are: main'),
        (["--workload", "nobody"], 'there is no workload "nobody"; see: sluice workloads'),
        (["--resource", "nothing"], 'there is no resource "nothing"; there are: '),
        (["changes", "--workload", "nobody"], 'there is no workload "nobody"'),
        (["changes", "--state", "stuck"], "invalid choice: 'stuck'"),
        (["undo", "4000000", "--user", "owner"], "there is no change 4000000 of a class"),
        (["undo", "1"], "the following arguments are required: --user"),
    ],
)
def test_what_is_not_there_is_told(fleet: Fleet, words: list[str], complaint: str) -> None:
    claimed(fleet)

    with pytest.raises(CommandError) as error:
        sluice(*words)

    assert complaint in str(error.value)


def test_nothing_is_said_to_be_nothing(fleet: Fleet) -> None:
    assert sluice() == "no such claims; sluice source says which clusters are read\n"
    assert sluice("changes").startswith("no such changes; ")
    assert plain() == plain("changes") == []


def test_claims_of_others_and_of_removed_sources_are_not_listed(fleet: Fleet) -> None:
    claimed(fleet)
    change = changed(fleet, ClusterClaim.objects.get())
    other = Organisation.objects.get(slug="lakeside").slug

    assert plain(of=other) == plain("changes", of=other) == []
    for words in (["--source", "main"], ["--workload", "db-orders"], ["--resource", "nfs-07"]):
        with pytest.raises(CommandError, match="there is no"):
            sluice(*words, of=other)
    with pytest.raises(CommandError, match="there is no change"):
        sluice("undo", str(change.pk), "--user", "outsider", of=other)
    ReadSource.objects.update(removed_at=fleet.now)
    assert plain() == []


def test_undo_is_asked_for_by_an_admin_once(fleet: Fleet) -> None:
    claimed(fleet)
    change = changed(fleet, ClusterClaim.objects.get())

    with pytest.raises(CommandError, match="operator"):
        sluice("undo", str(change.pk), "--user", "operator")
    with pytest.raises(CommandError, match='has no member "outsider"'):
        sluice("undo", str(change.pk), "--user", "outsider")
    said = sluice("undo", str(change.pk), "--user", "owner")
    with pytest.raises(CommandError, match="was undone already"):
        sluice("undo", str(change.pk), "--user", "owner")

    assert "A worker gives shop/data-000 back the class that it had." in said
    made = ClassChange.objects.latest("pk")
    assert (made.undoes, made.former, made.wanted, made.asked_by) == (
        change, "gold", "silver", "owner",
    )  # fmt: skip


def test_undo_tells_programs_the_change_that_it_made(fleet: Fleet) -> None:
    claimed(fleet)
    change = changed(fleet, ClusterClaim.objects.get())

    made = plain("undo", str(change.pk), "--user", "owner")

    assert (made["undoes_id"], made["wanted_class"], made["state"]) == (
        change.pk, "silver", "waiting",
    )  # fmt: skip


def test_table_asks_two_queries_for_each_two_hundred_claims(
    fleet: Fleet, django_assert_max_num_queries: Any
) -> None:
    claimed(fleet, 401)

    # The organisation, the claims, and of three parts of them the pods and the changes.
    with django_assert_max_num_queries(8):
        found = plain()

    assert len(found) == 401
    assert all(one["pods"] for one in found)
