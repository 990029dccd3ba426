"""One supervisor per data directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.paths import DataDirError


@contextmanager
def held_lock(path: Path) -> Iterator[None]:
    """Hold the file's lock; the system gives it back however this process ends.

    Raises DataDirError with the number of the process that has it.
    """
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise DataDirError(
                f"the data directory {path.parent} is in use by another sluice run "
                f"(process {holder}); stop that one, or set SLUICE_DATA_DIR to another directory"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
