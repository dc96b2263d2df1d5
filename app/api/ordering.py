"""From a question about many rows to a job in the queue: what can be refused is refused before it is made."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from app.api import deps, posts, questions, scopes, wishes
from app.core import datasets, errors, ids, jobs, models, quotas, receipts, tracing
from app.core.db import Database
from app.core.incoming import Uploaded
from app.core.settings import Settings
from app.core.storage import Store
from app.core.tables import Dataset, Model
from app.intake.options import Format
from c2s import cards

MOST_NUMBERS = 10**9  # probabilities in one result
OUTPUTS: list[questions.Output] = ["class", "probabilities"]


class Wished(BaseModel):
    """What a result is to hold, and by which model."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[str, Field(min_length=1, max_length=200)]  # an id, or a name: then the newest
    outputs: Annotated[list[questions.Output] | None, Field(min_length=1, max_length=3)] = None
    top_k: Annotated[int | None, Field(ge=1, le=1000)] = None  # None: the probability of every class


class BatchIn(Wished):
    """The rows of a dataset; its labels are judged too."""

    dataset_id: Annotated[str, Field(pattern=ids.pattern("ds"))]


class FileIn(Wished):
    """The rows of the file that is the body."""

    format: Format | None = None  # None: told by the bytes


@dataclass(frozen=True)
class Ordering:
    """Makes jobs of questions."""

    settings: Settings
    database: Database
    store: Store
    key: str | None

    def model(self, name: str) -> tuple[Model, dict[str, Any]]:
        """The caller's model of an id or a name, and its card; one without a graph cannot be asked."""
        with self.database.read() as tx:
            found = models.resolve(tx, name)
        card = cards.load(self.store.open_model(found.folder))
        if "graph" not in card:
            detail = f"model {found.id} was published without a graph"
            raise errors.Conflict(detail, code="model_not_exported")
        return found, card

    def of_dataset(self, asked: BatchIn) -> posts.Made:
        """A job over a dataset, whose rows count against the quota now."""
        request = receipts.digest("POST /predictions", asked.model_dump_json())
        if (before := posts.replayed(self.database, self.key, request)) is not None:
            return before
        wish = wishes.Wish.of(asked.top_k, asked.outputs)
        model, card = self.model(asked.model)
        with self.database.read() as tx:
            dataset = datasets.ready(tx, asked.dataset_id)
        check_fit(dataset, card)
        rows = dataset.rows or 0
        classes = len(card["labels"])
        wishes.check(wish.numbers(rows, classes), rows, classes, most=MOST_NUMBERS, where="/top_k")
        config = _config(asked, model, rows=rows)
        about = {"id": dataset.id, "name": dataset.name, "rows": rows, "sha256": dataset.sha256}
        return self._place(dataset, config, self._manifest(model, config, dataset=about), request)

    def check_file(self, asked: FileIn, announced: int) -> None:
        """Refuse what can be refused before the file is sent; with a key that is known only the file will tell."""
        caller = self.database.caller
        with self.database.read() as tx:
            if self.key is not None and receipts.known(tx, deps.project_of(self.database), self.key):
                return
            quotas.check_room(tx, caller, announced)
            quotas.check_left(tx, caller)
        self.model(asked.model)

    def of_file(self, asked: FileIn, uploaded: Uploaded) -> posts.Made:
        """A job over a file that has arrived; its rows are counted when they are predicted."""
        request = receipts.digest("POST /predictions", asked.model_dump_json(), uploaded.sha256)
        if (before := posts.replayed(self.database, self.key, request)) is not None:
            return before
        with self.database.read() as tx:
            quotas.check_left(tx, self.database.caller)
        model, _ = self.model(asked.model)
        job_id, limit = ids.new("job"), jobs.daily(self.database.caller)
        config = _config(
            asked, model, source=job_id, predictions_per_day=limit, format=asked.format or "auto"
        )
        about = {"bytes": uploaded.bytes, "sha256": uploaded.sha256}
        try:
            self.store.keep_source(job_id, uploaded)
            made = self._place(None, config, self._manifest(model, config, source=about), request)
        except BaseException:
            self.store.remove_job(job_id)
            raise
        if made.again:  # the same file came twice at once, and the other one won
            self.store.remove_job(job_id)
        return made

    def _manifest(self, model: Model, config: dict[str, Any], **more: Any) -> dict[str, Any]:
        about = {"id": model.id, "name": model.name, "sha256": model.sha256}
        return {
            "config": config,
            "model": about,
            "threads": self.settings.threads,
            "origin": tracing.origin(),
            **more,
        }

    def _place(
        self, dataset: Dataset | None, config: dict[str, Any], manifest: dict[str, Any], request: str
    ) -> posts.Made:
        caller = self.database.caller

        def make(tx: Connection) -> posts.Made:
            job = jobs.create(
                tx,
                dataset,
                task="predict",
                config=config,
                manifest=manifest,
                max_queue=self.settings.max_queue,
                by=caller,
                job_id=config["source"],
                project_id=deps.project_of(self.database),
            )
            quotas.take_job(tx, caller)
            quotas.take_predictions(tx, caller, config["rows"] or 0)
            return posts.Made(job.id, 202)

        return posts.once(self.database, self.key, request, make)


def check_fit(dataset: Dataset, card: dict[str, Any]) -> None:
    """Refuse rows of another form than the model's; how columns were read is compared by the worker."""
    ours, theirs = dataset.shape or {}, card["shape"]
    for name in ("kind", "width", "image"):
        mine, wanted = ours.get(name), theirs.get(name)
        if _plain(mine) != _plain(wanted):
            detail = f"the dataset's {name} is {mine}, the model takes {wanted}"
            fault = {"pointer": "/dataset_id", "code": "model_mismatch", "detail": detail}
            raise errors.Invalid(detail, code="model_mismatch", errors=[fault])


def check_retry(database: Database, store: Store, job_id: str) -> None:
    """Refuse a key without the scope, and predictions whose file is gone or that the quota forbids today."""
    with database.read() as tx:
        job = jobs.find(tx, job_id)
        scopes.check_job(database.caller, job.task)
        source = job.config.get("source") if job.task == "predict" else None
        if source is None or not jobs.retriable(job) or jobs.retried(tx, job) is not None:
            return
        quotas.check_left(tx, database.caller)
    if store.size(store.key(store.source(source).parent)) == 0:
        raise errors.Conflict(f"the file of job {job.id} was deleted", code="dataset_deleted")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list) else value


def _config(asked: Wished, model: Model, **more: Any) -> dict[str, Any]:
    known = {"rows": None, "predictions_per_day": None, "source": None, "format": "auto"}
    chosen = {"model_id": model.id, "outputs": asked.outputs or OUTPUTS, "top_k": asked.top_k}
    return chosen | known | more
