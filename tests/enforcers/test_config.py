"""The agent's configuration: every value of no use is refused with file, key and rule."""

import dataclasses
from pathlib import Path

import pytest

from enforcers import config
from enforcers.config import OnExit
from enforcers.errors import ConfigError
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.qemu_throttle.config import QemuThrottleConfig
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig
from enforcers.metrics.address import Address, PortAddress, SocketAddress
from enforcers.registry import MECHANISMS
from enforcers.signature import ServerKey
from tests.enforcers.throttle.mechanism import Throttle, ThrottleConfig

SAMPLE = Path(config.__file__).parent / "sample.toml"
FULL = """
[agent]
host = "h1"
state_dir = "state"
poll_s = 5
report_s = 15.0
on_exit = "keep"
dry_run = true
[server]
url = "https://sluice.example:8443/base/"
token_file = "token"
signing_key_file = "signing-key"
ca_file = "ca.pem"
timeout_s = 3
socket = "web.sock"
[reader]
on = true
token_file = "ingest-token"
interval_s = 5
buffer_mb = 7
[metrics]
listen = "metrics.sock"
[tc_htb]
interfaces = ["up0", "up1"]
[cgroup_io]
subtrees = ["/machine.slice"]
devices = ["8:0"]
"""
SMALL = """
[agent]
host = "h1"
[server]
url = "https://sluice.example"
token_file = "token"
signing_key_file = "signing-key"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a token and a signing key as enrolment writes them."""
    secrets = {
        "token": "sluice-token-0001",
        "signing-key": "ab" * 32,
        "ingest-token": "sluice-ingest-01",
    }
    for name, secret in secrets.items():
        (tmp_path / name).write_text(f"{secret}\n")
        (tmp_path / name).chmod(0o600)
    return tmp_path


def load(folder: Path, text: str) -> config.AgentConfig:
    """Load this text as the agent's configuration."""
    (folder / "agent.toml").write_text(text)
    return config.load(folder / "agent.toml")


def test_every_key_is_read(folder: Path) -> None:
    loaded = load(folder, FULL)

    assert (loaded.host, loaded.state_dir) == ("h1", folder / "state")
    assert (loaded.poll_s, loaded.report_s) == (5.0, 15.0)
    assert (loaded.on_exit, loaded.dry_run) == (OnExit.KEEP, True)
    assert loaded.server.url.geturl() == "https://sluice.example:8443/base/"
    assert (loaded.server.timeout_s, loaded.server.ca_file) == (3.0, folder / "ca.pem")
    assert loaded.server.socket == folder / "web.sock"
    assert loaded.metrics == SocketAddress(path=folder / "metrics.sock")
    assert loaded.server.token == "sluice-token-0001"
    assert loaded.server.document_key == b"ab" * 32
    assert loaded.mechanisms == {
        "tc_htb": HtbConfig(interfaces=frozenset({"up0", "up1"})),
        "cgroup_io": CgroupIoConfig(
            subtrees=frozenset({"/machine.slice"}), devices=frozenset({"8:0"})
        ),
        "qemu_throttle": QemuThrottleConfig(),
    }


def test_reader_has_a_token_of_its_own_and_its_buffer_in_the_state_directory(
    folder: Path,
) -> None:
    reader = load(folder, FULL).reader

    assert reader is not None
    assert (reader.host, reader.token) == ("h1", "sluice-ingest-01")
    assert (reader.interval_s, reader.buffer_bytes) == (5.0, 7_000_000)
    assert reader.buffer_dir == folder / "state" / "samples"
    assert reader.endpoint.url.geturl() == "https://sluice.example:8443/base/"
    assert "sluice-ingest-01" not in repr(reader)


def test_reader_alone_needs_neither_token_nor_key_of_the_enforcer(folder: Path) -> None:
    (folder / "signing-key").unlink()
    (folder / "token").unlink()
    (folder / "agent.toml").write_text(FULL)

    assert config.load_reader(folder / "agent.toml").token == "sluice-ingest-01"


