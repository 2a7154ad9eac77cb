"""Settings of what is found out before the trials of an experiment run: a start for thresholds, and a fair baseline."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from kenyon.experiment.learner_settings import AnyLearner
from kenyon.experiment.settings import Model

Seed = Annotated[int, Field(ge=0)]


class PrelearningConfig(Model):
    """Prelearn once, and let all learners with `start = "prelearned"` start from what was found."""

    seed: Seed = Field(description="Decides network, task and episodes of prelearning; none of the trials' own seeds.")
    learner: str = Field("Composed", description="Whose prelearning it is: a learner of the trials, or else a kind.")
    own: AnyLearner | None = Field(None, description="Filled in: the settings of a learner that trials do not have.")
    task: dict[str, Any] = Field({}, description="Settings of the task in which it differs, such as its largest size.")


class TuningConfig(Model):
    """Find batch and learning rate of a plain readout for each task and size, on seeds that are not judged on."""

    seeds: Annotated[list[Seed], Field(min_length=1)] = Field(description="None of the trials' own seeds.")
    learner: str = Field("GradientWeights", description="Which learner of the trials, by name.")
    batch: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)] = Field(
        [1, 10, 100], description="The batches to try."
    )
