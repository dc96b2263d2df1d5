import pytest

from c2s.paper import cells


@pytest.mark.parametrize(
    ("dataset", "noise", "method", "mean", "deviation"),
    [
        ("mnist", "sym-0.2", "co-teaching", 97.34, 0.26),
        ("mnist", "asym-0.6", "f-class2simi", 98.91, 0.07),
        ("cifar10", "sym-0.6", "s2e", 57.96, 4.70),
        ("cifar100", "asym-0.6", "f-class2simi", 38.69, 2.84),
        ("news20", "asym-0.4", "r-class2simi", 55.03, 1.55),
        ("news20", "sym-0.6", "forward", 46.91, 1.48),
        ("cifar100", "clean", "mcl", 60.36, 0.89),
        ("news20", "clean", "ce", 59.86, 0.39),
        ("clothing1m", "real", "r-class2simi", 75.76, None),
    ],
)
def test_a_cell_holds_the_printed_number(
    dataset: str, noise: str, method: str, mean: float, deviation: float | None
) -> None:
    cell = cells.find(dataset, noise, method)
    assert cell is not None
    assert (cell.mean, cell.deviation) == (mean, deviation)


@pytest.mark.parametrize("dataset", ["mnist", "cifar10", "cifar100", "news20"])
def test_every_noisy_table_is_complete(dataset: str) -> None:
    methods = cells.methods(dataset)
    assert len(methods) == 10
    assert all(cells.find(dataset, noise, method) for noise in cells.NOISES for method in methods)


def test_class2simi_on_clean_labels_stands_beside_both_pair_losses() -> None:
    assert cells.find("mnist", "clean", "mcl") == cells.find("mnist", "clean", "f-class2simi")


def test_a_cell_the_paper_does_not_have_is_none() -> None:
    assert cells.find("mnist", "pair-0.45", "forward") is None
    assert cells.find("cifar10-subset", "sym-0.2", "forward") is None


def test_cells_that_contradict_their_neighbours_are_doubtful() -> None:
    twice = [cells.find("news20", noise, "apl") for noise in ("sym-0.6", "asym-0.6")]
    assert all(cell is not None and cell.doubtful for cell in twice)
    sound = cells.find("mnist", "sym-0.2", "f-class2simi")
    assert sound is not None
    assert not sound.doubtful
