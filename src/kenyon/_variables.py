"""What the variables of a result are called, and their units: attributes that xarray and netCDF programs show.

As in the CF conventions, the unit of shares and of other numbers without a dimension is "1". Names and numbers that
merely tell things apart, such as seeds, have no unit: theirs is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import xarray as xr


class About(NamedTuple):
    """What is said of a variable."""

    long_name: str
    units: str


UNITS = {  # known of each neuron, and of its second unit with the code "on_off"
    "theta": About("threshold θ", "1"),
    "activity": About("share of episodes in which active", "1"),
    "specificity": About("specificity", "1"),
    "specificity_summed": About("specificity of summed activity", "1"),
}
CODES = {  # known of the start too
    "coding_level": About("share of active neurons", "1"),
    "norm2": About("mean squared length of x", "1"),
    "theta_mean": About("mean threshold", "1"),
    "theta_sd": About("standard deviation of thresholds", "1"),
    "theta_active_mean": About("mean threshold of neurons that are ever active", "1"),
    "theta_active_sd": About("standard deviation of thresholds of neurons that are ever active", "1"),
    "specificity_permuted": About("specificity by chance", "1"),
    "relative_specificity": About("specificity relative to activity", "1"),
    "relative_specificity_permuted": About("specificity relative to activity, by chance", "1"),
    "overlap": About("overlap of the classes' codes", "1"),
    "overlap_permuted": About("overlap of the classes' codes, by chance", "1"),
    **UNITS,
    **{f"{name}_off": About(f"{about.long_name}, of units below a threshold", "1") for name, about in UNITS.items()},
}
VARIABLES = {
    "training_accuracy": About("accuracy while learning", "1"),
    "accuracy": About("accuracy on fresh noise", "1"),
    "expected_accuracy": About("expected accuracy on fresh noise", "1"),
    "argmax_accuracy": About("accuracy of the largest output on fresh noise", "1"),
    **CODES,
    **{f"start_{name}": About(f"{about.long_name}, at the start", about.units) for name, about in CODES.items()},
    "training_theta_g": About("global threshold while learning", "1"),
    "training_theta_local_mean": About("mean local threshold while learning", "1"),
    "training_theta_local_sd": About("standard deviation of local thresholds while learning", "1"),
    "position_accuracy": About("accuracy by perturbed position", "1"),
    "context_accuracy": About("accuracy in own and new contexts", "1"),
    "theta_falls": About("share of thresholds that fall where the right class is favoured", "1"),
    "theta_rises": About("share of thresholds that rise where another class is favoured", "1"),
    "acceptance": About("share of proposals kept", "1"),
    "diverged_at": About("time of divergence", "episodes"),
    "group_accuracy": About("accuracy on a group on fresh noise", "1"),
    "eta_w": About("learning rate of the weights", "1"),
    "example_state": About("state V at the decision", "1"),
    "example_label": About("class of an example", ""),
    "example_name": About("stimuli of an example", ""),
    "trace_input": About("input s of the first example", "1"),
    "trace_state": About("state V in the first example", "1"),
    "learner": About("learner", ""),
    "episode": About("learning time", "episodes"),
    "size": About("number of stimuli or sequences", "1"),
    "seed": About("seed", ""),
    "stage": About("last group learned", ""),
    "group": About("group", ""),
    "position": About("perturbed position", ""),
    "context": About("context: own (0) or new (1)", ""),
    "neuron": About("neuron", ""),
    "steps": About("duration of a stimulus", "steps"),
}


def about(name: str) -> About:
    """Return what is said of a variable; of settings not in the table, their names in words."""
    words = name.replace("_", " ")
    words = f"number of {words[2:]}" if words.startswith("n ") else words
    return VARIABLES.get(name, About(words, "1"))


def label(name: str) -> str:
    """Return the label of an axis."""
    long_name, units = about(name)
    return f"{long_name} ({units})" if units not in ("", "1") else long_name


def describe(result: xr.Dataset) -> xr.Dataset:
    """Give every variable of a Dataset its attributes, in place, and return the Dataset."""
    for name, variable in result.variables.items():
        long_name, units = about(str(name))
        variable.attrs.update(long_name=long_name, units=units if variable.dtype.kind in "fiu" else "")
    return result
