"""The methods and nets that a job can name, with the settings of each."""

from typing import Any, get_args

from fastapi import APIRouter

from app.api import deps, problems, strict
from c2s import config, schema

router = APIRouter(route_class=strict.Strict, tags=["catalog"], responses=problems.documented())


class Choice(deps.Out):
    """Something that a job can name."""

    name: str
    default: bool  # whether a job that names none gets this one
    settings: dict[str, Any]  # as they are where a job says nothing
    json_schema: dict[str, Any]


class Choices(deps.Out):
    data: list[Choice]


def _choices(union: object, default: str) -> Choices:
    kinds = get_args(get_args(union)[0])
    return Choices(data=[_choice(kind, default) for kind in kinds])


def _choice(kind: type[schema.Config], default: str) -> Choice:
    settings = kind().model_dump(mode="json")
    name = str(settings["name"])
    return Choice(name=name, default=name == default, settings=settings, json_schema=kind.model_json_schema())


@router.get("/methods", summary="How a job can learn from noisy labels")
def methods() -> Choices:
    return _choices(config.MethodConfig, config.TrainConfig().method.name)


@router.get("/nets", summary="What a job can train")
def nets() -> Choices:
    return _choices(config.NetConfig, config.TrainConfig().net.name)
