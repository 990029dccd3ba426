"""`python -m enforcers` is the command `sluice-enforcer`."""

import sys

from enforcers.entry import main

sys.exit(main())
