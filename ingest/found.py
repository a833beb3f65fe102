"""What a pass finds: a claimed trace, and what its decomposition and its neighbours say."""

from __future__ import annotations

from dataclasses import dataclass, field

from ingest import basis
from ingest.joining import Offer
from ingest.leases import Claim
from ingest.log_chunks import spans_with_events
from ingest.spans import Span
from ingest.stages.model import Decomposition, Run

Body = tuple[int, bytes]  # a chunk: its signal, and its content compressed


@dataclass(slots=True, kw_only=True)
class Found:
    """A claimed trace and what it holds. ``offers`` are its engine spans that stand alone, by span id; those in
    ``served`` belong to calls elsewhere; ``taken`` are offers of other traces that its own calls have claimed, and
    ``engine_spans`` what these tell. ``answers`` are what its calls of unknown split may be estimated by.

    ``kept`` are its spans where it is foreseen that they are needed again. Keeping those of a whole pass makes reading
    and decomposing a quarter dearer: nothing would be left in the caches."""

    claim: Claim
    bodies: list[Body]
    decomposition: Decomposition
    kept: list[Span] | None = None
    offers: dict[str, Offer]
    served: set[str] = field(default_factory=set)
    taken: list[Offer] = field(default_factory=list)
    engine_spans: list[Span] = field(default_factory=list)
    answers: basis.Answers = field(default_factory=dict)

    @property
    def spans(self) -> list[Span]:
        return spans_with_events(self.bodies, self.claim.trace_id.hex()) if self.kept is None else self.kept

    @property
    def runs(self) -> list[Run]:
        return [run for run in self.decomposition.runs if run.root_span_id not in self.served]
