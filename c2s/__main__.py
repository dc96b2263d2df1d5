"""`python -m c2s`."""

import sys

from c2s.commands import entry

if __name__ == "__main__":
    sys.exit(entry.main())
