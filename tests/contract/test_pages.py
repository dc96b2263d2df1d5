"""What the pages for people promise: their links and anchors lead somewhere, their commands and addresses exist."""

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from app.api import scopes
from app.commands import demo, keys, service
from c2s.commands import entry

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("*.md"))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
ASKED = re.compile(r"^curl (?:[^'\n]|'[^']*')*", re.M)  # a body in quotes may have several lines


def slugs(text: str) -> set[str]:
    """The anchors of a page: its headings in small letters, with hyphens; the second of a name is numbered."""
    found: Counter[str] = Counter()
    made = set()
    for heading in re.findall(r"^#{1,6} +(.+?)[ #]*$", FENCED.sub("", text), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w -]", "", words).replace(" ", "-")
        made.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return made


def leads(link: str, text: str, home: Path) -> bool:
    """Whether a link of a page in this folder has a file, and a heading in it; those of the web are believed."""
    if re.match(r"[a-z]+:", link):
        return True
    name, _, anchor = link.partition("#")
    target = home / name
    if not target.exists():
        return False
    return not anchor or anchor in slugs(target.read_text(encoding="utf-8") if name else text)


def broken(text: str, home: Path) -> list[str]:
    """Relative links of a page in this folder that lead nowhere."""
    prose = re.sub(r"`[^`\n]*`", "", FENCED.sub("", text))
    found = re.findall(r"\]\(([^)\s]+)[^)]*\)", prose) + re.findall(r"^\[[^\]]+\]: (\S+)", prose, re.M)
    return [link for link in found if not leads(link, text, home)]


def shell(path: Path) -> str:
    """What a page gives its reader to type."""
    return "".join(code for kind, code in FENCED.findall(path.read_text(encoding="utf-8")) if kind == "sh")


def commands(path: Path) -> list[list[str]]:
    """The words of each `c2s` command in its examples; where a shell would send the output is none of them."""
    lines = re.findall(r"^c2s (.*)$", shell(path), re.M)
    return [shlex.split(line.partition(" > ")[0], comments=True) for line in lines]


def requests(path: Path) -> list[tuple[str, str]]:
    """Method and path of each request in its examples, and of each that it names."""
    found = re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/[^\s`?]*)", path.read_text(encoding="utf-8"))
    for statement in ASKED.findall(shell(path)):
        words = shlex.split(statement, comments=True)
        usual = "POST" if "--json" in words else "GET"
        method = words[words.index("-X") + 1] if "-X" in words else usual
        [address] = [word for word in words if word.startswith("$U/")]
        found.append((method, address.removeprefix("$U").partition("?")[0]))
    return found


def exists(method: str, path: str) -> bool:
    """Whether the service has such a route."""
    return any(
        method == known and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route), path)
        for known, route in scopes.NEEDS
    )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_and_anchor_of_a_page_leads_somewhere(path):
    assert broken(path.read_text(encoding="utf-8"), ROOT) == []


@pytest.mark.parametrize(
    "text",
    [
        "[x](NOTHING.md)",
        "[x](README.md#nowhere)",
        "[x](#nowhere)",
        "# Some where\n\n[x](#some where)",
        "[x](tests/nothing.py)",
        "[x]: NOTHING.md",
        "# A\n\n[x](#a-1)",
        "```sh\n# comment\n```\n\n[x](#comment)",
    ],
)
def test_a_link_that_leads_nowhere_is_seen(text):
    assert broken(text, ROOT)


@pytest.mark.parametrize(
    "text",
    [
        "[x](README.md)",
        "[x](README.md#limits)",
        "# `T_c`, and *why* not?\n\n[x](#t_c-and-why-not)",
        "# A\n\n# A\n\n[x](#a-1)",
        "[x](tests/contract)",
        "[x](https://example.org/nothing#nowhere)",
        "`[x](#nowhere)`",
        "```json\n[x](#nowhere)\n```",
    ],
)
def test_a_link_that_leads_somewhere_is_let_be(text):
    assert broken(text, ROOT) == []


@pytest.mark.parametrize("name", ["README.md", "GUIDE.md"])
def test_every_command_of_the_examples_is_one_that_the_parser_takes(name):
    parser = entry.parser((service, keys, demo))
    given = commands(ROOT / name)
    assert given
    for words in given:
        parser.parse_args(words)


@pytest.mark.parametrize("name", ["README.md", "GUIDE.md"])
def test_every_request_of_the_examples_is_one_that_the_service_has(name):
    asked = requests(ROOT / name)
    assert asked
    assert [request for request in asked if not exists(*request)] == []


def test_a_request_that_the_service_has_not_is_seen():
    assert exists("GET", "/jobs/job_.../events")
    assert not exists("POST", "/jobs/job_.../events")
    assert not exists("GET", "/jobs/job_.../happenings")
