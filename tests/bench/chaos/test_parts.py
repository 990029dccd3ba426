"""Processes of the product are told by their command lines and parents."""

from __future__ import annotations

from bench.chaos.parts import Process, choose, parts_below, tree_of
from bench.chaos.schedule import Part

PYTHON = "/venv/bin/python -m"
CELERY = f"{PYTHON} celery --app=config.celery"
PROCESSES = [
    Process(1, 0, "/sbin/init"),
    Process(10, 1, "/venv/bin/python /venv/bin/sluice run --port=8464"),
    Process(11, 10, "/usr/lib/postgresql/18/bin/postgres -D /data/postgres"),
    Process(12, 11, "postgres: checkpointer"),
    Process(13, 11, "postgres: sluice_web sluice [local] idle"),
    Process(14, 11, "postgres: sluice_worker sluice [local] SELECT"),
    Process(15, 10, "/venv/bin/valkey-server *:0"),
    Process(16, 10, f"{PYTHON} appliance.signer --socket=/data/signer.sock"),
    Process(17, 10, f"{PYTHON} appliance.web_server --port=8464"),
    Process(18, 17, "/venv/bin/python -c from multiprocessing.resource_tracker import main"),
    Process(19, 17, "/venv/bin/python -c from multiprocessing.spawn import spawn_main"),
    Process(20, 10, f"{CELERY} worker --queues=evaluate --loglevel=INFO"),
    Process(21, 20, f"{CELERY} worker --queues=evaluate --loglevel=INFO"),
    Process(22, 10, f"{CELERY} beat --loglevel=INFO"),
    Process(23, 10, f"{PYTHON} appliance.backup.keeper"),
    Process(24, 10, f"{PYTHON} appliance.embedded.fork_server /data/fork-server.sock"),
    Process(25, 10, "celery --app=config.celery worker --queues=advise --concurrency=1 --max-m"),
    Process(30, 1, f"{CELERY} worker --queues=of-somebody-else"),
]  # fmt: skip


def test_each_process_below_the_supervisor_has_its_part() -> None:
    assert parts_below(10, PROCESSES) == {
        11: Part.POSTMASTER, 12: Part.AUXILIARY, 13: Part.BACKEND, 14: Part.BACKEND,
        15: Part.QUEUE, 16: Part.SIGNER, 17: Part.WEB, 19: Part.WEB_WORKER, 20: Part.WORKER,
        21: Part.TASK, 22: Part.SCHEDULER, 23: Part.KEEPER, 24: Part.FORK_SERVER,
        25: Part.WORKER,
    }  # fmt: skip


def test_number_from_0_to_1_chooses_among_several() -> None:
    found = {5: Part.BACKEND, 3: Part.BACKEND, 9: Part.TASK}

    chosen = [choose(found, Part.BACKEND, draw) for draw in (0.0, 0.49, 0.5, 1.0)]

    assert chosen == [3, 3, 5, 5]


def test_part_without_a_process_is_none() -> None:
    assert choose({9: Part.TASK}, Part.BACKEND, 0.5) is None


def test_tree_is_the_process_and_all_below_it() -> None:
    assert tree_of(17, PROCESSES) == [17, 18, 19]
