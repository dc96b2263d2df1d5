"""Where a client finds the service and its key, and what it says where it finds none."""

import pytest

import c2s
from app.core.settings import Settings
from c2s.client import problems


def test_a_stranger_is_told_where_a_key_was_looked_for(shared, monkeypatch, tmp_path):
    monkeypatch.setenv("C2S_HOME", str(tmp_path))
    for name in ("C2S_URL", "C2S_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def told(*given):
        with c2s.Client(*given) as stranger, pytest.raises(problems.Unauthorized) as caught:
            next(stranger.datasets.list())
        assert caught.value.__notes__ == [caught.value.advice]  # as tracebacks show it
        return caught.value.advice

    assert "C2S_TOKEN" in told(shared.address, "wrong" * 8)
    assert f"the one in {tmp_path} is of another service" in told(shared.address)
    (tmp_path / "lock").write_text(f"123 {shared.address}\n")
    assert f"there is no token in {tmp_path}: C2S_HOME names" in told()
    (tmp_path / "token").write_text("stale" * 8)
    assert f"the token in {tmp_path} is of another service: C2S_HOME names" in told()


def test_the_address_is_found_as_the_service_leaves_it(shared, monkeypatch, tmp_path):
    monkeypatch.setenv("C2S_HOME", str(tmp_path))
    for name in ("C2S_URL", "C2S_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "lock").write_text(f"123 {shared.address}\n")
    (tmp_path / "token").write_text("t" * 32)
    with c2s.Client() as found:
        assert found.url == shared.address
        assert isinstance(list(found.keys.list(1)), list)  # which takes the token
    monkeypatch.setenv("C2S_URL", "http://elsewhere.example")
    with c2s.Client() as elsewhere:
        assert (
            "Authorization" not in elsewhere._service.wire._http.headers
        )  # the token of this machine stays here
    (tmp_path / "lock").unlink()
    monkeypatch.delenv("C2S_URL")
    with c2s.Client() as default:
        assert default.url == f"http://127.0.0.1:{Settings.model_fields['port'].default}"
