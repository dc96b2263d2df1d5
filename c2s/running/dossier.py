"""What a run leaves beside its model: every label judged, and the noise report in plain data."""

from typing import Any

import numpy as np

from c2s import data, folders, naming, streams
from c2s.judging import diagnosis, held, issues, merging, reviews, testimony, worth
from c2s.learning import evaluation
from c2s.learning.training import Fitted
from c2s.matrix import dependence, intervals
from c2s.methods.matrices import Matrix
from c2s.running import rounds
from c2s.running.workbench import Workbench


def leave(
    bench: Workbench,
    kept: Fitted,
    T_c: Matrix,
    *,
    witness: Matrix,
    bounds: intervals.Intervals | None,
    notes: tuple[str, ...] = (),
    unknown: tuple[int, ...] = (),
) -> None:
    """Write the folder, unless an earlier attempt did; nothing is known of the noise of `unknown` classes."""
    folder = bench.folder / "result"
    if folder.exists():
        return
    dataset, chosen = bench.dataset, bench.config
    posterior = np.load(bench.folder / "posterior" / rounds.FILE, allow_pickle=False)
    seen = diagnosis.Seen(posterior, dataset.y, chosen.transition, rounds.fold_numbers(bench), chosen.seed)
    # rows that their judge has not seen
    outside = seen if seen.folds is not None else seen.only(_fair(bench))
    noise = dependence.examine(outside.posterior, outside.y, T_c)
    contradiction = testimony.contradiction(dataset, T_c)
    doubted = noise.found or contradiction is not None
    judged, settled = issues.settle(
        diagnosis.judge(T_c, seen, witness=witness, explained=doubted, unknown=unknown),
        dataset.y,
        gold=dataset.gold,
        reviewed=testimony.reviewed(dataset),
    )
    report = {"rows": len(dataset.y), "out_of_sample": seen.folds is not None, "notes": list(notes)}
    report |= _worth(bench, kept, T_c, bounds=bounds, seen=seen, noise=noise, contradiction=contradiction)
    hints = merging.hints(T_c, dataset.y, unknown=unknown)
    report["merge_hints"] = [hint.plain(dataset.classes) for hint in hints]
    with folders.whole(folder) as part:
        reviews.save(
            part / reviews.FILE, dataset.ids, dataset.classes, dataset.y, judged, settled, came=_came(bench)
        )
        folders.write_json(part / reviews.REPORT, report)
        held.save(part / held.FILE, _held(bench, kept))
        folders.write_json(part / reviews.SUMS, {"sha256": folders.sums(part)})


def _fair(bench: Workbench) -> data.Labels:
    """The rows held out that tell of all rows: drawn at random, and with labels as they came."""
    rows = np.sort(bench.fair)
    return rows[testimony.untouched(bench.dataset, rows)]


def _came(bench: Workbench) -> naming.Came | None:
    """The labels as the user's file has them, where classes were merged."""
    if bench.came is bench.dataset:
        return None
    return naming.Came(merging.named(bench.came.classes, bench.config.merge), bench.came.y)


def _held(bench: Workbench, kept: Fitted) -> held.Held:
    """The rows that the published classifier has not seen, as it sees them."""
    rows, ids = np.sort(bench.holdout), bench.dataset.ids
    posterior = evaluation.posterior(kept.net, bench.source, rows)
    names = [str(row) if ids is None else ids[row] for row in rows]
    return held.Held(
        names, bench.came.y[rows], posterior.argmax(axis=1), posterior.max(axis=1).astype(np.float64)
    )


def _worth(
    bench: Workbench,
    kept: Fitted,
    T_c: Matrix,
    *,
    bounds: intervals.Intervals | None,
    seen: diagnosis.Seen,
    noise: dependence.Dependence,
    contradiction: str | None,
) -> dict[str, Any]:
    """Whether the noise is of the class alone, and what that leaves to be said of the classifier."""
    rows = np.sort(bench.holdout)
    against = [*noise.reasons, *([contradiction] if contradiction else [])]
    if not issues.trusts(seen.posterior, seen.y):
        against.append(
            "Stage 1 does not know the classes well enough to tell its own errors from the labels'."
        )
    predicted = evaluation.posterior(kept.net, bench.source, rows).argmax(axis=1)
    fair = np.isin(rows, _fair(bench))
    known = worth.appraise(
        predicted[fair],
        bench.dataset.y[rows[fair]],
        T_c,
        bounds=bounds,
        against=tuple(against),
        rng=streams.numpy(bench.config.seed, "worth"),
    )
    if (gold := bench.dataset.gold) is not None:
        if kept.blind is not None:  # a gold row would flatter the classifier that it helped to choose
            predicted = np.where(kept.blind[rows] >= 0, kept.blind[rows], predicted)
        known = worth.counted(known, predicted, np.asarray(gold)[rows])
    told = {"slope": noise.slope, "deviations": noise.deviations, "found": noise.found}
    return {"worth": known.plain(), "input_dependent": told | {"reasons": list(noise.reasons)}}
