"""The JSON schema of experiment files: the settings of a trial, each a value or a list, and the keys of a sweep."""

from __future__ import annotations

from typing import Any

from kenyon.experiment.config import TrialConfig
from kenyon.experiment.presets import PRESETS

LISTS_OF_NAMES = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}


def experiment_schema() -> dict[str, Any]:
    """Return the schema, with which editors complete and check TOML files."""
    schema = TrialConfig.model_json_schema()
    for model in [schema, *schema["$defs"].values()]:
        model["required"] = []
        model["properties"] = {name: _or_list(part) for name, part in model.get("properties", {}).items()}
    schema["properties"].update(
        name={"type": "string", "description": "Of the experiment; by default the name of the file."},
        extends={"type": "string", "description": "Another experiment file, whose settings this one changes."},
        preset={"enum": list(PRESETS), "default": "static", "description": "The paper's settings to start from."},
        seeds={"type": "integer", "minimum": 1, "description": "Number of seeds, from 0."},
        zip={**LISTS_OF_NAMES, "description": "Names of lists that go together, instead of their product."},
        case={"type": "array", "items": {"type": "object"}, "description": "Settings for some of the trials."},
        label={"type": "string", "description": "Of a case."},
        tune={"type": "object", "description": "What `kenyon tune` searches."},
    )
    schema["$defs"]["OwnLearnerConfig"]["required"] = ["kind"]
    learners = schema["properties"]["learners"]
    learners.pop("minProperties", None)
    learner = learners["additionalProperties"]
    learner["anyOf"] = learner.pop("oneOf")  # a name can imply the kind
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Kenyon experiment"}


def _or_list(value: dict[str, Any]) -> dict[str, Any]:
    """Let a value be a list of such values; tables stay tables."""
    if "$ref" in value or "discriminator" in value or value.get("type") == "object" or "const" in value:
        return value
    notes: dict[str, Any] = {name: value[name] for name in ("description", "default", "title") if name in value}
    plain = {name: part for name, part in value.items() if name not in notes}
    return {**notes, "anyOf": [plain, {"type": "array", "items": plain, "minItems": 1}]}
