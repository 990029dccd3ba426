"""The wire format: golden files pin it, and everything unknown is refused with its path."""

import copy
import dataclasses
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers import contract
from enforcers.contract import ContractError, PolicyDocument, SignatureError

GOLDEN = Path(__file__).parent / "golden"
DOCUMENT = (GOLDEN / "policy_document.json").read_text()
DOCUMENT_V1 = (GOLDEN / "policy_document_v1.json").read_text()
REPORT = (GOLDEN / "compliance_report.json").read_text()
REPORT_V2 = (GOLDEN / "compliance_report_v2.json").read_text()
REPORT_V1 = (GOLDEN / "compliance_report_v1.json").read_text()
KEY = bytes(31) + b"\x2a"


def changed(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """The JSON text with one value replaced; a value of `...` removes the key."""
    plain = json.loads(text)
    place = plain
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(plain)


@pytest.mark.parametrize("text", [DOCUMENT, DOCUMENT_V1], ids=["now", "version 1"])
def test_golden_document_survives_decode_and_encode(text: str) -> None:
    document = contract.decode_document(text)

    assert json.loads(contract.encode_document(document)) == json.loads(text)


def test_that_equal_shares_are_meant_is_written_only_where_it_is_so() -> None:
    """An agent from before refuses keys that it does not know."""
    document = contract.decode_document(DOCUMENT)
    spec, *others = document.resources
    meant = replace(document, resources=(replace(spec, divides=True), *others))

    wire = json.loads(contract.encode_document(meant))

    assert "divides" not in json.loads(contract.encode_document(document))["resources"][0]
    assert wire["resources"][0]["divides"] is True
    assert contract.decode_document(json.dumps(wire)) == meant
    first = json.loads(contract.encode_document(replace(meant, schema_version=1)))
    assert "divides" not in first["resources"][0]


def test_resource_of_version_1_cannot_say_that_equal_shares_are_meant() -> None:
    text = changed(DOCUMENT_V1, ("resources", 0, "divides"), value=True)

    with pytest.raises(ContractError, match=r"\$\.resources\[0\]\.divides: unknown key"):
        contract.decode_document(text)


def test_limit_of_a_document_of_version_1_is_the_usual_one() -> None:
    document = contract.decode_document(DOCUMENT_V1)

    terms = {(item.limit_scope, item.io_count) for item in document.allocations}
    assert terms == {(contract.LimitScope.PER_VDISK, contract.IoCount.PLAIN)}


@pytest.mark.parametrize("keys", [("limit_scope",), ("io_count",), ("limit_scope", "io_count")])
def test_document_of_version_1_has_no_key_of_a_later_one(keys: tuple[str, ...]) -> None:
    """The signature of such a document does not cover them."""
    values = {"limit_scope": "pooled", "io_count": "plain"}
    text = DOCUMENT_V1
    for key in keys:
        text = changed(text, ("allocations", 0, key), values[key])

    with pytest.raises(ContractError) as refusal:
        contract.decode_document(text)

    assert str(refusal.value) == f"$.allocations[0].{min(keys)}: unknown key"


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("", 1),
        ("application/json", 1),
        (contract.DOCUMENT_MEDIA, 2),
        ("application/json; schema=1", 1),
        ("application/json; schema=3", 2),
        ("application/json; schema=0", 1),
        ("text/html, application/json; schema=2; q=0.9", 2),
        ("application/json; schema=two", 1),
    ],
)
def test_agent_is_sent_the_newest_version_that_it_reads(accept: str, version: int) -> None:
    assert contract.document_version(accept) == version


def test_golden_report_survives_decode_and_encode() -> None:
    report = contract.decode_report(REPORT)

    assert json.loads(contract.encode_report(report)) == json.loads(REPORT)


def test_short_looks_are_written_only_where_there_are_some() -> None:
    report = contract.decode_report(REPORT)
    first, *others = report.allocations
    assert first.measured is not None
    seen = replace(first, measured=replace(first.measured, short_looks=3, full_looks=1))
    looked = replace(report, allocations=(seen, *others))

    written = json.loads(contract.encode_report(looked))["allocations"]

    assert contract.decode_report(contract.encode_report(looked)) == looked
    assert written[0]["measured"]["full_looks"] == 1
    assert "full_looks" not in json.dumps(written[1:])


