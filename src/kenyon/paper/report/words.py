"""What the paper says about each figure, in our words, and what it leaves open."""

from __future__ import annotations

from typing import NamedTuple

from kenyon.experiment.presets import BATCHES, ON_SEQUENCES
from kenyon.learning.learners import Learner
from kenyon.learning.prelearning import STARTS, STEPS

PAPER = (
    "L. Manneschi, A. C. Lin & E. Vasilaki (2019), Learning sparsity in reservoir computing through a novel "
    "bio-inspired algorithm, arXiv 1907.08600"
)
DATA = (
    "E. A. Hallem & J. R. Carlson (2006), Coding of odors by a receptor repertoire, Cell 125, 143-160",
    "S. R. Olsen, V. Bhandawat & R. I. Wilson (2010), Divisive normalization in olfactory population codes, Neuron 66, "
    "287-299",
)


class About(NamedTuple):
    """A figure: its title, what is drawn, and what the paper says (of a figure of ours, what it is for)."""

    title: str
    shows: str
    says: tuple[str, ...]


FIGURES = {
    "1": About(
        "The network and its two tasks",
        "The network, and how stimuli of the static and of the sequence task pass through it.",
        (
            "A reservoir is a fixed random recurrent network of which only a linear readout learns. The paper puts a "
            "threshold between each neuron and the readout, x = relu(V - theta), as the Kenyon cells of the fly have "
            "one. Thresholds do not feed back, so the dynamics and their timescales stay as they are.",
            "In the static task one odour is shown for half a second and its class must be recalled. In the sequence "
            "task three odours follow each other, and the class lies in their combination.",
        ),
    ),
    "2": About(
        "Static task: accuracy",
        "Training curves of the learners, and accuracy at the end against the number of stimuli.",
        (
            "All three ways to learn thresholds beat the readout without any (GD_W). Composed, which learns one "
            "threshold for all neurons by Metropolis steps and one for each by gradient, is the best at every number "
            "of stimuli and converges fastest; its lead grows with the number of stimuli.",
        ),
    ),
    "3": About(
        "Static task: thresholds",
        "Mean and standard deviation of the thresholds against the number of stimuli.",
        (
            "The more stimuli there are, the higher the thresholds and the wider they spread over neurons. Metropolis "
            "and Composed end higher than GD_theta. At 140 stimuli about half of the neurons are active for "
            "Metropolis and Composed, and about 70% for GD_theta.",
        ),
    ),
    "4": About(
        "Sequence task: accuracy",
        "Training curves of the learners, and accuracy at the end against the number of sequences.",
        (
            "Composed is the best again. Metropolis alone hardly improves on GD_W. Where the global threshold "
            "starts decides: without prelearning, Composed does worse.",
        ),
    ),
    "5": About(
        "Sequence task: thresholds",
        "Mean and standard deviation of the thresholds against the number of sequences.",
        (
            "GD_theta has the highest mean threshold. Thresholds spread more widely than in the static task, and "
            "neither mean nor spread shows an evident trend with the number of sequences.",
        ),
    ),
    "6": About(
        "Specificity",
        "Histograms of the neurons' specificity before and after learning, for both tasks.",
        (
            "Learning makes neurons more specific: each becomes active more often for one class than for the other. "
            "Specificity from summed activity instead of counts gives a comparable picture.",
        ),
    ),
    "7": About(
        "Reinforcement learning",
        "Training curves and accuracy of readouts that are told only the reward of the action they took.",
        (
            "The same holds when only a reward is told (Q-learning with a softmax policy): Composed beats GD_W on both "
            "tasks, with the best of three batch sizes for GD_W.",
        ),
    ),
    "S1": About(
        "Controls",
        "Accuracy of other readouts of the same states, of other starts of the thresholds, and without recurrence.",
        (
            "Ours, to tell what causes the paper's result. Ridge regression on V is what a linear readout without "
            "thresholds can do offline, with all episodes at once; recursive least squares does the like online, at a "
            "cost of N² an episode. Centring and standardising V ask whether correlation alone is the trouble; other "
            "starts ask whether the start or the learning of thresholds matters.",
            "Two of them are the paper's: that Metropolis steps for every neuron apart are far slower, and that "
            "unconnected integrators can solve the static task.",
        ),
    ),
    "S2": About(
        "Capacity",
        "Accuracy against the number of resampled odours, far beyond those that exist, with Cover's limit.",
        (
            "Ours. The paper ends at 140 stimuli. With odours resampled from the real ones the number can rise until "
            "readouts fail; no linear readout of N neurons can hold more than about 2 N random assignments (Cover).",
        ),
    ),
    "S3": About(
        "Other input weights; argmax",
        "Accuracy of the learners with four forms of the input weights, by softmax and by argmax.",
        (
            "The form of the input weights hardly matters, and choosing the largest output instead of drawing from "
            "softmax makes the task easier for every model: the order of the learners stays as it is.",
        ),
    ),
    "S4": About(
        "Stability",
        "Accuracy of readouts at fixed thresholds over input gains, with the line where steps become unstable.",
        (
            "Ours. A step of fixed size overshoots where eta_W |x|^2 exceeds 2, so a threshold that makes the code "
            "sparse makes learning stable as well. The figure shows how much of the gain is that.",
        ),
    ),
    "S5": About(
        "Forgetting",
        "Accuracy on each of five groups of stimuli after each group was learned, for each learner.",
        ("Ours. Stimuli come in five groups, one after another: what is left of the first when the last is known?",),
    ),
    "S6": About(
        "Normalised",
        "Normalised without each of its parts, over its three numbers, and under conditions meant to break it.",
        (
            "Ours: a learner whose step is scaled to the activity, so that one episode's error shrinks by a fixed "
            "factor, and whose thresholds start at a percentile of each neuron's states. The figure takes it apart and "
            "looks for where it fails: many classes, few neurons, noise, long training.",
        ),
    ),
}  # fmt: skip

