import numpy as np
import torch

from c2s import config, data
from c2s.learning import batches

CPU = torch.device("cpu")


def test_shuffled_visits_every_row_once():
    rows = torch.arange(100, 350)
    parts = list(batches.shuffled(rows, 64, torch.Generator().manual_seed(1)))
    assert [len(part) for part in parts] == [64, 64, 64, 58]
    assert sorted(torch.cat(parts).tolist()) == rows.tolist()


def test_a_last_single_row_joins_the_batch_before_it():
    parts = list(batches.shuffled(torch.arange(9), 4, torch.Generator().manual_seed(1)))
    assert [len(part) for part in parts] == [4, 5]


def test_rows_that_do_not_fit_come_from_the_disk_and_are_the_same(tmp_path):
    x = np.random.default_rng(0).integers(0, 255, (20, 4, 4), dtype=np.uint8)
    data.save(data.from_arrays(x, np.arange(20) % 2), tmp_path / "d")
    mapped = data.load(tmp_path / "d").x
    rows = torch.tensor([3, 19, 0])
    disk = batches.Source(mapped, CPU, resident_bytes=0)
    assert disk.resident is None
    assert torch.equal(disk.gather(rows), batches.Source(mapped, CPU).gather(rows))


def test_bags_are_gathered_as_indices_offsets_and_weights():
    bags = data.Bags(np.array([0, 2, 2, 3]), np.array([4, 1, 0]), np.array([0.5, 1, 2], np.float32), 6)
    indices, offsets, weights = batches.Source(bags, CPU).gather(torch.tensor([1, 0]))
    assert indices.tolist() == [4, 1]
    assert offsets.tolist() == [0, 0]
    assert weights.tolist() == [0.5, 1.0]


def test_without_augmentation_images_stay_as_they_are():
    images = torch.arange(2 * 3 * 4).reshape(2, 3, 4).to(torch.uint8)
    same = batches.augmented(images, config.Augment(), torch.Generator().manual_seed(0))
    assert torch.equal(same, images)


def test_a_shift_moves_each_image_by_its_own_draw_and_fills_with_zeros():
    images = torch.zeros(200, 9, 9, dtype=torch.uint8)
    images[:, 4, 4] = 1
    moved = batches.augmented(images, config.Augment(shift=2), torch.Generator().manual_seed(0))
    assert moved.shape == images.shape
    places = {tuple(image.nonzero()[0].tolist()) for image in moved}
    assert places == {(row, column) for row in range(2, 7) for column in range(2, 7)}


def test_a_flip_turns_about_half_of_the_images_and_keeps_the_colours():
    images = torch.zeros(400, 2, 3, 3, dtype=torch.uint8)
    images[:, :, 0] = torch.tensor([1, 2, 3], dtype=torch.uint8)
    turned = batches.augmented(images, config.Augment(flip=True), torch.Generator().manual_seed(0))
    at_the_right = (turned[:, 0, 2] == torch.tensor([1, 2, 3])).all(1)
    assert 150 < int(at_the_right.sum()) < 250
    assert torch.equal(turned[~at_the_right], images[~at_the_right])
