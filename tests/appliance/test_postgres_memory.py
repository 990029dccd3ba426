"""Memory settings of the private PostgreSQL: by the size of the machine, and in force."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.embedded.child import Child
from appliance.embedded.postgres_cluster import MEMORY_FILE, PostgresCluster
from appliance.embedded.postgres_memory import (
    GIB,
    KIB,
    MIB,
    machine_memory_bytes,
    memory_settings,
)
from appliance.embedded.postgres_programs import choose_programs, runnable_by
from appliance.embedded.service_user import make_directory, service_user
from config.paths import DataDir
from tests.appliance.embedded_run import short_directory

TIB = 1024 * GIB
sizes = st.integers(GIB // 4, 4 * TIB)


def in_bytes(settings: dict[str, str]) -> dict[str, int]:
    return {
        name: int(value.removesuffix("kB")) * KIB
        for name, value in settings.items()
        if value.endswith("kB")
    }


@given(sizes, sizes)
def test_larger_machine_never_gets_less(one: int, other: int) -> None:
    small, large = (in_bytes(memory_settings(size)) for size in sorted((one, other)))

    assert all(small[name] <= large[name] for name in small)


@given(st.integers(2 * GIB, 4 * TIB))
def test_half_of_the_machine_is_left_to_the_product(memory: int) -> None:
    found = in_bytes(memory_settings(memory))

    # Thirty connections sort at a time, three of them maintain.
    taken = found["shared_buffers"] + 30 * found["work_mem"] + 3 * found["maintenance_work_mem"]
    assert taken <= memory / 2


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        # The least that each may be, and PostgreSQL's own default.
        (GIB // 2, {"shared_buffers": 128 * MIB, "work_mem": 4 * MIB, "max_wal_size": GIB}),
        # 16 GiB / 8, / 512, / 32, / 4 and / 2.
        (
            16 * GIB,
            {
                "shared_buffers": 2 * GIB,
                "work_mem": 32 * MIB,
                "maintenance_work_mem": 512 * MIB,
                "max_wal_size": 4 * GIB,
                "effective_cache_size": 8 * GIB,
            },
        ),
        (TIB, {"shared_buffers": 8 * GIB, "work_mem": 64 * MIB, "max_wal_size": 8 * GIB}),
    ],
    ids=["0.5 GiB", "16 GiB", "1 TiB"],
)
def test_settings_by_size(memory: int, expected: dict[str, int]) -> None:
    found = in_bytes(memory_settings(memory))

    assert {name: found[name] for name in expected} == expected


def test_document_has_every_setting() -> None:
    document = (Path(__file__).resolve().parents[2] / "docs" / "settings.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (1/\d+|`on`) \|", document, re.MULTILINE))

    # 64 GiB is large enough that no lower bound and small enough that no upper bound matters
    # but those of work_mem and maintenance_work_mem, which 16 GiB shows.
    found = in_bytes(memory_settings(16 * GIB))
    assert set(rows) == set(memory_settings(GIB))
    assert {name: f"1/{16 * GIB // value}" for name, value in found.items()} == {
        name: part for name, part in rows.items() if part != "`on`"
    }


def machine(root: Path, *, installed_kib: int, groups: dict[str, str], group: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal:  {installed_kib} kB\nMemFree: 1 kB\n")
    (root / "proc/self/cgroup").write_text(f"1:name=systemd:/x\n0::{group}\n")
    for path, limit in groups.items():
        folder = root / "sys/fs/cgroup" / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory.max").write_text(f"{limit}\n")
    return root


@pytest.mark.parametrize(
    ("groups", "group", "expected"),
    [
        ({}, "/", 4 * GIB),
        ({"a/b": "max", "a": "max"}, "/a/b", 4 * GIB),
        ({"a/b": "max", "a": str(GIB)}, "/a/b", GIB),
        # What the container sees of its own limit.
        ({"": str(2 * GIB)}, "/", 2 * GIB),
        # More than the machine has limits nothing.
        ({"a": str(8 * GIB)}, "/a", 4 * GIB),
    ],
    ids=["no cgroup", "no limit", "limit above", "container", "limit beyond the machine"],
)
def test_memory_is_the_machines_or_what_the_cgroup_leaves(
    tmp_path: Path, groups: dict[str, str], group: str, expected: int
) -> None:
    root = machine(tmp_path, installed_kib=4 * MIB, groups=groups, group=group)

    assert machine_memory_bytes(root) == expected


def test_memory_of_this_machine_is_known() -> None:
    assert machine_memory_bytes() > 100 * MIB


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    with short_directory() as path:
        data, user = DataDir(path), service_user()
        data.logs.mkdir()
        make_directory(data.sockets, user)
        programs = runnable_by(choose_programs(), user, copies=data.programs)
        cluster = PostgresCluster(data=data, programs=programs, user=user, timescaledb=False)
        cluster.create()
        yield cluster


def shown(cluster: PostgresCluster, *names: str) -> list[str]:
    """What a server that is started now says of these settings."""
    server = Child(cluster.server(durable=False))
    try:
        server.wait_until_ready()
        with psycopg.connect(cluster.address("postgres")) as connection:
            found = [connection.execute(f"SHOW {name}").fetchone() for name in names]
    finally:
        server.stop()
    return [row[0] for row in found if row]


@pytest.mark.postgres
def test_settings_are_in_force_and_follow_the_machine(cluster: PostgresCluster) -> None:
    names = ("shared_buffers", "work_mem", "maintenance_work_mem", "max_wal_size")
    cluster.configure(2 * GIB)
    first = shown(cluster, *names, "effective_cache_size", "wal_compression")
    cluster.configure(4 * GIB)

    second = shown(cluster, *names)

    assert first[:4] == ["256MB", "4MB", "64MB", "1GB"]
    assert first[4] == "1GB"
    assert first[5] in ("on", "pglz")
    assert second == ["512MB", "8MB", "128MB", "1GB"]


@pytest.mark.postgres
def test_later_line_of_the_operator_wins(cluster: PostgresCluster) -> None:
    cluster.configure(2 * GIB)
    main = cluster.data.postgres / "postgresql.conf"
    with main.open("a") as file:
        file.write("work_mem = 16MB\n")

    cluster.configure(4 * GIB)

    assert main.read_text().count(MEMORY_FILE) == 1
    assert shown(cluster, "work_mem", "shared_buffers") == ["16MB", "512MB"]
