"""compose.yaml: read by the library of Compose itself, and held to what the product has."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from appliance.cli import COMMANDS
from config.queues import queues_in_use
from scripts.server_tree import server_version

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]
FILE = CHECKOUT / "compose.yaml"
READER = Path(__file__).with_name("compose")
PYTHON = ["/usr/lib/sluice/bin/python3", "-m"]
SETTING = re.compile(r"(SLUICE_|DATABASE_URL|REDIS_URL)\w*")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = subprocess.run(
        [CHECKOUT / "scripts/find_go"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip(f"no Go to build the reader of compose files: {found.stderr.strip()}")
    program = tmp_path_factory.mktemp("compose") / "compose"
    build = [found.stdout.strip(), "-C", READER, "build", "-trimpath", "-o", program, "."]
    subprocess.run(build, check=True, env={**os.environ, "GOFLAGS": "-modcacherw"})
    return program


@pytest.fixture(scope="module")
def read(reader: Path) -> dict[str, Any]:
    """The file as Compose understands it, with what is optional."""
    done = subprocess.run([reader, FILE], check=True, capture_output=True, cwd=CHECKOUT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def services(read: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = read["services"]
    return found


@pytest.fixture(scope="module")
def ours(services: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in services.items() if one["image"].startswith("sluice:")}


@pytest.mark.parametrize(
    ("line", "spoiled", "why"),
    [
        ("    image: valkey/valkey:8.1-alpine\n", "    imag: valkey\n", "imag"),
        ("      migrate: {", "      migrated: {", "migrated"),
        ("    secrets: [signing-keys]\n", "    secrets: [signing-key]\n", "signing-key"),
    ],
    ids=["a word that there is not", "a part that there is not", "a secret that there is not"],
)
def test_reader_refuses_what_compose_would_refuse(
    reader: Path, tmp_path: Path, line: str, spoiled: str, why: str
) -> None:
    text = FILE.read_text()
    spoiled_file = tmp_path / "compose.yaml"
    spoiled_file.write_text(re.sub(re.escape(line.strip()), spoiled.strip(), text, count=1))

    done = subprocess.run([reader, spoiled_file], check=False, capture_output=True, text=True)

    assert text != spoiled_file.read_text()
    assert done.returncode == 1
    assert why in done.stderr


def test_every_part_has_an_image_of_one_version_and_a_probe(services: dict[str, Any]) -> None:
    for name, one in services.items():
        assert re.fullmatch(r"[\w/-]+:v?\d[\w.-]*", one["image"]), name
        assert one["restart"] in {"unless-stopped", "on-failure"}, name
        # It ends by itself.
        assert ("healthcheck" in one) is (name != "migrate"), name


def test_own_parts_are_the_image_of_this_version_and_may_do_little(ours: dict[str, Any]) -> None:
    assert {one["image"] for one in ours.values()} == {f"sluice:{server_version()}"}
    for name, one in ours.items():
        assert one["read_only"], name
        assert one["cap_drop"] == ["ALL"], name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        assert "user" not in one, name


def test_each_queue_has_its_worker_with_its_slots(ours: dict[str, Any]) -> None:
    found = {
        name: (words["--queues"], int(words["--concurrency"]))
        for name, one in ours.items()
        if name.startswith("worker-")
        for words in [dict(word.split("=") for word in one["command"] if "=" in word)]
    }

    assert found == {
        f"worker-{queue.name}": (queue.name, queue.slots) for queue in queues_in_use(moves=False)
    }
    assert [name for name, one in ours.items() if "beat" in one["command"]] == ["scheduler"]


def test_every_command_is_one_of_the_product(ours: dict[str, Any]) -> None:
    for name, one in ours.items():
        if one["entrypoint"] is None:
            assert any(one["command"][0] in group for group in COMMANDS.values()), name
            continue
        module, *words = one["command"]
        assert one["entrypoint"] == PYTHON, name
        assert importlib.util.find_spec(module), name
        verb = [word for word in words if not word.startswith("--") and module == "celery"]
        app = [word for word in words if word.startswith("--app=")]
        told = subprocess.run(
            [sys.executable, "-m", module, *app, *verb, "--help"],
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        options = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--app"}
        assert options <= set(re.findall(r"--[\w-]+", told.stdout)), name


def test_every_setting_is_one_that_is_documented(services: dict[str, Any]) -> None:
    documented = (CHECKOUT / "docs/settings.md").read_text()
    of_telegraf = (CHECKOUT / "ingest/telegraf/README.md").read_text()

    for name, one in services.items():
        for setting in one.get("environment") or {}:
            if SETTING.fullmatch(setting):
                page = of_telegraf if name == "telegraf" else documented
                assert f"| `{setting.removesuffix('_FILE')}` |" in page, (name, setting)


def test_signer_alone_has_its_secret_and_it_alone_has_no_network(ours: dict[str, Any]) -> None:
    has = {name for name, one in ours.items() if "signing-keys" in secrets_of(one)}

    assert has == {"signer"}
    assert secrets_of(ours["signer"]) == {"signing-keys"}
    assert ours["signer"]["network_mode"] == "none"
    assert [name for name, one in ours.items() if one.get("network_mode") == "none"] == ["signer"]


def test_no_secret_is_in_the_file_and_each_that_is_read_is_mounted(
    services: dict[str, Any],
) -> None:
    for name, one in services.items():
        mounted = {f"/run/secrets/{secret}" for secret in secrets_of(one)}
        read_from = {
            value
            for setting, value in (one.get("environment") or {}).items()
            if setting.endswith("_FILE")
        }
        assert read_from <= mounted, name
        for setting in one.get("environment") or {}:
            assert not re.search(r"(PASSWORD|TOKEN|SECRET|KEYS?)$", setting), (name, setting)


def test_only_this_machine_reaches_what_is_published(services: dict[str, Any]) -> None:
    published = {
        name: [(port["host_ip"], port["target"]) for port in one["ports"]]
        for name, one in services.items()
        if one.get("ports")
    }

    assert published == {"mail": [("127.0.0.1", 8025)], "web": [("127.0.0.1", 8000)]}


def test_lines_of_the_page_make_every_secret(read: dict[str, Any]) -> None:
    page = (CHECKOUT / "docs/install.md").read_text()

    made = set(re.findall(r"> (secrets/[\w-]+)", page))
    assert made == {f"secrets/{name}" for name in read["secrets"]}
    assert {Path(one["file"]).parent for one in read["secrets"].values()} == {CHECKOUT / "secrets"}


def secrets_of(service: dict[str, Any]) -> set[str]:
    return {one["source"] for one in service.get("secrets") or []}
