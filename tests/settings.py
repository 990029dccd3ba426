"""The product's settings with a data directory of the test run: tests never see the user's."""

import os
import tempfile
from pathlib import Path

# Short, because the sockets of the private servers lie below it.
_scratch = Path(tempfile.mkdtemp(prefix="sluice-test-", dir="/tmp"))
# As root the servers run as another user, who has to pass through.
_scratch.chmod(0o711)
os.environ["SLUICE_DATA_DIR"] = str(_scratch)
for _name in ("DATABASE_URL", "REDIS_URL"):
    os.environ.pop(_name, None)
# Programs that a test starts read the product's own settings, with the directory above.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

from config.settings import *  # noqa: E402, F403  the environment comes first

# The product's hasher is slow on purpose, and tests make many people.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Failed logins of one test do not count in another; `tests/web/test_login.py` takes valkey.
CACHE_IN_VALKEY = CACHES["together"]  # noqa: F405
CACHES["together"] = {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}  # noqa: F405
