"""The command that moves a workload: no name becomes an option, a path or a second word."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.move_command import filled, parse_template

MIGRATE = ["virsh", "migrate", "--live", "{workload}", "qemu+ssh://{target}/system"]
NAMES = {"workload": "db-1", "source": "kvm-01", "target": "kvm-02.example.org"}


def test_names_take_the_place_of_placeholders() -> None:
    words = filled(parse_template(json.dumps(MIGRATE)), NAMES)

    assert words == [
        "virsh", "migrate", "--live", "db-1", "qemu+ssh://kvm-02.example.org/system",
    ]  # fmt: skip


@given(st.text(max_size=12), st.sampled_from(sorted(NAMES)))
def test_name_never_makes_a_word_more_or_an_option(name: str, what: str) -> None:
    template = tuple(MIGRATE)
    try:
        words = filled(template, NAMES | {what: name})
    except ValueError:
        return

    assert len(words) == len(template)
    assert not set(name) & set(" \t\n;|&$`'\"\\<>()*?[]{}!#~/\x00")
    assert not name.startswith("-")


@pytest.mark.parametrize("name", ["", "-x", "a b", "a;b", "$(x)", "../x", "a\n", "é", "{target}"])
def test_odd_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be passed to a command"):
        filled(tuple(MIGRATE), NAMES | {"workload": name})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("virsh migrate", "no JSON list"),
        ("{}", "no JSON list"),
        ("[]", "no JSON list"),
        ('["virsh", 5]', "no JSON list"),
        ('["", "{workload}", "{target}"]', "first word"),
        ('["{workload}", "{target}"]', "first word"),
        ('["virsh", "{workload}"]', "{target} is missing"),
        ('["virsh", "{workload}", "{target}", "{password}"]', "is none of"),
    ],
)
def test_template_that_makes_no_sense_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_template(text)
