"""A simulated inference engine: the OpenAI API in, tokens at a stated cost out, with the spans and the
`/metrics` page of vLLM or of SGLang.

    core/     steps, costs, KV memory: plain Python, seeded, time passed in
    pump      the core in real time
    app       OpenAI's API around it, with template, wire and playbook
    answers   what of an answer is sent when, by a tool parser that may hold text back
    telling/  spans and pages in the engines' own words

No model runs here. What a request costs follows `CostModel`; what is answered follows a `Playbook`, or is
improvised. All that it sends carries ``sixstage.simulated`` on its resource. Knows nothing of agents.
"""

from agents.engine.app import SimulatedEngine
from agents.engine.core import CostModel, EventLog
from agents.engine.playbook import Playbook, Refusal, Reply, call
from agents.engine.server import serve
from agents.engine.telling import SGLANG, VLLM

__all__ = [
    "SGLANG",
    "VLLM",
    "CostModel",
    "EventLog",
    "Playbook",
    "Refusal",
    "Reply",
    "SimulatedEngine",
    "call",
    "serve",
]
