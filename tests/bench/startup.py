"""How long a fresh interpreter takes to import the library and to print the command's help, beyond starting itself."""

import subprocess
import sys

from interleave import ratios

ROUNDS = 15


def fresh(*arguments: str) -> object:
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    print(f"wall seconds in a fresh interpreter, median of {ROUNDS} rounds interleaved with an empty program")
    cases = {
        "import c2s": ("-c", "import c2s"),
        "c2s --help": ("-m", "c2s", "--help"),
        "import torch": ("-c", "import torch"),
    }
    for name, arguments in cases.items():
        _, whole, empty = ratios(fresh(*arguments), fresh("-c", "pass"), rounds=ROUNDS)
        print(
            f"  {name:<14} {whole:.3f} s   ({whole - empty:.3f} s beyond the interpreter's own {empty:.3f} s)"
        )
