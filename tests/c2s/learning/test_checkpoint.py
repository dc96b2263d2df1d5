import json

import pytest
import torch

from c2s import cards, config, errors
from c2s.learning import checkpoint
from c2s.nets import choice
from c2s.shape import Shape

SHAPE = Shape(kind="vectors", classes=3, width=4)
NET = config.Mlp(hidden=(6,))


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(0)
    net = choice.build(NET, SHAPE).eval()
    card = {"config": {"net": NET.model_dump(mode="json")}, "shape": SHAPE.plain(), "labels": ["a", "b", "c"]}
    card |= {"encoding": {}, "transition": {}, "notes": []}
    checkpoint.save_model(tmp_path / "m", net, card)
    return tmp_path / "m", net


def test_a_saved_model_answers_as_before(model):
    folder, net = model
    loaded, card = checkpoint.load_model(folder)
    x = torch.randn(5, 4)
    torch.testing.assert_close(loaded(x), net(x), rtol=0, atol=0)
    assert card["labels"] == ["a", "b", "c"]


def test_altered_weights_are_refused(model):
    folder, _ = model
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(errors.InvalidModel, match="not those the card describes"):
        checkpoint.load_model(folder)


def test_missing_parts_are_refused(model):
    folder, _ = model
    (folder / "weights.safetensors").unlink()
    with pytest.raises(errors.InvalidModel, match="missing"):
        checkpoint.load_model(folder)
    (folder / "card.json").unlink()
    with pytest.raises(errors.InvalidModel, match="no finished model"):
        checkpoint.load_model(folder)


def test_weights_of_another_net_are_refused(model):
    folder, _ = model
    card = json.loads((folder / "card.json").read_text())
    card["config"]["net"]["hidden"] = [7]
    (folder / "card.json").write_text(json.dumps(card))
    with pytest.raises(errors.InvalidModel, match="do not fit"):
        checkpoint.load_model(folder)


def test_a_card_of_an_unknown_format_is_refused(model):
    folder, _ = model
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {"format": 99}))
    with pytest.raises(errors.InvalidModel, match="99"):
        cards.load(folder)


def test_an_incomplete_card_is_refused(model):
    folder, _ = model
    for text, why in (("[]", "format"), ('{"format": 1}', "lacks config"), ("{", "no finished model")):
        (folder / "card.json").write_text(text)
        with pytest.raises(errors.InvalidModel, match=why):
            checkpoint.load_model(folder)


def test_a_phase_keeps_its_two_newest_whole_states(tmp_path):
    phase = checkpoint.PhaseFolder(tmp_path / "stage1")
    assert phase.load() is None
    for epoch in range(1, 4):
        phase.save({"w": torch.full((2,), float(epoch))}, {"history": [{}] * epoch})
    (tmp_path / "stage1" / "epoch-00004.part").mkdir()  # a writer that was killed
    tensors, facts = phase.load()
    assert tensors["w"].tolist() == [3.0, 3.0]
    assert len(facts["history"]) == 3
    kept = sorted(path.name for path in (tmp_path / "stage1").glob("epoch-*[0-9]"))
    assert kept == ["epoch-00002", "epoch-00003"]


def two_epochs(folder):
    phase = checkpoint.PhaseFolder(folder)
    for epoch in (1, 2):
        phase.save({"w": torch.full((200,), float(epoch))}, {"history": [{"loss": 0.5}] * epoch})
    return phase


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", [checkpoint.STATE, checkpoint.FACTS, checkpoint.SUMS])
@pytest.mark.parametrize("harm", ["first", "middle", "last", "truncated", "emptied", "missing"])
def test_a_harmed_state_is_detected_and_the_one_before_it_used(tmp_path, name, harm):
    phase = two_epochs(tmp_path)
    path = tmp_path / "epoch-00002" / name
    size = path.stat().st_size
    if harm == "missing":
        path.unlink()
    elif harm in ("truncated", "emptied"):
        path.write_bytes(path.read_bytes()[: size // 2 if harm == "truncated" else 0])
    else:
        # the last byte of a JSON file is white space, which changes nothing that is read
        last = size - 1 if name == checkpoint.STATE else size - 3
        flip(path, {"first": 0, "middle": size // 2, "last": last}[harm])
    tensors, facts = phase.load()
    assert tensors["w"].tolist() == [1.0] * 200
    assert len(facts["history"]) == 1
    phase.save({"w": torch.full((200,), 2.0)}, {"history": [{}] * 2})  # the epoch can be written again
    assert phase.load()[0]["w"].tolist() == [2.0] * 200


def test_a_phase_with_no_unharmed_state_starts_anew(tmp_path):
    phase = two_epochs(tmp_path)
    for epoch in ("epoch-00001", "epoch-00002"):
        flip(tmp_path / epoch / checkpoint.STATE, 300)
    assert phase.load() is None


def test_a_saved_state_is_told_once_it_is_on_the_disk(tmp_path):
    told = []
    phase = checkpoint.PhaseFolder(tmp_path / "stage1", lambda saved: told.append((saved, phase.load())))
    phase.save({"w": torch.zeros(3)}, {"history": [{}]})
    [(saved, found)] = told
    assert saved == ("stage1", 1, (tmp_path / "stage1" / "epoch-00001" / checkpoint.STATE).stat().st_size)
    assert found[0]["w"].tolist() == [0.0] * 3


def test_state_tensors_may_share_memory_or_be_strided(tmp_path):
    phase = checkpoint.PhaseFolder(tmp_path / "s")
    image = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    phase.save({"a": image, "b": image, "t": image.transpose(2, 3)}, {"history": []})
    tensors, _ = phase.load()
    assert torch.equal(tensors["a"], image)
    assert torch.equal(tensors["t"], image.transpose(2, 3))


def test_a_full_disk_costs_the_oldest_state_and_never_the_newest(tmp_path, monkeypatch):
    phase = two_epochs(tmp_path)
    write, tries = checkpoint.safetensors.torch.save_file, []

    def full(tensors, path):
        tries.append(path)
        if (tmp_path / "epoch-00001").exists():
            raise OSError(28, "No space left on device")
        write(tensors, path)

    monkeypatch.setattr(checkpoint.safetensors.torch, "save_file", full)
    phase.save({"w": torch.full((200,), 3.0)}, {"history": [{}] * 3})
    assert len(tries) == 2
    assert phase.load()[0]["w"].tolist() == [3.0] * 200
    assert (tmp_path / "epoch-00002").exists()
