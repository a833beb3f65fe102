"""A simulated inference engine: the OpenAI API in, tokens at a stated cost and vLLM-like spans out.

No model runs here. What a request costs follows `CostModel`; what is answered follows a `Playbook`, or is
improvised. All that it sends carries ``sixstage.simulated`` on its resource. Knows nothing of agents.
"""

from agents.engine.app import SimulatedEngine
from agents.engine.costs import CostModel
from agents.engine.playbook import Playbook, Refusal, Reply, call
from agents.engine.server import serve

__all__ = ["CostModel", "Playbook", "Refusal", "Reply", "SimulatedEngine", "call", "serve"]
