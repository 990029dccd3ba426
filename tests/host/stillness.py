"""How long the machine itself stood still, so that its pauses are not taken for the kernel's."""

import threading
import time
from types import TracebackType

NAP_S = 0.002
PAUSE_S = 0.012


class Stillness:
    """Adds up, while the block runs, the time in which a sleeping thread did not wake up."""

    def __init__(self) -> None:
        self.still_s = 0.0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Stillness":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._thread.join()

    def _watch(self) -> None:
        last_s = time.monotonic()
        while not self._ends.is_set():
            time.sleep(NAP_S)
            now_s = time.monotonic()
            if now_s - last_s > PAUSE_S:
                self.still_s += now_s - last_s
            last_s = now_s
