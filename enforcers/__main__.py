"""`python -m enforcers` is the command `sluice-enforcer`."""

import sys

from enforcers.cli import main

sys.exit(main())
