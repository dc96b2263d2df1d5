"""Label issues: wrong labels come first, suggestions are right, thresholds decide, and files tell the same."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from c2s import streams
from c2s.judging import issues, reviews
from c2s.matrix import estimation, noise, transition


def noisy(rate=0.3, rows=2000, classes=5, seed=0, flips=noise.symmetric):
    """Posteriors that know the clean class, and labels of which some are wrong."""
    rng, T = np.random.default_rng(seed), flips(classes, rate)
    clean = rng.integers(classes, size=rows)
    sure = rng.uniform(0.6, 1.0, size=rows)[:, None]
    P = sure * T[clean] + (1 - sure) / classes
    y = (T.cumsum(axis=1)[clean] < rng.random(rows)[:, None]).sum(axis=1).clip(0, classes - 1)
    return P, y, clean, T


@pytest.mark.parametrize("flips", [noise.symmetric, noise.pair_flip])
def test_wrong_labels_come_first_and_the_suggestion_is_the_clean_class(flips):
    P, y, clean, T = noisy(flips=flips)
    judged = issues.judge(P, y, T)
    wrong = (y != clean).sum()
    assert (y != clean)[issues.order(judged)[:wrong]].mean() > 0.95
    assert (judged.suggested == clean).mean() > 0.95


def test_a_matrix_is_trusted_where_the_net_knows_the_classes_and_not_where_it_wavers():
    P, y, _, _ = noisy()
    assert issues.trusts(P, y)
    vague = 0.4 * P + 0.6 / 5
    vague[:, 0] += 0.3
    assert not issues.trusts(vague / vague.sum(axis=1, keepdims=True), y)


def test_probabilities_are_bayes_with_the_matrix(monkeypatch):
    monkeypatch.setattr(issues, "TEMPERATURES", (1.0,))
    monkeypatch.setattr(issues, "RIDGE", 0.0)
    T = np.array([[0.7, 0.3], [0.2, 0.8]])
    f = np.array([[0.9, 0.1]])
    judged = issues.judge(f @ T, np.array([1]), T)
    joint = f[0] * T[:, 1]
    assert judged.given_probability[0] == pytest.approx(joint[1] / joint.sum(), abs=1e-5)
    assert judged.suggested[0] == 0
    assert judged.probability[0] == pytest.approx(joint[0] / joint.sum(), abs=1e-5)


def test_a_label_that_few_rows_never_showed_is_suspected_where_the_net_is_sure():
    T = np.array([[1.0, 0.0], [0.3, 0.7]])
    P = np.concatenate([np.tile([[0.98, 0.02], [0.32, 0.68]], (10, 1)), [[0.98, 0.02]]])
    y = np.append(np.tile([0, 1], 10), 1)
    certain = issues.judge(P, y, T)
    heard = issues.judge(P, y, T, witness=transition.doubted(T, np.array([10.0, 10.0])))
    assert certain.given_probability[-1] > 0.999
    assert heard.given_probability[-1] < 0.8
    np.testing.assert_allclose(heard.given_probability[:-1], certain.given_probability[:-1], atol=0.1)


def test_a_posterior_that_is_too_unsure_is_sharpened_through_the_matrix():
    P, y, clean, T = noisy(classes=5)
    judged = issues.judge(0.6 * P + 0.4 * (np.full(5, 0.2) @ T), y, T)
    right = judged.suggested == clean
    assert judged.probability[right].mean() > 0.9
    assert right.mean() > 0.95


def precision(judged, wrong):
    """Average precision of the order."""
    hits = wrong[issues.order(judged)]
    return (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()


def test_a_model_that_is_too_unsure_is_sharpened_in_the_order_too():
    digits = load_digits()
    y = noise.corrupt(digits.target.astype(np.int64), noise.symmetric(10, 0.4), rng=streams.numpy(1, "flips"))
    weak = LogisticRegression(C=0.1, max_iter=200)
    P = cross_val_predict(weak, digits.data / 16, y, cv=3, method="predict_proba")
    T, wrong = estimation.confident_joint(P, y).T, y != digits.target
    as_it_is = issues.judge(P, y, T, explained=True)  # T then says too little to sharpen by
    assert precision(issues.judge(P, y, T), wrong) > precision(as_it_is, wrong) + 0.0003


def test_a_class_that_is_hard_for_the_net_is_not_suspected_for_it():
    hard, easy = np.tile([0.45, 0.4, 0.15], (50, 1)), np.tile([0.05, 0.9, 0.05], (50, 1))
    P = np.concatenate(
        [hard, easy, [[0.15, 0.45, 0.4]]]
    )  # the last as unsure as the hard ones, in an easy class
    y = np.repeat([0, 1], [50, 51])
    judged = issues.judge(P, y, noise.symmetric(3, 0.2))
    assert judged.self_confidence[0] == judged.self_confidence[100]
    assert issues.order(judged)[0] == 100


def test_a_matrix_that_is_nearly_singular_does_not_magnify_the_errors_of_the_posterior():
    P, y, clean, _ = noisy(rate=0.1, rows=4000)
    T = noise.symmetric(5, 0.78)  # counted too high: classes are hardly told apart by it
    off = np.random.default_rng(1).dirichlet(np.ones(5), size=len(P))
    judged = issues.judge(0.95 * P + 0.05 * off, y, T)
    wrong = (y != clean).sum()
    assert (y != clean)[issues.order(judged)[:wrong]].mean() > 0.9


def test_noise_that_rows_explain_sharpens_no_order_and_corrects_nothing_by_itself(monkeypatch):
    P, y, _, T = noisy()
    plain, doubted = issues.judge(P, y, T), issues.judge(P, y, T, explained=True)
    with monkeypatch.context() as unsharpened:
        unsharpened.setattr(issues, "TEMPERATURES", (1.0,))
        np.testing.assert_array_equal(issues.order(issues.judge(P, y, T)), issues.order(doubted))
    corrected, review = issues.DECISIONS.index("corrected"), issues.DECISIONS.index("review")
    before, after = issues.decide(y.astype(np.int32), plain), issues.decide(y.astype(np.int32), doubted)
    assert (before == corrected).sum() > 400
    assert not (after == corrected).any()
    assert (after[before == corrected] == review).all()
    kept = plain.suggested == y
    np.testing.assert_array_equal(doubted.probability[kept], plain.probability[kept])


def test_blocks_do_not_change_a_verdict(monkeypatch):
    P, y, _, T = noisy(rows=500)
    whole = issues.judge(P, y, T)
    monkeypatch.setattr(issues, "BLOCK", 64)
    for one, other in zip(whole, issues.judge(P, y, T), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_thresholds_decide_what_is_kept_corrected_or_for_review():
    judged = issues.Judged(
        np.array([1, 1, 0], np.int32),
        *(np.array(v, np.float32) for v in ([0.9, 0.6, 0.9], [0.1, 0.4, 0.9], [0] * 3, [0] * 3)),
    )
    given = np.zeros(3, np.int32)
    words = [issues.DECISIONS[k] for k in issues.decide(given, judged)]
    assert words == ["corrected", "review", "kept"]
    assert issues.decide(given, judged, correct_at=0.5).tolist() == [1, 1, 0]
    assert issues.decide(given, judged, correct_at=1.0, keep_at=0.0).tolist() == [0, 0, 0]


def test_a_singular_matrix_and_an_impossible_label_are_judged_all_the_same():
    T = np.array([[1.0, 0.0], [1.0, 0.0]])
    judged = issues.judge(np.array([[0.9, 0.1]]), np.array([1]), T)
    assert np.isfinite(np.array([part[0] for part in judged])).all()


def test_the_file_pages_through_the_issues_of_a_pair_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(reviews, "GROUP", 100)
    P, y, _, _ = noisy(rows=450)
    judged = issues.judge(P, y, estimation.confident_joint(P, y).T)
    ids = [f"row {i}" for i in range(450)]
    reviews.save(tmp_path / "labels.parquet", ids, list("abcde"), y, judged)
    order = [i for i in issues.order(judged) if judged.suggested[i] != y[i]]
    with reviews.Reviews(tmp_path / "labels.parquet") as found:
        assert found.classes == tuple("abcde")
        first = found.page(reviews.Pair(), after=-1, limit=7).issues
        second = found.page(reviews.Pair(), after=first[-1].rank, limit=7).issues
        assert [issue.id for issue in first + second] == [ids[i] for i in order[:14]]
        pair = reviews.Pair(given=1, suggested=2)
        wanted = [ids[i] for i in order if (y[i], judged.suggested[i]) == (1, 2)]
        assert [issue.id for issue in found.page(pair, after=-1, limit=1000).issues] == wanted
        assert sum(part.table.num_rows for part in found.verdicts()) == 450


def test_what_people_decided_counts_more_than_thresholds_and_can_be_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(reviews, "GROUP", 100)
    P, y, _, _ = noisy(rows=450)
    judged = issues.judge(P, y, estimation.confident_joint(P, y).T)
    reviews.save(tmp_path / "labels.parquet", None, list("abcde"), y, judged)
    decided = reviews.Decided(np.array([0, 99, 100, 449]), np.array([4, 4, 3, 2], np.int32))
    with reviews.Reviews(tmp_path / "labels.parquet") as found:
        plain = np.concatenate([part.label for part in found.verdicts()])
        parts = list(found.verdicts(decided))
        label = np.concatenate([part.label for part in parts])
        told = np.concatenate([part.told for part in parts])
        assert label[decided.rows].tolist() == [4, 4, 3, 2]
        assert np.flatnonzero(told == reviews.WORDS.index("reviewed")).tolist() == decided.rows.tolist()
        others = np.setdiff1d(np.arange(450), decided.rows)
        assert np.array_equal(label[others], plain[others])
        suspicious = np.flatnonzero(judged.suggested != y)
        done = np.isin(suspicious, decided.rows)
        for only in (None, True, False):
            page = found.page(reviews.Pair(), after=-1, limit=1000, decided=decided, only=only)
            assert (page.decided, page.undecided) == (done.sum(), (~done).sum())
            rows = suspicious if only is None else suspicious[done == only]
            assert sorted(issue.row for issue in page.issues) == rows.tolist()


def test_rows_are_found_by_their_ids_whatever_these_look_like(tmp_path, monkeypatch):
    monkeypatch.setattr(reviews, "GROUP", 100)
    P, y, _, _ = noisy(rows=250)
    judged = issues.judge(P, y, estimation.confident_joint(P, y).T)
    ids = [str((i + 7) % 250) if i % 2 else f"cat/{i}.png" for i in range(250)]  # numbers, but not their own
    reviews.save(tmp_path / "labels.parquet", ids, list("abcde"), y, judged)
    with reviews.Reviews(tmp_path / "labels.parquet") as found:
        wanted = [ids[row] for row in (0, 1, 120, 249)]
        rows = {name: issue.row for name, issue in found.find([*wanted, "none", "9" * 30]).items()}
        assert rows == {ids[row]: row for row in (0, 1, 120, 249)}


def test_what_people_settled_is_not_suspected_and_gold_is_suggested_first(tmp_path):
    P, y, _, _ = noisy(rows=450)
    plain = issues.judge(P, y, estimation.confident_joint(P, y).T)
    wrong = np.flatnonzero(plain.suggested != y)
    same, other, before = wrong[0], wrong[1], wrong[2]
    gold, reviewed = np.full(450, -1), np.zeros(450, np.bool_)
    gold[same], gold[other], reviewed[[before, same]] = y[same], (y[other] + 1) % 5, True
    judged, settled = issues.settle(plain, y, gold=gold, reviewed=reviewed)
    reviews.save(tmp_path / "labels.parquet", None, list("abcde"), y, judged, settled)
    with reviews.Reviews(tmp_path / "labels.parquet") as found:
        listed = found.page(reviews.Pair(), after=-1, limit=1000).issues
        assert (listed[0].row, listed[0].suggested, listed[0].probability) == (other, gold[other], 1)
        assert not {same, before} & {issue.row for issue in listed}
        assert issues.SETTLED[listed[0].settled] == "gold"
        for thresholds in ({}, {"correct_at": 0.0}, {"correct_at": 1.0, "keep_at": 1.0}):
            (part,) = found.verdicts(**thresholds)
            told = [reviews.WORDS[part.told[row]] for row in (same, other, before)]
            assert told == ["gold", "gold", "reviewed"]
            assert part.label[[same, other, before]].tolist() == [y[same], gold[other], y[before]]
            assert np.flatnonzero(part.by_people).tolist() == sorted([same, other, before])
        (part,) = found.verdicts(reviews.Decided(np.array([other]), np.array([3], np.int32)))
        assert (part.label[other], reviews.WORDS[part.told[other]]) == (3, "reviewed")  # the last word
    assert plain.probability[other] < 1  # what came in is as it was


def test_labels_that_were_judged_before_rows_could_be_settled_are_read_as_ever(tmp_path):
    from pyarrow import parquet

    P, y, _, _ = noisy(rows=450)
    reviews.save(
        tmp_path / "new", None, list("abcde"), y, issues.judge(P, y, estimation.confident_joint(P, y).T)
    )
    parquet.write_table(parquet.read_table(tmp_path / "new").drop_columns(["settled"]), tmp_path / "old")
    with reviews.Reviews(tmp_path / "new") as new, reviews.Reviews(tmp_path / "old") as old:
        pages = [file.page(reviews.Pair(), after=-1, limit=9) for file in (new, old)]
        assert pages[0] == pages[1]
        labels = [np.concatenate([part.label for part in file.verdicts()]) for file in (new, old)]
        assert np.array_equal(*labels)


def test_no_label_is_told_to_be_less_likely_than_a_millionth():
    T, y = noise.symmetric(3, 0.2), np.repeat([0, 1, 2], 40)
    P = np.full((120, 3), 1e-12)
    P[np.arange(120), y] = 1.0
    P[0] = [1e-12, 1.0, 1e-12]  # labelled 0, and 1 for certain
    judged = issues.judge(P, y, T)
    assert judged.suggested[0] == 1
    assert judged.given_probability[0] == pytest.approx(issues.LEAST)


def test_a_label_of_a_class_of_which_nothing_is_known_is_for_review_and_not_corrected():
    P, y, _, _ = noisy()
    T = estimation.confident_joint(P, y).T
    told = issues.decide(y, issues.judge(P, y, T))
    unsure = issues.decide(y, issues.judge(P, y, T, unknown=(1,)))
    corrected, review = issues.DECISIONS.index("corrected"), issues.DECISIONS.index("review")
    mine = (y == 1) & (told == corrected)
    assert mine.any()
    assert (unsure[mine] == review).all()
    assert np.array_equal(unsure[y != 1], told[y != 1])
