"""`python -m app` is the `c2s` command."""

import sys

from app.cli import main

sys.exit(main())
