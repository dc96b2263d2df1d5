"""One request followed through every process: its id in the logs, its trace at a collector, its end at a shutdown."""

import contextlib
import http.server
import json
import signal
import socket
import threading
import time

import httpx
import numpy as np
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from service import TOKEN, Service, rows, spec

pytestmark = pytest.mark.timeout(240)
SMALL = (3, 3)
JSON = {"Content-Type": "application/json"}


class Collector:
    """An OTLP receiver: takes protobuf posts and keeps the spans."""

    def __init__(self):
        self.spans = spans = []

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                found = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
                for resource in found.resource_spans:
                    (name,) = [
                        one.value.string_value
                        for one in resource.resource.attributes
                        if one.key == "service.name"
                    ]
                    spans.extend((name, span) for scope in resource.scope_spans for span in scope.spans)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def named(self, name):
        return [(service, span) for service, span in self.spans if span.name == name]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collector():
    found = Collector()
    yield found
    found.close()


def told(path):
    """The lines of a log; all of them are JSON objects."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def train(service, request_id, **headers):
    dataset = service.client.post("/datasets", content=rows()).json()["id"]
    headers = {"X-Request-ID": request_id, **headers}
    job = service.client.post("/jobs", json=spec(dataset, epochs=SMALL), headers=headers).json()["id"]
    assert service.wait(job).state == "succeeded"
    return job


def test_the_id_of_a_request_is_in_the_lines_of_every_process_that_worked_for_it(tmp_path):
    with Service(tmp_path) as service:
        job = train(service, "follow-me-42")
        again = service.client.post(
            f"/jobs/{job}/retry", headers={"X-Request-ID": "never-made"}
        )  # succeeded: a conflict
        assert again.status_code == 409
        written = (tmp_path / "app.serve.log").read_text  # a moment after the answer
        service.until(lambda: "never-made" in written(), what="the line of the last request")
        service.until(lambda: "let_go" in (tmp_path / "worker.log").read_text(), what="the end of the job")
        api, worker = told(tmp_path / "app.serve.log"), told(tmp_path / "worker.log")
        trainer = told(service.store.attempt(job, 1) / "log.txt")
        token_seen = TOKEN in "".join(path.read_text() for path in tmp_path.rglob("*.log"))
    (access,) = [line for line in api if line.get("request_id") == "follow-me-42"]
    assert (access["event"], access["method"], access["route"]) == ("request", "POST", "/jobs")
    assert access["status"] == 202
    assert {line["route"] for line in api if line["event"] == "request"} >= {
        "/datasets",
        "/jobs/{job_id}/retry",
    }
    ids = ("follow-me-42", job, 1)
    for lines, events in (
        (worker, {"claimed", "ended", "published", "let_go"}),
        (trainer, {"phase"}),
    ):
        found = [line for line in lines if line["event"] in events]
        assert {line["event"] for line in found} == events
        assert all((line["request_id"], line["job_id"], line["attempt"]) == ids for line in found)
    assert [line["phase"] for line in trainer if line["event"] == "phase"][:2] == ["loading", "stage1"]
    assert not token_seen


def test_a_trace_runs_from_the_request_to_the_phases_of_the_training(tmp_path, collector):
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with Service(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address) as service:
        job = train(service, "traced-1", traceparent=f"00-{trace}-{span}-01")
        service.until(lambda: collector.named("attempt"), 30, what="the worker's spans")
        service.api.terminate()
        assert service.api.wait(30) == 0
    mine = [(name, one) for name, one in collector.spans if one.trace_id.hex() == trace]
    by_name = {one.name: (name, one) for name, one in mine}
    request, attempt, training = (by_name[name][1] for name in ("POST /jobs", "attempt", "training"))
    assert request.parent_span_id.hex() == span
    assert attempt.parent_span_id == by_name["queue"][1].parent_span_id == request.span_id
    assert by_name["claim"][1].parent_span_id == training.parent_span_id == attempt.span_id
    for phase in ("loading", "stage1", "transition", "stage2", "evaluation", "packaging"):
        service_name, found = by_name[phase]
        assert (service_name, found.parent_span_id) == ("c2s-trainer", training.span_id)
        assert training.start_time_unix_nano <= found.start_time_unix_nano <= found.end_time_unix_nano
    assert {by_name[name][0] for name in ("attempt", "queue", "claim")} == {"c2s-worker"}
    assert by_name["POST /jobs"][0] == "c2s-api"
    facts = {one.key: one.value for one in attempt.attributes}
    assert facts["job_id"].string_value == job


def test_a_collector_that_is_away_costs_nothing_but_its_traces(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts and never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Service(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=address) as service:
            train(service, "untraced-1")
            service.api.terminate()
            assert service.api.wait(30) == 0


def slow_post(port, path, body, kind):
    """A post of which the last byte is held back."""
    line = socket.create_connection(("127.0.0.1", port))
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    line.sendall(head.encode() + body[:-1])
    return line


def answer(line, last):
    line.sendall(last)
    line.settimeout(30)
    said = b""
    with contextlib.suppress(ConnectionError):
        while piece := line.recv(65536):
            said += piece
    line.close()
    return said


def test_sigterm_lets_predictions_and_uploads_end_and_gives_the_training_back(tmp_path):
    grace, margin = 10, 10  # seconds; of the margin a busy machine needs most
    with Service(tmp_path, C2S_GRACE_SECONDS=str(grace)) as service:
        model = service.client.get(f"/jobs/{train(service, 'first')}").json()["model_id"]
        dataset = service.client.get("/datasets").json()["data"][0]["id"]
        file, asked = rows(seed=1), json.dumps({"model": model, "inputs": np.zeros((5, 6)).tolist()}).encode()
        service.client.post("/predict", content=asked, headers=JSON).raise_for_status()  # loads the model
        job = service.client.post("/jobs", json=spec(dataset, epochs=(400, 20))).json()["id"]
        service.until(lambda: service.checkpoints(job), what="a checkpoint")
        predict = slow_post(service.port, "/predict", asked, "application/json")
        upload = slow_post(service.port, "/datasets?name=late", file, "application/octet-stream")
        time.sleep(0.5)  # both are under way
        began = time.monotonic()
        for process in (service.api, *service.workers):
            process.send_signal(signal.SIGTERM)
        service.until(lambda: refused(service), 5, what="no new connection")
        assert b" 200 OK" in answer(predict, asked[-1:]).split(b"\r\n")[0]
        assert b" 201 Created" in answer(upload, file[-1:]).split(b"\r\n")[0]
        for process in (service.api, *service.workers):
            assert process.wait(grace + margin) == 0
        assert time.monotonic() - began < grace + margin
        before = service.row(job)
        assert (before.state, before.preemptions, before.crashes) == ("queued", 1, 0)
        service.start_api()
        service.start_worker()
        assert service.wait(job, seconds=150).state == "succeeded"
        assert service.row(job).attempts == 2


def test_a_request_that_outlasts_the_grace_does_not_hold_the_end_up(tmp_path):
    with Service(tmp_path, workers=0, C2S_GRACE_SECONDS="1") as service:
        line = slow_post(service.port, "/datasets", b"a,y\n1,2\n", "text/csv")
        time.sleep(0.5)
        service.api.terminate()
        said = answer(line, b"")
        assert b" 503 " in said.split(b"\r\n")[0]
        assert b"retry-after" in said
        assert b'"code":"unavailable"' in said
        assert service.api.wait(6) == 0


def refused(service):
    try:
        httpx.get(f"http://127.0.0.1:{service.port}/livez", timeout=0.5)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:
        return False
    return False
