"""The web server's address."""

import socket

import pytest

from appliance.embedded import listening
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.listening import allowed_hosts, check_address_is_free
from tests.appliance.embedded_run import free_port


@pytest.fixture(autouse=True)
def _no_chosen_hosts(monkeypatch):
    monkeypatch.delenv("SLUICE_ALLOWED_HOSTS", raising=False)


def test_free_port_is_accepted_and_taken_one_refused_with_the_next():
    with socket.create_server(("127.0.0.1", free_port())) as other:
        port = other.getsockname()[1]
        with pytest.raises(EmbeddedError, match=rf"port {port} .* is taken .* {port + 1}"):
            check_address_is_free("127.0.0.1", port)

    check_address_is_free("127.0.0.1", port)


def test_address_of_another_machine_is_refused():
    # 192.0.2.0/24 is reserved for documentation (RFC 5737): no machine has it.
    with pytest.raises(EmbeddedError, match=r"cannot listen on 192\.0\.2\.1 port"):
        check_address_is_free("192.0.2.1", free_port())


def test_word_that_is_no_address_is_refused():
    with pytest.raises(EmbeddedError, match="cannot listen on not an address"):
        check_address_is_free("not an address", 80)


def test_loopback_is_called_by_its_names_only():
    assert allowed_hosts("127.0.0.1") == "localhost,127.0.0.1,[::1]"


def test_server_for_other_machines_is_called_by_this_machines_names(monkeypatch):
    monkeypatch.setattr(listening.socket, "gethostname", lambda: "vm7")
    monkeypatch.setattr(listening.socket, "getfqdn", lambda: "vm7.example.net")

    assert allowed_hosts("0.0.0.0").split(",")[3:] == ["vm7", "vm7.example.net"]


def test_one_address_is_called_by_itself():
    assert allowed_hosts("198.51.100.7").split(",")[3:] == ["198.51.100.7"]


def test_chosen_names_are_added(monkeypatch):
    monkeypatch.setenv("SLUICE_ALLOWED_HOSTS", "sluice.example.net")

    assert allowed_hosts("127.0.0.1").split(",")[3:] == ["sluice.example.net"]