@pytest.mark.parametrize("reader", ["", "[reader]\n", "[reader]\non = false\n"])
def test_reader_is_off_unless_it_is_switched_on(folder: Path, reader: str) -> None:
    assert load(folder, SMALL + reader).reader is None
    with pytest.raises(ConfigError, match=r"reader\.on = .*the reader is off"):
        config.load_reader(folder / "agent.toml")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("interval_s = 0.5", r"reader\.interval_s = 0\.5: must be a number of seconds within 1"),
        ("buffer_mb = 0", r"reader\.buffer_mb = 0: must be a whole number within 1\.\.100000"),
        ("buffer_mb = 1.5", r"reader\.buffer_mb = 1\.5: must be a whole number"),
        ("buffer_mb = true", r"reader\.buffer_mb = True: must be a whole number"),
        ("cgroups = 5", r"reader\.cgroups = 5: unknown key"),
        ('token_file = "none"', r"reader\.token_file = .*No such file"),
    ],
)
def test_value_of_no_use_for_the_reader_is_refused(folder: Path, line: str, rule: str) -> None:
    token = "" if line.startswith("token_file") else 'token_file = "ingest-token"\n'

    with pytest.raises(ConfigError, match=rule):
        load(folder, f"{SMALL}[reader]\non = true\n{token}{line}\n")


def test_table_of_a_mechanism_is_read_by_the_fields_of_its_class(folder: Path) -> None:
    text = f'{SMALL}[throttle]\ndevices = ["ds0"]\n'

    (folder / "agent.toml").write_text(text)
    loaded = config.load(folder / "agent.toml", (*MECHANISMS, Throttle))

    assert loaded.mechanisms["throttle"] == ThrottleConfig(devices=frozenset({"ds0"}))
    assert loaded.mechanisms["tc_htb"] == HtbConfig()
    with pytest.raises(ConfigError, match=r"throttle = .*unknown key; known are agent, cgroup_io"):
        load(folder, text)


def test_mechanism_whose_keys_are_no_lists_of_names_is_a_mistake_in_its_class(
    folder: Path,
) -> None:
    @dataclasses.dataclass(frozen=True)
    class Odd:
        speed: int = 1

    class OddThrottle(Throttle):
        Config = Odd  # type: ignore[assignment]

    (folder / "agent.toml").write_text(SMALL)
    with pytest.raises(TypeError, match=r"Odd\.speed must be a frozenset\[str\]"):
        config.load(folder / "agent.toml", (OddThrottle,))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("/run/x/metrics.sock", SocketAddress(path=Path("/run/x/metrics.sock"))),
        ("/run/host:9469", SocketAddress(path=Path("/run/host:9469"))),
        ("/" + "x" * 106, SocketAddress(path=Path("/" + "x" * 106))),
        ("127.0.0.1:1", PortAddress(host="127.0.0.1", port=1)),
        ("[::1]:65535", PortAddress(host="::1", port=65535)),
    ],
)
def test_metrics_are_served_on_a_socket_or_a_port_of_this_machine(
    folder: Path, text: str, address: Address
) -> None:
    loaded = load(folder, f'{SMALL}[metrics]\nlisten = "{text}"\n')

    assert loaded.metrics == address
    assert str(loaded.metrics) == text


def test_defaults_touch_nothing_and_restore(folder: Path) -> None:
    loaded = load(folder, SMALL)

    assert (loaded.poll_s, loaded.report_s) == (10.0, 30.0)
    assert (loaded.on_exit, loaded.dry_run) == (OnExit.RESTORE, False)
    assert loaded.state_dir == Path("/var/lib/sluice-enforcer")
    assert loaded.mechanisms == {
        "tc_htb": HtbConfig(),
        "cgroup_io": CgroupIoConfig(),
        "qemu_throttle": QemuThrottleConfig(),
    }
    assert loaded.metrics is None
    assert HtbConfig().interfaces == CgroupIoConfig().devices == frozenset()


def test_sample_is_a_valid_configuration_and_shows_the_defaults(folder_with_keys: Path) -> None:
    folder = folder_with_keys
    shown = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and " = " in line else line
        for line in SAMPLE.read_text().splitlines()
    )

    sample, everything = load(folder, SAMPLE.read_text()), load(folder, shown)

    assert everything.poll_s == sample.poll_s
    assert everything.report_s == sample.report_s
    assert everything.on_exit == sample.on_exit
    assert everything.dry_run == sample.dry_run
    assert everything.state_dir == sample.state_dir
    assert everything.server.timeout_s == sample.server.timeout_s


@pytest.mark.parametrize("name", ["tc_htb", "cgroup_io", "qemu_throttle"])
def test_mechanism_sample_is_part_of_a_valid_configuration(folder: Path, name: str) -> None:
    sample = SAMPLE.parent / "mechanisms" / name / "sample.toml"

    assert load(folder, SMALL + sample.read_text()).host == "h1"