def test_corrected_models_are_written_only_where_there_are_some() -> None:
    report = contract.decode_report(REPORT)
    htb, *others = report.support
    found = contract.CorrectedModel(
        device="sda",
        unit=contract.Unit.IOPS,
        stated=2600.0,
        real=1687.0,
        model=1552.0,
        after_s=2.0,
    )
    told = replace(report, support=(replace(htb, corrected=(found,)), *others))

    written = json.loads(contract.encode_report(told))["support"]

    assert contract.decode_report(contract.encode_report(told)) == told
    assert contract.read_support(written) == told.support
    assert written[0]["corrected"][0]["real"] == 1687.0
    assert all("corrected" not in item for item in written[1:])


@pytest.mark.parametrize(
    "change",
    [{"real": 0.0}, {"stated": -1.0}, {"after_s": -1.0}, {"device": ""}, {"unit": "cows"}],
    ids=str,
)
def test_corrected_model_without_sense_is_refused(change: dict[str, object]) -> None:
    plain = json.loads(REPORT)
    found = {
        "device": "sda", "unit": "iops", "stated": 2600.0, "real": 1687.0, "model": 1552.0,
        "after_s": 2.0,
    }  # fmt: skip
    plain["support"][0]["corrected"] = [found | change]

    with pytest.raises(contract.ContractError, match=r"support\[0\].corrected\[0\]"):
        contract.decode_report(json.dumps(plain))


def test_report_of_version_2_is_read_without_what_became_of_each_control() -> None:
    old = contract.decode_report(REPORT_V2)

    plain = json.loads(contract.encode_report(old))
    assert [item.pop("controls") for item in plain["allocations"]] == [None, None]
    assert {**plain, "schema_version": 2} == json.loads(REPORT_V2)


def test_report_of_version_1_is_read_with_what_its_mechanisms_recognised() -> None:
    old, new = contract.decode_report(REPORT_V1), contract.decode_report(REPORT_V2)

    htb, cgroup_io = new.support
    assert old == dataclasses.replace(
        new, support=(dataclasses.replace(htb, holds=None), cgroup_io)
    )
    stored = json.loads(REPORT_V1)["support"]
    assert contract.read_support(stored) == old.support


def test_mechanism_that_version_1_did_not_have_recognises_nothing_there() -> None:
    text = changed(REPORT_V1, ("support", 0, "mechanism"), "tc_new")

    (first, _) = contract.decode_report(text).support

    assert (first.units, first.selectors, first.holds) == ((), (), None)


@pytest.mark.parametrize(
    ("text", "key"),
    [(REPORT_V1, "support"), (REPORT_V2, "allocations")],
    ids=["version 1", "version 2"],
)
def test_report_of_a_former_version_that_lacks_its_lists_is_not_taken_for_one(
    text: str, key: str
) -> None:
    with pytest.raises(ContractError) as refusal:
        contract.decode_report(changed(text, (key,), {}))

    assert refusal.value.path == "$.schema_version"


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("support", 0, "supported"), "yes", "$.support[0].supported"),
        (("support", 0, "colour"), "red", "$.support[0].colour"),
        (("revision",), "7", "$.revision"),
        (("allocations", 0, "reason"), ..., "$.allocations[0].reason"),
        (("allocations", 0), "x", "$.allocations[0]"),
    ],
)
def test_report_of_a_former_version_is_checked_like_any(
    path: tuple[str | int, ...], value: Any, where: str
) -> None:
    for text in (REPORT_V1, REPORT_V2):
        with pytest.raises(ContractError) as refusal:
            contract.decode_report(changed(text, path, value))

        assert refusal.value.path == where


@pytest.mark.parametrize("text", [DOCUMENT, DOCUMENT_V1], ids=["now", "version 1"])
def test_golden_signature_is_that_of_its_key(text: str) -> None:
    document = contract.decode_document(text)

    assert contract.sign(document, KEY) == document
    contract.verify(document, KEY)


