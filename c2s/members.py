"""What `method: auto` may train, by name; loads without torch, so that progress can be foretold."""

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
EVERY = (FORWARD, REMEMBERING, PAIRS, WEIGHTED, PRUNED)
