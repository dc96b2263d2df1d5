"""`c2s completion bash|zsh|fish`: a script that completes words and options, made from the parser itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

SHELLS = {
    "bash": 'eval "$(c2s completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(c2s completion zsh)" in ~/.zshrc, after compinit',
    "fish": "c2s completion fish | source in ~/.config/fish/config.fish",
}


def add(commands: Any) -> None:
    """Add the command and its options."""
    about = "print a script that completes commands: " + "; ".join(SHELLS.values())
    command = commands.add_parser("completion", help="print a script for your shell", description=about)
    command.add_argument("shell", choices=tuple(SHELLS))
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Print the script."""
    known = dict(words(chosen.root))
    match chosen.shell:
        case "bash":
            script = bash(known)
        case "zsh":
            script = "autoload -U +X bashcompinit && bashcompinit\n" + bash(known)
        case _:
            script = fish(known)
    sys.stdout.write(script)


def words(parser: argparse.ArgumentParser, path: str = "c2s") -> Iterator[tuple[str, list[str]]]:
    """What may follow each command: its verbs and its options."""
    found: list[str] = []
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        found += [option for option in action.option_strings if option.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            below = action.choices
        elif action.choices is not None and not action.option_strings:
            found += [str(choice) for choice in action.choices]
    yield path, [*below, *found]
    for name, inner in below.items():
        yield from words(inner, f"{path} {name}")


def bash(known: dict[str, list[str]]) -> str:
    """Follow the words to the command they name, and offer what may come next; else files."""
    paths = "|".join(f'"{path}"' for path in known if path != "c2s")
    cases = "\n".join(f'    "{path}") words="{" ".join(found)}" ;;' for path, found in known.items())
    return f"""_c2s() {{
  local path="c2s" word words="" current="${{COMP_WORDS[COMP_CWORD]}}"
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path $word" in {paths}) path="$path $word" ;; esac
  done
  case "$path" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _c2s c2s
"""


def fish(known: dict[str, list[str]]) -> str:
    """The same, as conditions."""
    paths = " ".join(f'"{path}"' for path in known if path != "c2s")
    lines = "\n".join(
        f"complete -c c2s -n '__c2s_at \"{path}\"' -a '{' '.join(found)}'"
        for path, found in known.items()
        if found
    )
    return f"""function __c2s_at
  set -l path c2s
  for word in (commandline -opc)[2..]
    contains -- "$path $word" {paths}; and set path "$path $word"
  end
  test "$path" = "$argv[1]"
end
{lines}
"""
