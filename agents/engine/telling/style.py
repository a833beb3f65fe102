"""Which engine a simulated one is like: its page, its span, its version."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agents.engine.core import KvMemory, PagedMemory, RadixMemory, Scheduler
from agents.engine.telling.sglang_page import SglangPage
from agents.engine.telling.spans import TellSpan, tell_sglang, tell_vllm
from agents.engine.telling.vllm_page import VllmPage


class Page(Protocol):
    content_type: str

    def text(self) -> bytes: ...

    def parsed(self, streamed: bool, tool_call: bool) -> None: ...

    def http(self, handler: str, method: str, status: int, request_bytes: int, lasted_s: float) -> None: ...


@dataclass(frozen=True)
class Style:
    name: str
    version: str
    memory: Callable[[int], KvMemory]
    """Of so many tokens."""
    page: Callable[[str, Scheduler], Page]
    tell: TellSpan
    id_prefix: str
    """Of a response's id."""
    resource: Mapping[str, str] = field(default_factory=dict)
    """What its spans say of the process besides, to be given to `Telemetry`."""


_VLLM_PROCESS = {"vllm.instrumenting_module_name": "vllm.llm_engine", "vllm.process_id": str(os.getpid())}
VLLM = Style("vllm", "0.32.0", PagedMemory, VllmPage, tell_vllm, "chatcmpl-", _VLLM_PROCESS)
SGLANG = Style("sglang", "0.5.23", RadixMemory, SglangPage, tell_sglang, "")
STYLES = {style.name: style for style in (VLLM, SGLANG)}