CHOICES = (
    ("Time step", "10 ms", "It follows from the paper's leak rate and spectral radius, and the authors' later code."),
    (
        "Target output y_true",
        "10 for the right class, 0 for the others",
        "Classes are drawn from softmax(y): with a target of 1 the best possible accuracy would be 0.73.",
    ),
    (
        "Rate of GD_W on sequences",
        f"eta_W = {ON_SEQUENCES['GradientWeights']['eta_w']:g} instead of {Learner.eta_w:g}",
        f"At {Learner.eta_w:g} it diverges there: the rate times the largest eigenvalue of mean(V V') was measured as "
        "4.6 to 5.6, and 2 is the limit (1.6 to 1.8 in the static task). The comparison is to favour the baseline, so "
        "its rate is halved again should it still diverge.",
    ),
    (
        "Form of W_in",
        "Neuron i has one weight X_i, lognormal with mean 1 and variance 0.5, on round(c / X_i) inputs, 6 on average",
        "Weights inversely proportional to the number of inputs. Figure S3 has three other forms.",
    ),
    (
        "Batches in reinforcement learning",
        f"As in the supervised tasks; for GD_W the best of {', '.join(map(str, BATCHES))}",
        "The comparison is to favour the baseline.",
    ),
    (
        "Prelearning of theta_g",
        f"{STARTS} walks of {STEPS:,} batches, started at the quantiles 0 to 0.95 of V; the end of the walk with the "
        "lowest average cost is the start",
        "The paper says that it starts over the range of V and takes about 10,000 steps. Weights and theta_i are "
        "forgotten after each Metropolis step.",
    ),
    (
        "Contexts of sequences",
        "Two new random stimuli, drawn anew for each perturbation",
        "The label must depend on perturbation and context together.",
    ),
    ("First weights", "W_out = 0", "Nothing is known at the start."),
)  # fmt: skip