def test_canonical_bytes_do_not_depend_on_key_order_or_spaces() -> None:
    reordered = json.dumps(dict(reversed(json.loads(DOCUMENT).items())), indent=7)

    first = contract.canonical_bytes(contract.decode_document(DOCUMENT))
    second = contract.canonical_bytes(contract.decode_document(reordered))

    assert first == second


@pytest.mark.parametrize(
    ("path", "value", "where", "what"),
    [
        (("schema_version",), 3, "$.schema_version", "version 3 is unknown; known is 2"),
        (("schema_version",), True, "$.schema_version", "version True is unknown; known is 2"),
        (("allocations", 0, "io_count"), "blocks", "$.allocations[0].io_count", "one of plain,"),
        (("allocations", 0, "limit_scope"), ..., "$.allocations[0].limit_scope", "missing"),
        (("schema_version",), ..., "$.schema_version", "missing"),
        (("colour",), "red", "$.colour", "unknown key"),
        (("revision",), 0, "$.revision", "must be at least 1"),
        (("revision",), 2.0, "$.revision", "expected int, got 2.0"),
        (("revision",), 2**64, "$.revision", "integer beyond 9223372036854775807"),
        (("dry_run",), 0, "$.dry_run", "expected bool, got 0"),
        (("host",), "", "$.host", "must be 1..509 printable characters"),
        (("host",), "h\n1", "$.host", "must be 1..509 printable characters"),
        (("expires_at",), "2026-11-20T10:00:00Z", "$.expires_at", "must be after issued_at"),
        (("expires_at",), "2026-11-20T10:00:00", "$.expires_at", "time without a zone"),
        (("expires_at",), "soon", "$.expires_at", 'expected an RFC 3339 time, got "soon"'),
        (("resources",), {}, "$.resources", "expected a list, got {}"),
        (("resources", 0, "capacity"), 0, "$.resources[0].capacity", "finite number above 0"),
        (("resources", 0, "kind"), "lun", "$.resources[0].kind", "one of uplink, datastore"),
        (("resources", 1, "name"), "uplink0", "$.resources[1].name", "'uplink0' appears twice"),
        (("resources", 1, "device"), "up0", "$.resources[1].device", "'up0' appears twice"),
        (("allocations", 1, "id"), "41", "$.allocations[1].id", "'41' appears twice"),
        (("allocations", 0, "resource"), "x", "$.allocations[0].resource", "no resource named"),
        (("allocations", 0, "shares"), 0, "$.allocations[0].shares", "within 1..1000000"),
        (("allocations", 0, "shares"), True, "$.allocations[0].shares", "expected int, got true"),
        (("allocations", 0, "reservation"), -1, "$.allocations[0].reservation", "at least 0"),
        (("allocations", 0, "reservation"), "1", "$.allocations[0].reservation", 'float, got "1"'),
        (("allocations", 0, "limit"), 1.0, "$.allocations[0].limit", "not be below the reserv"),
        (("allocations", 0, "selector"), "p1", "$.allocations[0].selector", "an object, got"),
        (("allocations", 0, "selector", "kind"), "M", "$.allocations[0].selector.kind", "small"),
        (("resources", 0, "mechanism"), "tc-htb", "$.resources[0].mechanism", "small letters"),
        (("allocations", 0, "selector", "value"), ..., "$.allocations[0].selector.value", "miss"),
    ],
)
def test_document_with_a_wrong_value_is_refused_with_its_path(
    path: tuple[str | int, ...], value: Any, where: str, what: str
) -> None:
    with pytest.raises(ContractError) as refusal:
        contract.decode_document(changed(DOCUMENT, path, value))

    assert refusal.value.path == where
    assert what in refusal.value.problem


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("schema_version",), 4, "$.schema_version"),
        (("support", 0, "holds", "limit"), None, "$.support[0].holds.limit"),
        (("support", 0, "units", 0), "packets", "$.support[0].units[0]"),
        (("support", 1, "selectors", 0), "C", "$.support[1].selectors"),
        (("revision",), "7", "$.revision"),
        (("state",), "asleep", "$.state"),
        (("allocations", 0, "outcome"), "fine", "$.allocations[0].outcome"),
        (("allocations", 0, "controls"), ..., "$.allocations[0].controls"),
        (("allocations", 0, "controls", "limit"), None, "$.allocations[0].controls.limit"),
        (("allocations", 0, "measured", "window_s"), 0.0, "$.allocations[0].measured.window_s"),
        (("allocations", 0, "measured", "jitter"), 1, "$.allocations[0].measured.jitter"),
        (("allocations", 1, "reason"), None, "$.allocations[1].reason"),
    ],
)
def test_report_with_a_wrong_value_is_refused_with_its_path(
    path: tuple[str | int, ...], value: Any, where: str
) -> None:
    with pytest.raises(ContractError) as refusal:
        contract.decode_report(changed(REPORT, path, value))

    assert refusal.value.path == where


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"document"',
        b"\xff\xfe\x00",
        DOCUMENT.replace("94000000.0", "NaN"),
        DOCUMENT.replace("94000000.0", "-Infinity"),
        DOCUMENT.replace("94000000.0", "1e999"),
        DOCUMENT.replace("94000000.0", "9" * 400),
        DOCUMENT.replace("94000000.0", "9" * 5000),
        DOCUMENT.replace('"revision": 7', '"revision": 7, "revision": 8'),
        DOCUMENT[: len(DOCUMENT) // 2],
        "[" * 200_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_document_that_is_not_sound_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ContractError) as refusal:
        contract.decode_document(text)

    assert str(refusal.value).startswith("$")


