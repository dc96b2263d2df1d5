import numpy as np
import pytest
import safetensors.torch
import torch

from c2s import config, data, errors, folders, splits
from c2s.learning import training
from c2s.methods.method import Evidence
from c2s.methods.prune import Prune
from c2s.nets import choice
from c2s.running import workbench

IMAGES = data.from_arrays(np.zeros((8, 32, 32, 3), np.uint8), np.arange(8) % 2)


def bench(folder, net: str, pretrained) -> workbench.Workbench:
    chosen = config.TrainConfig.parse({"net": net})
    return workbench.open_bench(
        IMAGES, chosen, folder, device="cpu", report=training.quiet, probe=None, pretrained=pretrained
    )


def test_a_pretrained_backbone_starts_every_net_and_leaves_the_head_new(tmp_path):
    torch.manual_seed(1)
    trained = choice.build(config.ResNet50(), IMAGES.shape).body.state_dict()
    safetensors.torch.save_file(
        {name: t.contiguous() for name, t in trained.items()}, tmp_path / "w.safetensors"
    )
    fresh = bench(tmp_path / "run", "resnet-50", tmp_path / "w.safetensors").fresh_net()
    started = fresh.body.state_dict()
    assert torch.equal(started["layer3.1.conv2.weight"], trained["layer3.1.conv2.weight"])
    assert not torch.equal(started["fc.weight"], trained["fc.weight"])


def test_pretrained_weights_that_cannot_be_used_are_refused(tmp_path):
    (tmp_path / "junk.safetensors").write_bytes(b"junk")
    with pytest.raises(errors.InvalidModel, match="safetensors"):
        bench(tmp_path / "a", "resnet-50", tmp_path / "junk.safetensors")
    safetensors.torch.save_file({"w": torch.zeros(1)}, tmp_path / "other.safetensors")
    lenet = bench(tmp_path / "b", "lenet", tmp_path / "other.safetensors")
    with pytest.raises(errors.InvalidConfig, match="resnet-50"):
        lenet.fresh_net()
    resnet = bench(tmp_path / "c", "resnet-50", tmp_path / "other.safetensors")
    with pytest.raises(errors.InvalidModel, match="lack"):
        resnet.fresh_net()


def test_the_same_stream_gives_the_same_weights_and_another_gives_others(tmp_path):
    made = bench(tmp_path / "a", "lenet", None)
    one, same, other = (made.fresh_net(name).state_dict()["body.head.weight"] for name in ("x", "x", "y"))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_run_that_older_source_began_is_taken_up(tmp_path):
    bench(tmp_path / "run", "lenet", None)
    marker = tmp_path / "run" / "run" / "run.json"
    older = folders.read_json(marker)
    del older["config"]["stage1"]["elr"], older["config"]["stage2"]["mixup"]
    marker.unlink()
    folders.write_json(marker, older)
    (tmp_path / "run" / "stage1" / "epoch-00001").mkdir(parents=True)
    bench(tmp_path / "run", "lenet", None)
    with pytest.raises(errors.InvalidConfig, match="another net"):
        bench(tmp_path / "run", "lenet-5", None)


def test_a_number_out_of_reach_of_the_rows_that_are_learnt_from_is_refused_before_training(tmp_path):
    x = np.random.default_rng(0).normal(0, 0.01, (60, 3)).astype(np.float32)
    y, chosen = np.arange(60) % 2, config.TrainConfig()
    (row, *_) = splits.split(y, chosen.validation, seed=chosen.seed)[1]
    x[row, 1] = 3e38
    kinds: dict = {"device": "cpu", "report": training.quiet, "probe": None}
    told = rf"column 1, row {row}: the number is too far from the training rows for float32"
    with pytest.raises(errors.InvalidDataset, match=told):
        workbench.open_bench(data.from_arrays(x, y), chosen, tmp_path / "a", **kinds)
    named = {"kind": "vectors", "width": 3, "columns": ["a", "b", "c"]}
    with pytest.raises(errors.InvalidDataset, match="column 'b', row"):
        workbench.open_bench(
            data.Dataset(x, y, (0, 1), "vectors", encoding=named), chosen, tmp_path / "b", **kinds
        )


def test_pruning_leaves_every_class_a_row_to_learn_from_whatever_is_held_out(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    y, chosen = np.arange(60) % 2, config.TrainConfig()
    made = workbench.open_bench(
        data.from_arrays(x, y), chosen, tmp_path, device="cpu", report=training.quiet, probe=None
    )
    suspects = np.isin(np.arange(60), made.train) & (y == 1)  # all but its rows held out
    suspects[made.train[y[made.train] == 0][0]] = True
    known = Evidence(made.dataset.y, np.eye(2), np.full(2, 0.5), suspects)
    taught = made.taught(Prune(), known)
    assert np.bincount(y[taught]).tolist() == [26, 27]
    stage = config.Stage(epochs=1, batch_size=16)
    made.fit("stage2", Prune(), made.fresh_net(), stage=stage, evidence=known)  # trained on as they are given
