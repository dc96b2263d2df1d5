from pathlib import Path

from c2s import config
from c2s.paper import groundwork

CELL = {"dataset": "mnist", "noise": "sym-0.2"}
CONFIG = config.TrainConfig(seed=7)


def finished(folder: Path, *phases: str) -> Path:
    for phase in phases:
        (folder / phase).mkdir(parents=True)
        (folder / phase / "facts.json").write_text(phase)
    return folder


def test_what_one_run_keeps_the_next_one_borrows(tmp_path: Path) -> None:
    shelves = groundwork.shelves(tmp_path / "kept", CELL, CONFIG)
    groundwork.keep(shelves, finished(tmp_path / "first", "stage1", "fold-1", "posterior", "joint", "stage2"))
    assert groundwork.borrow(shelves, tmp_path / "second") == ["stage1", "fold-1", "posterior", "joint"]
    assert (tmp_path / "second" / "fold-1" / "facts.json").read_text() == "fold-1"
    assert not (tmp_path / "second" / "stage2").exists()


def test_what_a_run_has_of_its_own_is_not_overwritten(tmp_path: Path) -> None:
    shelves = groundwork.shelves(tmp_path / "kept", CELL, CONFIG)
    groundwork.keep(shelves, finished(tmp_path / "first", "stage1"))
    own = finished(tmp_path / "second", "stage1")
    (own / "stage1" / "facts.json").write_text("own")
    assert groundwork.borrow(shelves, own) == []
    assert (own / "stage1" / "facts.json").read_text() == "own"


def test_the_second_to_keep_a_part_changes_nothing(tmp_path: Path) -> None:
    shelves = groundwork.shelves(tmp_path / "kept", CELL, CONFIG)
    groundwork.keep(shelves, finished(tmp_path / "first", "stage1"))
    groundwork.keep(shelves, finished(tmp_path / "second", "stage1"))
    assert (tmp_path / "second" / "stage1").exists()


def test_method_and_stage_2_do_not_matter_to_the_groundwork(tmp_path: Path) -> None:
    other = CONFIG.model_copy(update={"method": config.Forward(), "stage2": config.Stage(epochs=3)})
    assert groundwork.shelves(tmp_path, CELL, CONFIG) == groundwork.shelves(tmp_path, CELL, other)


def test_auto_has_folds_of_its_own_and_shares_stage_1() -> None:
    auto = CONFIG.model_copy(update={"method": config.Auto()})
    mine, theirs = (
        groundwork.shelves(tmp, CELL, chosen) for tmp, chosen in ((Path("x"), CONFIG), (Path("x"), auto))
    )
    assert mine["stage1"] == theirs["stage1"]
    assert mine["fold-*"] != theirs["fold-*"]


def test_auto_that_is_told_how_many_folds_shares_them_too(tmp_path: Path) -> None:
    told = CONFIG.model_copy(update={"transition": config.Estimate(folds=5)})
    auto = told.model_copy(update={"method": config.Auto()})
    assert groundwork.shelves(tmp_path, CELL, auto) == groundwork.shelves(tmp_path, CELL, told)


def test_another_estimate_shares_stage_1_alone(tmp_path: Path) -> None:
    other = CONFIG.model_copy(update={"transition": config.Estimate(estimator="anchors")})
    mine, theirs = (groundwork.shelves(tmp_path, CELL, chosen) for chosen in (CONFIG, other))
    assert mine["stage1"] == theirs["stage1"]
    assert mine["posterior"] != theirs["posterior"]


def test_seed_stage_1_and_cell_keep_groundwork_apart(tmp_path: Path) -> None:
    others = [
        groundwork.shelves(tmp_path, CELL, CONFIG.model_copy(update={"seed": 8})),
        groundwork.shelves(tmp_path, CELL, CONFIG.model_copy(update={"stage1": config.Stage(epochs=3)})),
        groundwork.shelves(tmp_path, CELL | {"noise": "sym-0.4"}, CONFIG),
    ]
    places = {shelves["stage1"] for shelves in others}
    assert len(places | {groundwork.shelves(tmp_path, CELL, CONFIG)["stage1"]}) == 4
