"""What a run leaves beside its model: every label judged, and the noise report in plain data."""

from typing import Any

import numpy as np
import numpy.typing as npt

from c2s import (
    dependence,
    diagnosis,
    evaluation,
    folders,
    intervals,
    issues,
    merging,
    reviews,
    streams,
    testimony,
    worth,
)
from c2s.findings import fold_numbers
from c2s.matrices import Matrix
from c2s.training import Fitted
from c2s.workbench import Workbench


def leave(
    bench: Workbench,
    kept: Fitted,
    T_c: Matrix,
    *,
    bounds: intervals.Intervals | None,
    notes: tuple[str, ...] = (),
) -> None:
    """Write the folder, unless an earlier attempt did."""
    folder = bench.folder / "result"
    if folder.exists():
        return
    dataset, chosen = bench.dataset, bench.config
    posterior = np.load(bench.folder / "posterior" / "posterior.npy", allow_pickle=False)
    seen = diagnosis.Seen(posterior, dataset.y, chosen.transition, fold_numbers(bench), chosen.seed)
    judged, trusted = diagnosis.judge(T_c, seen)
    judged, settled = issues.settle(
        judged, dataset.y, gold=dataset.gold, reviewed=testimony.reviewed(dataset)
    )
    report = _labels(seen, judged, settled, trusted=trusted) | _worth(
        bench, kept, T_c, bounds=bounds, seen=seen, trusted=trusted
    )
    report["notes"] = list(notes)
    report["merge_hints"] = [hint.plain(dataset.classes) for hint in merging.hints(T_c, dataset.y)]
    with folders.whole(folder) as part:
        reviews.save(part / reviews.FILE, dataset.ids, dataset.classes, dataset.y, judged, settled)
        folders.write_json(part / reviews.REPORT, report)
        reviews.save_held(part / reviews.HELD, _held(bench, kept))


def _held(bench: Workbench, kept: Fitted) -> reviews.Held:
    """The rows that the published classifier has not seen, as it sees them."""
    rows, ids = np.sort(bench.holdout), bench.dataset.ids
    posterior = evaluation.posterior(kept.net, bench.source, rows)
    names = [str(row) if ids is None else ids[row] for row in rows]
    return reviews.Held(
        names, bench.dataset.y[rows], posterior.argmax(axis=1), posterior.max(axis=1).astype(np.float64)
    )


def _labels(
    seen: diagnosis.Seen, judged: issues.Judged, settled: npt.NDArray[np.int8], *, trusted: bool
) -> dict[str, Any]:
    told = reviews.words(seen.y.astype(np.int32), judged, settled)
    counts = np.bincount(told, minlength=len(reviews.WORDS)).tolist()
    decided = dict(zip(reviews.WORDS, counts, strict=True))
    return {
        "rows": len(seen.y),
        "out_of_sample": seen.folds is not None,
        "order": "margin" if trusted else "odds",
        "decisions": {word: rows for word, rows in decided.items() if rows or word in issues.DECISIONS},
    }


def _worth(
    bench: Workbench,
    kept: Fitted,
    T_c: Matrix,
    *,
    bounds: intervals.Intervals | None,
    seen: diagnosis.Seen,
    trusted: bool,
) -> dict[str, Any]:
    """Whether the noise is of the class alone, and what that leaves to be said of the classifier."""
    rows = np.sort(bench.holdout)
    outside = seen if seen.folds is not None else seen.only(rows)  # rows that their judge has not seen
    found = dependence.examine(outside.posterior, outside.y, T_c)
    against = [*found.reasons]
    if not trusted:
        against.append(
            "Stage 1 does not know the classes well enough to tell its own errors from the labels'."
        )
    predicted = evaluation.posterior(kept.net, bench.source, rows).argmax(axis=1)
    known = worth.appraise(
        predicted,
        bench.dataset.y[rows],
        T_c,
        bounds=bounds,
        against=tuple(against),
        rng=streams.numpy(bench.config.seed, "worth"),
    )
    if (gold := bench.dataset.gold) is not None:
        most = testimony.most_counted(bench.dataset, bench.config.validation, seed=bench.config.seed)
        known = worth.counted(known, predicted, np.asarray(gold)[rows], most=most)
    told = {"slope": found.slope, "deviations": found.deviations, "found": found.found}
    return {"worth": known.plain(), "input_dependent": told | {"reasons": list(found.reasons)}}
