"""Sluice connects, for an organisation, to no address that the installation does not allow."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.source_errors import AnswerError
from ingest.imports.reachable import Addresses, address_problem, address_to_reach

PUBLIC, PRIVATE, ANY = Addresses.PUBLIC, Addresses.PRIVATE, Addresses.ANY


@pytest.mark.parametrize("address", ["192.0.78.9", "2600::1"])
def test_address_of_the_internet_is_reached(address: str) -> None:
    assert [address_problem(address, one) for one in Addresses] == ["", "", ""]


@pytest.mark.parametrize("address", ["10.1.2.3", "172.16.0.1", "192.168.7.7", "fd12::3"])
def test_private_address_is_reached_where_the_installation_lets_it(address: str) -> None:
    assert "SLUICE_SOURCE_ADDRESSES=private allows it" in address_problem(address, PUBLIC)
    assert address_problem(address, PRIVATE) == address_problem(address, ANY) == ""


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1",
        "fe80::1%eth0", "fd00:ec2::254", "100.100.100.200", "100.64.0.1", "168.63.129.16",
        "224.0.0.1", "255.255.255.255", "198.18.0.1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::", "2002:a9fe:a9fe::",
    ],
)  # fmt: skip
def test_server_itself_and_the_metadata_of_a_cloud_are_reached_only_if_all_is(
    address: str,
) -> None:
    for allowed in (PUBLIC, PRIVATE):
        assert "SLUICE_SOURCE_ADDRESSES=any allows it" in address_problem(address, allowed)
    assert address_problem(address, ANY) == ""


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_ipv4_address_is_the_same_however_it_is_written(address: IPv4Address) -> None:
    plain = [bool(address_problem(str(address), one)) for one in Addresses]

    mapped = [bool(address_problem(f"::ffff:{address}", one)) for one in Addresses]

    assert plain == mapped


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_more_is_allowed_by_each_setting_than_by_the_one_before(address: IPv4Address) -> None:
    public, private, every = (not address_problem(str(address), one) for one in Addresses)

    assert public <= private <= every
    assert every


def test_name_with_one_address_that_is_not_allowed_is_not_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second answer could be taken the next time."""
    answers = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        for address in ("192.0.78.9", "127.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)

    with pytest.raises(AnswerError, match=r"vc\.example\.org is at 127\.0\.0\.1"):
        address_to_reach("vc.example.org", 443, PRIVATE)

    assert address_to_reach("vc.example.org", 443, ANY) == "192.0.78.9"


def test_name_without_an_address_is_told() -> None:
    with pytest.raises(AnswerError, match=r"nobody\.invalid has no address"):
        address_to_reach("nobody.invalid", 443, ANY)
