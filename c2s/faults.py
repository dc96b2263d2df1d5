"""What pydantic finds wrong, in a user's words: one fault for each place of what was sent."""

import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

SHOWN = 8  # faults that a sentence names
SHOULD = re.compile(r"^\w+ should ")  # how pydantic begins: Input should be, String should have
WANTED = {  # kinds of values, as JSON and its users call them
    **dict.fromkeys(("string_type", "string_unicode"), "text"),
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "an object"),
}
SAID = {"extra_forbidden": "there is no such field", "missing": "is missing"}
MUST = "must be "
TAGS, SHORT = "union_tag_invalid", "too_short"

Found = Mapping[str, Any]  # an error of pydantic's: type, loc, msg, ctx
Place = tuple[str | int, ...]


class Fault(NamedTuple):
    """One thing that is wrong, the place in what was sent, and what is there."""

    place: Place
    code: str
    detail: str
    value: object


def read(found: Iterable[Found], sent: object) -> list[Fault]:
    """The faults of a value; the branches of a union that do not fit are one fault, which names what would."""
    places: dict[Place, list[tuple[Found, object]]] = {}
    for fault in found:
        place, value = _walk(fault, sent)
        if not _follows(fault, value):
            places.setdefault(place, []).append((fault, value))
    return [_one(place, there) for place, there in places.items()]


def sentence(found: Iterable[Found], sent: object) -> str:
    """The faults of a value in a line, each with its place; for whoever sent it, so it is quoted."""
    told = [f"{'.'.join(map(str, one.place)) or 'config'}: {_quoted(one)}" for one in read(found, sent)]
    rest = [f"and {len(told) - SHOWN} more"] if len(told) > SHOWN else []
    return "; ".join(told[:SHOWN] + rest)


def _quoted(fault: Fault) -> str:
    there = f", not {reprlib.repr(fault.value)}" if fault.detail.startswith(MUST) else ""
    return fault.detail + there


def _walk(fault: Found, sent: object) -> tuple[Place, object]:
    """Where a fault lies and what is there: the tags of unions, which nothing that was sent holds, are left out."""
    parts, place = list(fault["loc"]), list[str | int]()
    if fault["type"] == TAGS:
        parts.append(_tag(fault))
    for number, part in enumerate(parts):
        lacking = fault["type"] in ("missing", TAGS) and number == len(parts) - 1
        if isinstance(sent, Mapping) and (part in sent or lacking):
            sent = sent.get(part)
        elif isinstance(sent, list | tuple) and isinstance(part, int) and part < len(sent):
            sent = sent[part]
        else:
            continue
        place.append(part)
    return tuple(place), sent


def _tag(fault: Found) -> str:
    """The field that says which of a union's configs is meant."""
    return str(fault["ctx"]["discriminator"]).strip("'")


def _follows(fault: Found, value: object) -> bool:
    """Whether a list is only short because pydantic does not count entries that are wrong themselves."""
    return fault["type"] == SHORT and (_length(value) or 0) >= int(fault["ctx"]["min_length"])


def _lacks(fault: Found, value: object) -> bool:
    """Whether a list whose length is fixed lacks one of its entries."""
    return fault["type"] == "missing" and isinstance(value, list | tuple)


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list | tuple | Mapping) else None


def _one(place: Place, there: list[tuple[Found, object]]) -> Fault:
    """The faults of a place as one."""
    if lacking := [fault["loc"][-1] for fault, value in there if _lacks(fault, value)]:
        few = {"type": SHORT, "ctx": {"min_length": max(lacking) + 1}}
        there = [(few, there[0][1])]
    code = str(there[0][0]["type"])
    wanted = list(dict.fromkeys(wish for fault, _ in there for wish in _wanted(fault)))
    said = [_said(fault, place, value) for fault, value in there if not _wanted(fault)]
    if wanted:
        said.append(f"{MUST}{'one of ' * (len(wanted) > 1)}{', '.join(wanted)}")
    return Fault(place, code, "; ".join(dict.fromkeys(said)), there[0][1])


def _wanted(fault: Found) -> list[str]:
    """What could stand there."""
    match fault["type"]:
        case "literal_error" | "enum":
            return re.split(", | or ", fault["ctx"]["expected"])
        case kind:
            return [WANTED[kind]] if kind in WANTED else []


def _said(fault: Found, place: Place, value: object) -> str:
    match fault["type"]:
        case "union_tag_invalid":
            return _named(fault, place, value)
        case "value_error" | "assertion_error":
            return str(fault["ctx"]["error"])
        case "too_short":
            return f"must have at least {fault['ctx']['min_length']} entries, not {_length(value) or 0}"
        case "too_long":
            return f"must have at most {fault['ctx']['max_length']} entries"
        case kind:
            return SAID.get(kind) or SHOULD.sub("must ", fault["msg"])


def _named(fault: Found, place: Place, value: object) -> str:
    """Of a config that is known by its name, alone or in an object."""
    tag, names = _tag(fault), f"one of {fault['ctx']['expected_tags']}"
    inside = place[-1:] == (tag,)
    if inside and value is None:
        return f"is missing: {names}"
    if inside or isinstance(value, str):
        return f"must be {names}"
    return f"must be a {tag}, or an object with a `{tag}`: {names}"