@pytest.mark.parametrize(
    ("old", "new", "key", "rule"),
    [
        ('host = "h1"', "", "agent.host", "is required"),
        ('host = "h1"', 'host = ""', "agent.host", "a text that is not empty"),
        ('host = "h1"', "host = 7", "agent.host", "a text that is not empty"),
        ("poll_s = 5", "poll_s = 0", "agent.poll_s", "within 0.2..3600.0"),
        ("poll_s = 5", 'poll_s = "5"', "agent.poll_s", "a number of seconds"),
        ("poll_s = 5", "poll_s = nan", "agent.poll_s", "a number of seconds"),
        ("poll_s = 5", "poll_s = true", "agent.poll_s", "a number of seconds"),
        ("report_s = 15.0", "report_s = 4.0", "agent.report_s", "within 5.0..3600.0"),
        ('"keep"', '"leave"', "agent.on_exit", "one of restore, keep"),
        ("dry_run = true", 'dry_run = "yes"', "agent.dry_run", "true or false"),
        (
            "dry_run = true",
            "dryrun = true",
            "agent.dryrun",
            "unknown key; known are dry_run, host, ",
        ),
        (
            "devices =",
            "divices =",
            "cgroup_io.divices",
            "unknown key; known are capacity_is_measured, devices, keep_iocost, models, subtrees",
        ),
        (
            "[tc_htb]",
            "[tc_hbt]",
            "tc_hbt",
            "unknown key; known are agent, cgroup_io, metrics, qemu_throttle, reader, server",
        ),
        ('["up0", "up1"]', '"up0"', "tc_htb.interfaces", "a list of texts"),
        ('["up0", "up1"]', '["up0", ""]', "tc_htb.interfaces", "a list of texts"),
        ('["/machine.slice"]', '["machine"]', "cgroup_io.subtrees", "below the cgroup mount"),
        ('["/machine.slice"]', '["/a/../b"]', "cgroup_io.subtrees", "below the cgroup mount"),
        ("https://sluice", "ftp://sluice", "server.url", "must be https://HOST"),
        ("https://sluice", "http://sluice", "server.url", "plain http would show the token"),
        ("https://sluice", "https://u:p@sluice", "server.url", "no user, query or fragment"),
        (":8443", ":99999", "server.url", "Port out of range"),
        (":8443", ":0", "server.url", "must be https://HOST"),
        ('= "token"', '= "missing"', "server.token_file", "No such file or directory"),
        ("timeout_s = 3", "timeout_s = 0", "server.timeout_s", "within 0.1..120.0"),
        ('"metrics.sock"', '"0.0.0.0:9469"', "metrics.listen", "or 127.0.0.1:PORT or"),
        ('"metrics.sock"', '":9469"', "metrics.listen", "or 127.0.0.1:PORT or"),
        ('"metrics.sock"', '"192.0.2.7:9469"', "metrics.listen", "or 127.0.0.1:PORT or"),
        ('"metrics.sock"', '"localhost:9469"', "metrics.listen", "or 127.0.0.1:PORT or"),
        ('"metrics.sock"', '"127.0.0.1:0"', "metrics.listen", "or 127.0.0.1:PORT or"),
        ('"metrics.sock"', '"127.0.0.1:65536"', "metrics.listen", "or 127.0.0.1:PORT or"),
        ('"metrics.sock"', f'"/{"x" * 107}"', "metrics.listen", "at most 107 bytes"),
        ('"metrics.sock"', "9469", "metrics.listen", "a text that is not empty"),
        ("listen =", "lisen =", "metrics.lisen", "unknown key; known are listen"),
    ],
)
def test_value_of_no_use_is_refused_with_its_key(
    folder: Path, old: str, new: str, key: str, rule: str
) -> None:
    assert old in FULL

    with pytest.raises(ConfigError) as refusal:
        load(folder, FULL.replace(old, new))

    assert refusal.value.key == key
    assert rule in str(refusal.value)
    assert str(folder / "agent.toml") in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"]
)
def test_plain_http_is_allowed_on_this_machine(folder: Path, url: str) -> None:
    loaded = load(folder, SMALL.replace("https://sluice.example", url))

    assert loaded.server.url.port == 8000


