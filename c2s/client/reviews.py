"""The labels that a job judged: the suspicious ones, what people decide on them, and datasets made of that."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from c2s.client import frames
from c2s.client.bound import M, operation
from c2s.client.calls import Call
from c2s.client.datasets import Dataset
from c2s.client.records import Record

MOST = 1000  # decisions in one call


class Reviewed(Record[M]):
    """A job whose labels can be reviewed."""

    @operation
    async def issues(
        self,
        limit: int | None = None,
        *,
        given: str | None = None,
        suggested: str | None = None,
        decided: bool | None = None,
    ) -> frames.Rows:
        """The suspicious rows, most suspicious first, with what was decided: all of them, or the first `limit`."""
        call = Call.get(f"/jobs/{self.id}/issues", given=given, suggested=suggested, decided=decided)
        return frames.Rows([row async for row in self._service.pages(call, limit)])

    @operation
    async def review(
        self,
        *,
        accept: Iterable[str] = (),
        keep: Iterable[str] = (),
        relabel: Mapping[str, str] | None = None,
        undecided: Iterable[str] = (),
    ) -> int:
        """Decide on rows by their ids, or take decisions back; how many rows of the job are decided now."""
        made: list[dict[str, Any]] = [
            {"id": row, "decision": word}
            for word, rows in (("accept", accept), ("keep", keep), ("undecided", undecided))
            for row in rows
        ]
        made += [{"id": row, "decision": "relabel", "label": label} for row, label in (relabel or {}).items()]
        path, decided = f"/jobs/{self.id}/decisions", 0
        for start in range(0, max(1, len(made)), MOST):
            call = Call.post(path, {"decisions": made[start : start + MOST]})
            decided = (await self._service.json(call))["decided"]
        return decided

    @operation
    async def decisions(self, limit: int | None = None) -> frames.Rows:
        """What people decided, in the order of the dataset."""
        source = self._service.pages(Call.get(f"/jobs/{self.id}/decisions"), limit)
        return frames.Rows([row async for row in source])

    @operation
    async def corrected(self, target: str | Path, *, format: str | None = None) -> Path:  # noqa: A002
        """Write the corrected labels to a file; without `format`, what its name ends with."""
        path = Path(target)
        form = format or path.suffix.lstrip(".") or "csv"
        return await self._service.save(Call.get(f"/jobs/{self.id}/corrected", format=form), path)

    @operation
    async def corrected_dataset(
        self,
        *,
        name: str | None = None,
        correct_at: float | None = None,
        gold: bool = False,
        wait: bool = True,
    ) -> Dataset[M]:
        """A new dataset with the labels as people decided, and as sure suggestions have it from `correct_at` on.

        With `gold` what people decided is kept as gold labels as well. A large one is made by a worker, which is waited
        for unless `wait` is false.
        """
        body = {"name": name, "correct_at": correct_at, "gold": gold}
        call = Call.post(f"/jobs/{self.id}/corrected-dataset", body)
        made: Dataset[M] = Dataset(self._service, await self._service.json(call))
        return await made._settled() if wait else made
