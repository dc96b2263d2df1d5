"""What `method: auto` may train, by name; loads without torch, so that a run can be foretold."""

from dataclasses import dataclass

from c2s import config


@dataclass(frozen=True)
class Member:
    """A method, with early-learning regularisation or without."""

    method: config.MethodConfig
    elr: config.EarlyLearning | None = None

    @property
    def name(self) -> str:
        return self.method.name if self.elr is None else f"{self.method.name}-elr"

    def stage(self, chosen: config.Stage, *, advanced: bool) -> config.Stage:
        """Stage 2 as this member is trained, what the user asked for aside; shorter from an advanced start."""
        update: dict[str, object] = {} if chosen.elr or not self.elr else {"elr": self.elr}
        if advanced:
            update["epochs"] = max(1, round(SHORTER * (chosen.epochs or 1)))
        return chosen.model_copy(update=update)


SHORTER = 0.75  # of a stage 2, where learning T was a training of its own: `auto` must cost what was promised
FORWARD = Member(config.Forward())
REMEMBERING = Member(config.Forward(), config.EarlyLearning())
PAIRS = Member(config.ForwardSimi())
WEIGHTED = Member(config.Reweight())
PRUNED = Member(config.Prune(), config.EarlyLearning())
ROWS_FOR_PAIRS = 350  # a class, below which pairs merge classes
ROWS_TO_PRUNE = 4_500  # more need no pruning: a net does not learn them by heart


def shortlist(rows: int, classes: int, *, hidden: bool = False) -> list[Member]:
    """The members that are trained on so many rows, where noise hides pairs or not."""
    paired = rows >= ROWS_FOR_PAIRS * classes and not hidden
    wanted = [FORWARD, REMEMBERING, PAIRS if paired else WEIGHTED]
    return [*wanted, PRUNED] if rows < ROWS_TO_PRUNE else wanted
