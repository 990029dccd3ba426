"""A policy file is read as it is written, and what is wrong is told with its line."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.resource import Unit
from advisor.decisions.policy_file.decide import yaml_tree
from advisor.decisions.policy_file.decide.difference import units_of
from advisor.decisions.policy_file.decide.document import PolicyFile
from advisor.decisions.policy_file.decide.problems import MOST_TOLD, PolicyFileError
from advisor.decisions.policy_file.decide.quantities import rate_text, size_text
from advisor.decisions.policy_file.decide.read import Read, read_policy_file
from advisor.decisions.policy_file.decide.write import policy_file_text
from tests.advisor.policy_file.documents import AMOUNTS, documents

STORE = """\
sluice: 1
resources:
  - name: nfs-07
    kind: datastore
    capacity: 2000
    reached_by:
      - {host: h1, device: sda}
"""
TIERS = "sluice: 1\nworkloads:\n  - {name: a, tier: low}\n"
WINDOW = "sluice: 1\nmaintenance:\n  - {name: a, start: 2026-01-01T00:00, length: 2h}\n"
PROMISE = """\
allocations:
  - resource: nfs-07
    workload: w
    host: h1
    adapter_kind: cgroup
    adapter: /w
    reservation: 8
"""


def read(text: str) -> Read:
    return read_policy_file(text, file="site.yaml")


def refused(text: str) -> str:
    with pytest.raises(PolicyFileError) as refusal:
        read(text)
    return str(refusal.value)


def permissions(document: PolicyFile) -> list[bool]:
    """They are no state, so files that differ in them are equal."""
    asking = (*(document.allocations or ()), *(document.pools or ()))
    return [one.even_if_full for one in asking]


@given(documents())
def test_written_file_is_read_as_it_was(document: PolicyFile) -> None:
    found = read(policy_file_text(document, units={})).document

    assert found == document
    assert permissions(found) == permissions(document)


@given(documents())
def test_same_state_gives_the_same_bytes(document: PolicyFile) -> None:
    text = policy_file_text(document, units={})

    assert policy_file_text(read(text).document, units={}) == text


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029", "\n\x85"])
def test_characters_that_end_lines_elsewhere_are_kept(odd: str) -> None:
    (entry,) = read(STORE + PROMISE).document.allocations or ()
    document = PolicyFile(version=1, allocations=(replace(entry, adapter=f"a{odd}b{odd}"),))

    assert read(policy_file_text(document, units={})).document == document


SECTIONS = [one.name for one in fields(PolicyFile) if one.name != "version"]


@given(documents(), st.sets(st.sampled_from(SECTIONS)))
def test_section_that_is_left_out_stays_left_out(document: PolicyFile, left: set[str]) -> None:
    rest = replace(document, **dict.fromkeys(left))

    text = policy_file_text(rest, units=units_of(document))

    found = read_policy_file(text, file="site.yaml", units=units_of(document))
    assert found.document == rest


@given(AMOUNTS, st.sampled_from(Unit))
def test_rate_is_written_without_loss(value: float, unit: Unit) -> None:
    text = policy_file_text(PolicyFile(version=1), units={})
    kind = "uplink" if unit is Unit.BITS_PER_S else "datastore"
    text += (
        f"resources: [{{name: a, kind: {kind}, unit: {unit}, capacity: {rate_text(value, unit)}, "
    )
    text += "reached_by: [{host: h, device: d}]}]"

    (found,) = read(text).document.resources or ()

    assert found.capacity == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4e12, "4TB"),
        (1_500_000.0, "1.5MB"),
        (4096.0, "4.096kB"),
        (4_398_046_511_104.0, 4398046511104),
    ],
)
def test_size_has_a_prefix_where_it_loses_nothing(value: float, text: str | int) -> None:
    assert size_text(value) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "sluice: 1\nresorces: []\n",
            'site.yaml:2: there is no key "resorces"; did you mean "resources"?',
        ),
        ("sluice: 1\nsluice: 1\n", 'site.yaml:2: the key "sluice" is on line 1 already'),
        ("sluice: 2\n", "site.yaml:1: sluice: it may be 1"),
        ("rules: ''\n", 'site.yaml:1: "sluice" is missing'),
        ("", "site.yaml:1: a policy file needs keys with values here"),
        ("- a\n", "site.yaml:1: a policy file needs keys with values here"),
        ("sluice: 1\nrules:\n", "site.yaml:2: rules: there is no value"),
        ("sluice: 1\nworkloads:\n", "site.yaml:2: workloads: a list is needed"),
        ("sluice: 1\nrules: |\n  teir: high where name = a\n", "site.yaml:2: rules: "),
        ("sluice: 1\nalarm_budget: 0.001\n", "site.yaml:2: alarm_budget: 0.001 is too small"),
        (
            TIERS.replace("name: a", "name: 007"),
            "site.yaml:3: name: a text is needed; put it in quotes",
        ),
        (
            TIERS.replace("low", "hihg"),
            'site.yaml:3: tier: "hihg" is none of high, medium, low; did you mean "high"?',
        ),
        (TIERS + "  - {name: a, tier: low}\n", "site.yaml:4: a is on line 3 already"),
        (
            STORE + "    unit: bits_per_s\n",
            "site.yaml:3: unit of datastores may be iops or bytes_per_s",
        ),
        (STORE + "    line_rate: 100\n", "site.yaml:3: datastores have no line_rate"),
        (STORE + "    threshold: 30 ms\n", "site.yaml:8: threshold: a number is needed"),
        (
            STORE + "    lun_queue_depth: 2.5\n",
            "site.yaml:8: lun_queue_depth: a whole number is needed",
        ),
        (
            STORE + "    lun_queue_depth: true\n",
            "site.yaml:8: lun_queue_depth: a number is needed",
        ),
        (STORE + "    size: 75Mbit\n", 'site.yaml:8: size: "75Mbit" is not a rate in B/s'),
        (STORE + "    window_s: .nan\n", "site.yaml:8: window_s: a number is needed"),
        (
            STORE.replace("2000", "20MB"),
            'site.yaml:5: capacity: "20MB" is not a rate in IOPS; write it like 500',
        ),
        (STORE.replace("2000", "-1"), "site.yaml:5: capacity: -1 is too small; it is above 0"),
        (
            STORE + STORE.partition("resources:\n")[2].replace("nfs-07", "b"),
            "site.yaml:8: h1:sda reaches nfs-07 already",
        ),
        (STORE + PROMISE + "    limit: 7\n", "site.yaml:9: the limit is below the reservation"),
        (STORE + PROMISE + "    selector: 7\n", "site.yaml:15: selector: a text is needed"),
        (WINDOW.replace("2026-01-01T00:00", "soon"), 'site.yaml:3: "soon" is not a time'),
        (WINDOW.replace("2h", "2h, zone: Mars"), 'site.yaml:3: "Mars" is not a time zone'),
        (WINDOW.replace("2h", "2 hours"), 'site.yaml:3: length: "2 hours" is not a length'),
        (WINDOW.replace("2h", "2d, recurrence: daily"), "site.yaml:3: length_s is"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, told: str) -> None:
    assert told in refused(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sluice: &one 1\n", 'site.yaml:1: the anchor "&one"'),
        ("sluice: 1\nrules: *one\n", 'site.yaml:2: the alias "*one"'),
        ("sluice: !!python/object:os.system x\n", "site.yaml:1: the tag "),
        ("sluice: 1\n---\nsluice: 1\n", "site.yaml:2: a second document"),
        ("sluice: 1\n? [a]\n: 2\n", "site.yaml:2: a key that is no word"),
        ("sluice: 1\nrules: " + "[" * 40, "site.yaml:2: more than 8 levels"),
        ("sluice: 1\nrules: " + "{" * 200_000, "site.yaml:2: "),
        ("sluice: 1\n\x07", "site.yaml:2: a character that YAML does not allow"),
        ("sluice: 1\n  rules: [", "site.yaml:2: "),
        (
            "sluice: 1\nalarm_budget: " + "9" * 5000,
            "site.yaml:2: alarm_budget: a number is needed",
        ),
    ],
    ids=["anchor", "alias", "tag", "two", "key", "deep", "deeper", "letter", "end", "digits"],
)
def test_yaml_that_is_no_plain_text_is_refused(text: str, told: str) -> None:
    assert told in refused(text)


def test_text_that_grows_by_aliases_is_refused_at_its_first_anchor() -> None:
    laughs = ["a0: &a0 [lol, lol]"]
    laughs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]

    assert refused("\n".join(laughs)) == ('site.yaml:1: the anchor "&a0"; aliases are not read')


def test_file_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_tree, "MOST_CHARACTERS", 20)

    assert "the file has 24 characters; it may have 20" in refused("sluice: 1 # " + "x" * 12)


def test_many_problems_are_told_in_part() -> None:
    told = refused("sluice: 1\n" + "".join(f"x{n}: 1\n" for n in range(30)))

    assert told.count("\n") == MOST_TOLD
    assert told.endswith("and 10 problems more")


@pytest.mark.parametrize("word", ["no", "on", "y", "12:30", "1_000", "=", "2026-11-21"])
def test_word_that_old_yaml_took_for_something_else_is_text(word: str) -> None:
    (found,) = (
        read(f"sluice: 1\nworkloads: [{{name: {word}, tier: low}}]").document.workloads or ()
    )

    assert found.name == word


def test_rate_of_an_allocation_is_in_the_unit_of_a_resource_further_down() -> None:
    allocation = (
        "{resource: up, workload: w, host: h, adapter_kind: vnic, adapter: p, limit: 5Mbit}"
    )
    uplink = "{name: up, kind: uplink, reached_by: [{host: h, device: e}]}"

    found = read(f"sluice: 1\nallocations: [{allocation}]\nresources: [{uplink}]").document

    assert [one.limit for one in found.allocations or ()] == [5e6]


@pytest.mark.parametrize(
    ("start", "written"),
    [
        ("2026-10-25T02:30", "2026-10-25T02:30"),
        ("2026-10-25T00:30+00:00", "2026-10-25T02:30"),
        ("2026-10-25T01:30+00:00", "2026-10-25T02:30+01:00"),
        ("2026-11-21T22:00:07", "2026-11-21T22:00:07"),
    ],
    ids=["first", "first in UTC", "second", "seconds"],
)
def test_start_keeps_its_offset_only_where_the_clock_shows_it_twice(
    start: str, written: str
) -> None:
    text = WINDOW.replace("2026-01-01T00:00, ", f'"{start}", zone: Europe/Berlin, ')

    (found,) = read(text).document.maintenance or ()

    assert found.start == written
