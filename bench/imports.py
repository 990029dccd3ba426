"""How fast a file of esxtop is imported.

Run `python -m bench.imports`. The file is made as `esxtop -b -a` writes it: most columns are of
processors and worlds, which nobody maps. Decoding alone is measured beside the whole import,
which reads the file twice (for its hash first), stores every mapped sample and commits it. The
floor is what Python needs to split the rows at their commas.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.private_server import private_server
from tests.ingest.core.decoders.esxtop_generator import Capture, Fleet, capture

ASKED_MB_PER_S = 5.0
"""Without a compiled part."""
FLEET = Fleet(devices=40, volumes=4, vms=100, disks=2, worlds=1000)
_MB = 1e6


def main() -> None:
    """Print the size of the file and the rates of each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as rows")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        file = Path(folder, "esxtop.csv")
        _write(file, options.rows)
        with private_server(Path(folder), timescaledb=False):
            rows = _rows(file)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


def _write(file: Path, rows: int) -> None:
    """A file whose last row is of this minute."""
    made = capture(FLEET, rows=rows, seed=1)
    first = datetime.now(UTC) - timedelta(seconds=5 * rows)
    times = [f"{first + timedelta(seconds=5 * row):%m/%d/%Y %H:%M:%S}" for row in range(rows)]
    whole = Capture(header=made.header, times=times, hundredths=made.hundredths)
    with file.open("wb") as out:
        out.writelines(whole.lines())


def _rows(file: Path) -> list[dict[str, object]]:
    size_mb = file.stat().st_size / _MB
    with file.open("rb") as lines:
        width = next(lines).count(b'","') + 1
    print(f"{size_mb:.0f} MB of {width:,} columns")
    found: list[dict[str, object]] = []
    for what, seconds, asked in (
        ("split rows alone", _seconds_of_splitting(file), None),
        ("decode esxtop", _seconds_of_decoding(file), ASKED_MB_PER_S),
        ("import esxtop", _seconds_of_import(file), ASKED_MB_PER_S),
    ):
        rate = size_mb / seconds
        print(f"{what:<20}{seconds:>8.2f} s{rate:>10.1f} MB/s")
        found.append(
            {
                "what": what,
                "unit": "MB/s",
                "asked": asked,
                "measured": round(rate, 1),
                "holds": None if asked is None else rate >= asked,
            }
        )
    return found


def _seconds_of_splitting(file: Path) -> float:
    begin = time.perf_counter()
    with file.open("rb") as lines:
        deque((line.split(b",") for line in lines), maxlen=0)
    return time.perf_counter() - begin


def _seconds_of_decoding(file: Path) -> float:
    from ingest.core.decoders.rejections import Rejections
    from ingest.core.imported.answers import Answers
    from ingest.core.imported.formats import Format
    from ingest.imports.archives import Member, files_of
    from ingest.imports.decode import points_of

    (member,) = files_of([file])
    assert isinstance(member, Member)
    begin, refused = time.perf_counter(), Rejections()
    points = points_of(Format.ESXTOP, member.chunks(refused), refused, Answers())
    deque(points, maxlen=0)
    return time.perf_counter() - begin


def _seconds_of_import(file: Path) -> float:
    from accounts.models import Organisation
    from ingest.core.imported.answers import Answers
    from ingest.imports.archives import files_of
    from ingest.imports.run import begin_run, import_files
    from ingest.models import Import, ImportState

    now = datetime.now(UTC)
    organisation, _ = Organisation.objects.get_or_create(slug="bench", name="Bench")
    run = begin_run(organisation=organisation, answers=Answers(), is_shifted=False, now=now)
    begin, cpu = time.perf_counter(), time.process_time()
    import_files(
        run,
        lambda: files_of([file]),
        now=now,
        earliest=now - timedelta(days=30),
        ask=lambda _name, _error, _answers: None,
    )
    seconds, cpu_s = time.perf_counter() - begin, time.process_time() - cpu
    row = Import.objects.get(run=run)
    assert row.state == ImportState.DONE, row.problem
    print(f"{row.accepted:,} samples, {row.changed_rows:,} rows, {row.rejected:,} left out")
    print(f"{cpu_s:.2f} s of CPU beside that of the database")
    return seconds


if __name__ == "__main__":
    main()
