"""The contract: an OpenAPI document that names every answer, and a page of it that needs no internet."""

import html
import json
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi import utils
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from app.api import admission, codes, problems, scopes

ABOUT = """Turns data with wrong labels into a classifier that predicts the right ones, and says how wrong they are.

Errors are `application/problem+json` (RFC 9457) with a `code` from a closed set. Lists are `{data, has_more,
next_cursor}`, newest first; `after` takes the cursor. Times are RFC 3339 in UTC. Where a JSON object has a key twice
the last one counts. Any request may also be answered 408 (it came too slowly) or 431 (its head is too large)."""
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}
code,pre{font:14px/1.5 ui-monospace,monospace;background:#f3f3f3;border-radius:4px}code{padding:.1em .3em}
main{overflow-wrap:anywhere}pre{padding:.8em;overflow-x:auto}table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;
padding:.25em .8em .25em 0;border-bottom:1px solid #ddd}h2{margin-top:2.2em}h3 code{font-size:15px}
@media(prefers-color-scheme:dark){body{background:#161616;color:#e4e4e4}code,pre{background:#262626}a{color:#8ab4f8}
td,th{border-color:#3a3a3a}}"""


def operation_id(route: APIRoute) -> str:
    """A name for generated clients: `jobs_create`."""
    module = route.endpoint.__module__.rpartition(".")[2]
    return f"{module}_{route.endpoint.__name__}"


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once."""
    if app.openapi_schema is None:
        found = utils.get_openapi(
            title=app.title,
            version=app.version,
            openapi_version=app.openapi_version,
            description=app.description,
            routes=app.routes,
        )
        parts = found.setdefault("components", {})
        _, shared = models_json_schema(
            [(problems.Problem, "serialization")], ref_template="#/components/schemas/{model}"
        )
        parts.setdefault("schemas", {}).update(shared["$defs"])
        parts["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "page": {"type": "apiKey", "in": "cookie", "name": admission.COOKIE},
        }
        for path, operations in found["paths"].items():
            for verb, operation in operations.items():
                operation["security"] = _security(scopes.needed(verb.upper(), path))
        app.openapi_schema = found
    return app.openapi_schema


def _security(need: scopes.Need) -> list[dict[str, list[str]]]:
    """Either credential, with the scope that the operation needs."""
    if need == "anybody":
        return []
    ways = [[]] if need == "any key" else [[one] for one in (need if isinstance(need, tuple) else (need,))]
    return [{credential: list[str](names)} for names in ways for credential in ("token", "page")]


def page(found: dict[str, Any]) -> str:
    """The document as one HTML page without scripts."""
    body = [f"<h1>{_text(found['info']['title'])} {_text(found['info']['version'])}</h1>"]
    body += [f"<p>{_text(part)}</p>" for part in found["info"]["description"].split("\n\n")]
    body.append("<p>The same as data: <a href='/openapi.json'>/openapi.json</a></p>")
    for path, operations in found["paths"].items():
        for verb, operation in operations.items():
            body += _operation(verb.upper(), path, operation)
    rows = [
        f"<tr><td><code>{code}</code></td><td>{_text(said)}</td></tr>" for code, said in codes.MEANING.items()
    ]
    body.append(f"<h2 id='codes'>Problem codes</h2><table>{''.join(rows)}</table>")
    body.append("<h2 id='schemas'>Schemas</h2>")
    for name, schema in sorted(found["components"]["schemas"].items()):
        text = _text(json.dumps(schema, indent=1))
        body.append(f"<h3 id='{_text(name)}'>{_text(name)}</h3><pre tabindex=0>{text}</pre>")
    return document_of("c2s reference", "\n".join(body))


def document_of(title: str, body: str) -> str:
    """An HTML document with our style."""
    head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{title}</title>"
    page = f"<head>{head}<style>{STYLE}</style></head><body><main>{body}</main></body>"
    return f"<!doctype html><html lang=en>{page}</html>"


def _operation(verb: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"<h2><code>{verb} {_text(path)}</code></h2><p>{_text(operation.get('summary', ''))}</p>"
    if names := [name for way in operation["security"][:1] for name in way["token"]]:
        yield f"<p>Scope: <code>{_text(names[0])}</code></p>"
    if "description" in operation:
        yield f"<p>{_text(operation['description'])}</p>"
    if parameters := operation.get("parameters"):
        rows = "".join(_row(parameter) for parameter in parameters)
        yield f"<table><tr><th>parameter</th><th>in</th><th>what</th></tr>{rows}</table>"
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"<p>Body: <code>{_text(kind)}</code> {_link(content.get('schema', {}))}</p>"
    rows = "".join(_answer(status, answer) for status, answer in operation["responses"].items())
    yield f"<table><tr><th>answer</th><th>when</th><th>body</th></tr>{rows}</table>"


def _row(parameter: dict[str, Any]) -> str:
    schema = json.dumps({k: v for k, v in parameter.get("schema", {}).items() if k != "title"})
    what = _text(parameter.get("description", "")) + f" <code>{_text(schema)}</code>"
    return (
        f"<tr><td><code>{_text(parameter['name'])}</code></td><td>{parameter['in']}</td><td>{what}</td></tr>"
    )


def _answer(status: str, answer: dict[str, Any]) -> str:
    kinds = ", ".join(
        f"<code>{_text(kind)}</code> {_link(content.get('schema', {}))}"
        for kind, content in answer.get("content", {}).items()
    )
    return f"<tr><td>{status}</td><td>{_text(answer['description'])}</td><td>{kinds}</td></tr>"


def _link(schema: dict[str, Any]) -> str:
    name = _text(schema.get("$ref", "").rpartition("/")[2])
    return f"<a href='#{name}'>{name}</a>" if name else ""


def _text(words: object) -> str:
    return html.escape(str(words))
