"""The kernels of guests, for tests that hold on each of them."""

import pytest

from tests.testbed.storage.guest import KERNELS

FIRST, *OTHERS = KERNELS
EACH_KERNEL = [FIRST, *(pytest.param(one, marks=pytest.mark.long) for one in OTHERS)]
"""`make test` boots the first one; `make test-long` and `make testbed` all."""
