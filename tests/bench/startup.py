"""How long a fresh interpreter takes to import the library and to print the command's help, against starting itself."""

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
        "c2s --help": ("-m", "app", "--help"),
        "python -m c2s --help": ("-m", "c2s", "--help"),
        "from c2s import Client": ("-c", "from c2s import Client"),
        "import torch": ("-c", "import torch"),
    }
    for name, arguments in cases.items():
        ratio, whole, empty = ratios(fresh(*arguments), fresh("-c", "pass"), rounds=ROUNDS)
        beyond = f"{whole - empty:.3f} s beyond the interpreter's own {empty:.3f} s"
        print(f"  {name:<24} {whole:.3f} s, {ratio:.1f} times an empty program ({beyond})")
