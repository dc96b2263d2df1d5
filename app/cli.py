"""The `c2s` command."""

from c2s.commands import entry


def main() -> int:
    """Run the command line of the library; the service adds its own commands here."""
    return entry.main()
