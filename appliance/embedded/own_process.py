"""Work with the product's models in a process of its own, whose memory is free again after it.

The supervisor lives for ever, and needs the models for a few moments; loaded, they take more than
all else that it has.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from appliance.embedded.errors import EmbeddedError
from appliance.embedded.parent_death import ends_with

T = TypeVar("T")
OLD_PROCESSOR = (
    "this processor is older than x86-64-v2, which NumPy needs; a virtual machine needs another "
    "processor type, such as x86-64-v2-AES or host"
)
REFUSED_BY_NUMPY = "NumPy was built with baseline optimizations"


def in_own_process(work: Callable[[], T]) -> T:
    """What a copy of this process makes of it, with the models loaded.

    It ends with this process, whose locks it has, and when this one is interrupted. Raises
    EmbeddedError where the work does, and where it ends without a result.
    """
    reading, writing = os.pipe()
    bind = ends_with(os.getpid(), signal.SIGTERM)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        bind()
        os.close(reading)
        _end_with(work, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGTERM)
        raise
    finally:
        os.waitpid(child, 0)
    if not said:
        raise EmbeddedError("what works with the database ended without a result; see above")
    result: T | EmbeddedError = pickle.loads(said)  # noqa: S301  of this program itself
    if isinstance(result, EmbeddedError):
        raise result
    return result


def _end_with(work: Callable[[], object], writing: int) -> None:
    """Never returns: what comes after in this program is the parent's."""
    try:
        try:
            load_models()
            said = pickle.dumps(work())
        except EmbeddedError as error:
            said = pickle.dumps(error)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(said)
    except KeyboardInterrupt:
        # The parent was interrupted as well, or is gone.
        pass
    except BaseException:  # noqa: BLE001  the parent says only that it ended
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)


def load_models() -> None:
    """What `django.setup` does; raises EmbeddedError on a processor that NumPy refuses."""
    import django

    try:
        django.setup()
    except RuntimeError as error:
        if REFUSED_BY_NUMPY not in str(error):
            raise
        raise EmbeddedError(OLD_PROCESSOR) from error
