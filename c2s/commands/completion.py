"""`c2s completion bash|zsh|fish`: a script that completes words and options, made from the parser itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from c2s.commands import train

SHELLS = {
    "bash": 'eval "$(c2s completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(c2s completion zsh)" in ~/.zshrc, after compinit',
    "fish": "c2s completion fish | source in ~/.config/fish/config.fish",
}
NAMES = {"--method": train.METHODS, "--net": train.NETS, "--transition": train.ESTIMATORS}
Known = Mapping[str, Sequence[str]]


def add(commands: Any) -> None:
    """Add the command and its options."""
    about = "print a script that completes commands: " + "; ".join(SHELLS.values())
    command = commands.add_parser("completion", help="print a script for your shell", description=about)
    command.add_argument("shell", choices=tuple(SHELLS))
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Print the script."""
    write = {"bash": bash, "zsh": zsh, "fish": fish}[chosen.shell]
    sys.stdout.write(write(dict(words(chosen.root))))


def words(parser: argparse.ArgumentParser, path: str = "c2s") -> Iterator[tuple[str, list[str]]]:
    """What may follow each command, its verbs and its options, and each option that knows its values."""
    found: list[str] = []
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        found += [option for option in action.option_strings if option.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            below = action.choices
        elif action.choices is not None and not action.option_strings:
            found += [str(choice) for choice in action.choices]
        for option in action.option_strings:
            if values := [str(choice) for choice in action.choices or NAMES.get(option, ())]:
                yield f"{path} {option}", values
    yield path, [*below, *found]
    for name, inner in below.items():
        yield from words(inner, f"{path} {name}")


def _keys(known: Known, *, options: bool) -> list[str]:
    """The keys that name an option, or those that name a command below `c2s`."""
    return [f'"{path}"' for path in known if path != "c2s" and (" -" in path) == options]


def bash(known: Known) -> str:
    """Follow the words to the command they name, and offer what may come next; else files."""
    cases = "\n".join(f'    "{path}") found="{" ".join(some)}" ;;' for path, some in known.items())
    return f"""_c2s() {{
  local at="c2s" found="" word="" place
  for ((place = 1; place < COMP_CWORD; place++)); do
    word="${{COMP_WORDS[place]}}"
    case "$at $word" in {"|".join(_keys(known, options=False))}) at="$at $word" ;; esac
  done
  case "$at $word" in {"|".join(_keys(known, options=True))}) at="$at $word" ;; esac
  case "$at" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$found" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _c2s c2s
"""


def zsh(known: Known) -> str:
    """The same in zsh's own way: its emulation of bash trips over the words above."""
    cases = "\n".join(f'    ("{path}") found=({" ".join(some)}) ;;' for path, some in known.items())
    return f"""_c2s() {{
  local at="c2s" word
  local -a found
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$at $word" in ({"|".join(_keys(known, options=False))}) at="$at $word" ;; esac
  done
  case "$at $word" in ({"|".join(_keys(known, options=True))}) at="$at $word" ;; esac
  case "$at" in
{cases}
  esac
  compadd -- $found || _files
}}
compdef _c2s c2s
"""


def fish(known: Known) -> str:
    """The same, as conditions; files are offered where no verb is due."""
    lines = "\n".join(
        f"complete -c c2s {'-f ' if _below(known, path) else ''}-n '__c2s_at \"{path}\"' -a '{' '.join(some)}'"
        for path, some in known.items()
        if some
    )
    return f"""function __c2s_at
  set -l at c2s
  set -l given (commandline -opc)
  for word in $given[2..]
    contains -- "$at $word" {" ".join(_keys(known, options=False))}; and set at "$at $word"
  end
  contains -- "$at $given[-1]" {" ".join(_keys(known, options=True))}; and set at "$at $given[-1]"
  test "$at" = "$argv[1]"
end
{lines}
"""


def _below(known: Known, path: str) -> bool:
    """Whether a verb, or a value of an option, must come next."""
    return " -" in path or any(other.startswith(f"{path} ") and " -" not in other for other in known)
