"""What a page's line heads mean: which metrics of which model and core, and which part of a histogram."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ingest.engines.exposition import Head, number
from ingest.engines.kinds import NAMES, Kind, Named
from ingest.engines.layout import Key
from ingest.engines.names import METRICS, Type

MODEL_LABELS = ("model_name", "model", "gen_ai.response.model", "gen_ai.request.model")
ENGINE_LABELS = ("engine", "dp_rank")
REPLICA_LABELS = ("tp_rank", "pp_rank")  # each tells the same of the same requests; the first speaks for all
PARTS_OF_HISTOGRAM = ("_bucket", "_sum", "_count")

Target = tuple[Key, str, float, float]  # key, part of the histogram, bound, scale


def mapped(
    kind: Kind, heads: Sequence[tuple[bytes, Head]]
) -> tuple[dict[bytes, list[Target]], dict[Key, float], dict[Key, set[float]]]:
    named = _chosen(kind, {head.name for _, head in heads})
    found: dict[bytes, list[Target]] = defaultdict(list)
    constants: dict[Key, float] = {}
    bounds: dict[Key, set[float]] = defaultdict(set)
    for line, head in heads:
        for suffix, entry in named.get(head.name, ()):
            labels = dict(head.labels)
            if any(labels.get(name) != value for name, value in entry.where):
                continue
            if any(labels.get(name, "0") != "0" for name in REPLICA_LABELS):
                continue
            key = _key(entry, labels)
            if entry.value_label is not None:
                if (constant := _constant(labels.get(entry.value_label))) is not None:
                    constants[key] = constant
                continue
            bound = math.inf
            if suffix == "_bucket":
                bound = number(labels.get("le", "").encode()) * entry.scale
                bounds[key].add(bound)
            found[line].append((key, suffix, bound, entry.scale))
    return dict(found), constants, bounds


def _chosen(kind: Kind, names: set[str]) -> Mapping[str, list[tuple[str, Named]]]:
    """By a sample's name: what it is a part of, and the entry; of names for one metric the first that is there."""
    chosen: dict[str, list[tuple[str, Named]]] = defaultdict(list)
    taken: dict[str, str] = {}
    for entry in NAMES[kind]:
        present = _present(entry, names)
        if present and taken.setdefault(entry.metric, entry.name) == entry.name:
            for name, suffix in present:
                chosen[name].append((suffix, entry))
    return chosen


def _present(entry: Named, names: set[str]) -> list[tuple[str, str]]:
    kind = METRICS[entry.metric].type
    if kind is Type.HISTOGRAM:
        return [(entry.name + suffix, suffix) for suffix in PARTS_OF_HISTOGRAM if entry.name + suffix in names]
    if kind is Type.COUNTER and entry.name + "_total" in names:
        return [(entry.name + "_total", "")]
    return [(entry.name, "")] if entry.name in names else []


def _key(entry: Named, labels: Mapping[str, str]) -> Key:
    return Key(
        metric=entry.metric,
        model=next((labels[name] for name in MODEL_LABELS if labels.get(name)), None),
        engine=next((labels[name] for name in ENGINE_LABELS if labels.get(name)), None),
        part=labels.get(entry.part) if entry.part else None,
    )


def keys(found: Mapping[bytes, Sequence[Target]], constants: Mapping[Key, float]) -> set[Key]:
    return {key for targets in found.values() for key, _, _, _ in targets} | set(constants)


def _constant(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