@pytest.mark.parametrize(
    "change",
    [
        {"host": "h2"},
        {"revision": 8},
        {"dry_run": True},
        {"allocations": ()},
        {"signature": "0" * 64},
        {"signature": "ü"},
        {"signature": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_signature_covers_every_field(change: dict[str, Any]) -> None:
    document = dataclasses.replace(contract.decode_document(DOCUMENT), **change)

    with pytest.raises(SignatureError, match=f"revision {document.revision}"):
        contract.verify(document, KEY)


@pytest.mark.parametrize("key", [b"", b"another key"], ids=["empty", "foreign"])
def test_signature_needs_the_key_of_the_host(key: bytes) -> None:
    document = contract.decode_document(DOCUMENT)

    with pytest.raises(SignatureError):
        contract.verify(document, key)


def test_renewed_lease_needs_a_new_signature() -> None:
    document = contract.decode_document(DOCUMENT)
    later = dataclasses.replace(document, expires_at=document.expires_at + timedelta(minutes=1))

    with pytest.raises(SignatureError):
        contract.verify(later, KEY)
    contract.verify(contract.sign(later, KEY), KEY)


def documents() -> st.SearchStrategy[PolicyDocument]:
    """Golden document with its numbers and names drawn at random."""
    base = contract.decode_document(DOCUMENT)
    numbers = st.floats(min_value=0, max_value=1e18)
    names = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40)
    allocations = st.lists(
        st.builds(
            lambda name, reservation, spare, shares: dataclasses.replace(
                base.allocations[0],
                workload=name,
                reservation=reservation,
                limit=None if spare is None else max(reservation + spare, 1.0),
                shares=shares,
            ),
            names,
            numbers,
            st.none() | numbers,
            st.integers(1, 1_000_000),
        ),
        max_size=4,
    ).map(lambda items: tuple(dataclasses.replace(a, id=str(i)) for i, a in enumerate(items)))
    return st.builds(
        lambda host, items: dataclasses.replace(base, host=host, allocations=items),
        names,
        allocations,
    )


@given(documents())
def test_any_signed_document_survives_the_wire(document: PolicyDocument) -> None:
    received = contract.decode_document(contract.encode_document(contract.sign(document, KEY)))

    contract.verify(received, KEY)
    assert dataclasses.replace(received, signature=document.signature) == document


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(DOCUMENT))), json_values)
def test_no_json_value_makes_the_decoder_fail_otherwise(key: str, value: Any) -> None:
    plain = copy.deepcopy(json.loads(DOCUMENT))
    plain[key] = value

    try:
        document = contract.decode_document(json.dumps(plain))
    except ContractError:
        return
    assert isinstance(document, PolicyDocument)
