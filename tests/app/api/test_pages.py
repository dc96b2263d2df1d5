"""Pages, the catalog, the probes, and the OpenAPI document."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from c2s import config

ROOT = Path(__file__).parents[3]


def test_the_landing_page_and_the_reference_need_nothing_from_elsewhere(shared):
    for path in ("/", "/reference"):
        answer = shared.http.get(path)
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        scripts = re.findall(r"<script([^>]*)>(.*?)</script>", answer.text)
        assert len(scripts) == answer.text.count("<script") == (path == "/")
        assert all('src="/ui/' in where and not inline for where, inline in scripts)
        links = re.findall(r"(?:href|src)=['\"]([^'\"]+)", answer.text)
        assert links
        assert all(link.startswith(("/", "#")) for link in links)


def test_every_link_of_the_pages_leads_somewhere(shared):
    page = shared.http.get("/").text
    for link in re.findall(r'href="([^"]+)', page):
        assert shared.http.get(link).status_code == 200, link
    page = shared.http.get("/reference").text
    for anchor in set(re.findall(r"href='#([^']+)", page)):
        assert f"id='{anchor}'" in page


def test_the_reference_names_every_operation(shared):
    page, document = shared.http.get("/reference").text, shared.http.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for verb in operations:
            assert f"<code>{verb.upper()} {path}</code>" in page


def test_the_contract_names_every_answer(shared):
    document = shared.http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {scheme["type"] for scheme in document["components"]["securitySchemes"].values()} == {
        "http",
        "apiKey",
    }
    names = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            names.add(operation["operationId"])
            assert operation["summary"]
            assert {"401", "404", "421", "422", "500", "503"} <= operation["responses"].keys()
            read = "requestBody" in operation or "Idempotency-Key" in str(operation.get("parameters"))
            assert not read or "400" in operation["responses"], operation["operationId"]
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"]
    assert len(names) == sum(len(operations) for operations in document["paths"].values())
    text = str(document)
    assert "HTTPValidationError" not in text
    for reference in re.findall(r"#/components/schemas/([A-Za-z0-9_]+)", text):
        assert reference in document["components"]["schemas"]


@pytest.mark.parametrize(("path", "names"), [("/methods", config.METHODS), ("/nets", config.NETS)])
def test_the_catalog_names_every_choice_with_its_settings(shared, path, names):
    found = shared.http.get(path).json()["data"]
    assert [choice["name"] for choice in found] == list(names)
    assert sum(choice["default"] for choice in found) == 1
    for choice in found:
        assert choice["settings"]["name"] == choice["name"]
        assert choice["settings"].keys() == choice["json_schema"]["properties"].keys()


def test_probes_and_version(shared):
    assert shared.http.get("/livez").json() == {"status": "ok"}
    assert shared.http.get("/readyz").json()["status"] == "ok"
    assert shared.http.get("/version").json()["name"] == "c2s"


def test_the_api_starts_and_answers_without_torch_or_arrow(tmp_path):
    code = """
import asyncio, sys
import httpx
from app import main
from app.core.settings import Settings

async def probe():
    app = main.create_app(Settings(home=sys.argv[1], token="t" * 32))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        assert (await http.get("/livez")).status_code == 200
        assert (await http.get("/methods", headers={"Authorization": "Bearer " + "t" * 32})).status_code == 200

asyncio.run(probe())
print(*sorted({"torch", "pyarrow", "sklearn", "scipy", "pandas", "celery"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == ""