@pytest.mark.parametrize(
    ("text", "mode", "rule"),
    [
        ("sluice-token-0001", 0o644, "must not be open to all; chmod o-rwx"),
        ("short", 0o600, "one word of at least 16 characters"),
        ("two words of a token", 0o600, "one word"),
        ("", 0o600, "one word"),
        ("tökentökentökentöken", 0o600, "must hold ASCII text"),
    ],
    ids=["open", "short", "two words", "empty", "not ASCII"],
)
def test_secret_that_is_none_is_refused(folder: Path, text: str, mode: int, rule: str) -> None:
    (folder / "token").write_text(text)
    (folder / "token").chmod(mode)

    with pytest.raises(ConfigError, match=rule) as refusal:
        load(folder, SMALL)

    assert refusal.value.key == "server.token_file"


def test_secret_of_16_characters_is_long_enough(folder: Path) -> None:
    (folder / "token").write_text("x" * 16)

    assert load(folder, SMALL).server.token == "x" * 16

    (folder / "token").write_text("x" * 15)
    with pytest.raises(ConfigError, match="at least 16 characters"):
        load(folder, SMALL)


def test_secrets_do_not_show_in_the_configuration(folder: Path) -> None:
    text = repr(load(folder, SMALL))

    assert "sluice-token-0001" not in text
    assert "abab" not in text


@pytest.mark.parametrize(
    ("text", "rule"), [("[agent", "is not TOML"), ("\x00", "is not TOML")], ids=["open", "zero"]
)
def test_file_that_is_not_toml_is_refused(folder: Path, text: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        load(folder, text)


def test_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: No such file"):
        config.load(tmp_path / "none.toml")


PUBLIC = "ed25519-public:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
OWN = "ed25519-secret:" + "4c" * 32
OWN_KEYS = SMALL.replace(
    'signing_key_file = "signing-key"',
    'server_key_file = "server-key"\nreport_key_file = "report-key"',
)


@pytest.fixture
def folder_with_keys(folder: Path) -> Path:
    """A folder as enrolment writes it: the service's public key, and a key of the host."""
    (folder / "signing-key").unlink()
    (folder / "server-key").write_text(PUBLIC)
    (folder / "report-key").write_text(OWN)
    (folder / "report-key").chmod(0o600)
    return folder


def test_service_is_known_by_its_public_key_and_reports_are_signed(folder_with_keys: Path) -> None:
    server = load(folder_with_keys, OWN_KEYS).server

    assert server.document_key == ServerKey(public=bytes.fromhex(PUBLIC.partition(":")[2]))
    assert server.report_key == b"\x4c" * 32
    assert "4c4c" not in repr(server)
    assert r"LL" not in repr(server)


def test_public_key_may_be_read_by_everybody(folder_with_keys: Path) -> None:
    (folder_with_keys / "server-key").chmod(0o644)

    assert load(folder_with_keys, OWN_KEYS).server.report_key is not None


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("server-key", OWN, "the 64 digits of a public key"),
        ("server-key", PUBLIC[:-2], "the 64 digits of a public key"),
        ("server-key", "ed25519-public:" + "01" + 31 * "00", "the 64 digits of a public key"),
        ("report-key", PUBLIC, "must hold ed25519-secret: and 64"),
        ("report-key", OWN[:-1], "must hold ed25519-secret: and 64"),
        ("report-key", "ed25519-secret:" + "zz" * 32, "must hold ed25519-secret: and 64"),
    ],
    ids=["secret one", "short", "of small order", "public one", "cut", "no digits"],
)
def test_key_of_no_use_is_refused_and_not_shown(
    folder_with_keys: Path, name: str, text: str, reason: str
) -> None:
    (folder_with_keys / name).write_text(text)

    with pytest.raises(ConfigError, match=reason) as caught:
        load(folder_with_keys, OWN_KEYS)

    assert text.partition(":")[2] not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OWN_KEYS + 'signing_key_file = "token"\n', "leave it out beside server_key_file"),
        (OWN_KEYS.replace('report_key_file = "report-key"', ""), "report_key_file .*is required"),
        (OWN_KEYS.replace('server_key_file = "server-key"', ""), "used with server_key_file"),
    ],
    ids=["both kinds", "no key of its own", "no key of the service"],
)
def test_keys_of_both_kinds_or_half_of_one_are_refused(
    folder_with_keys: Path, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        load(folder_with_keys, text)


def test_report_key_that_everybody_reads_is_refused(folder_with_keys: Path) -> None:
    (folder_with_keys / "report-key").chmod(0o644)

    with pytest.raises(ConfigError, match="must not be open to all"):
        load(folder_with_keys, OWN_KEYS)
