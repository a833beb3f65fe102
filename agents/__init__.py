"""Agents that tell where their seconds go, and an engine to run them on without a GPU.

Stands alone: knows OpenTelemetry, httpx and uvicorn, and reaches Sixstage only as any other agent would, by
OTLP. Knows nothing of ``ingest``, ``dashboard``, Django, PostgreSQL or Redis; a test and an import contract
see to it.

    telemetry/  spans in the OTel GenAI conventions, sent in batches, never in the agent's way
    tools       typed functions as tools: schema from the signature, arguments checked against it
    chat        one streaming call to any OpenAI-compatible endpoint
    loop        the reference agent: call the model, run the tools it asked for, repeat
    mcp/        tools of MCP servers, by the optional package `mcp`
    techniques/ semantic cache, bounded tools, inference pool: each alone, each can be left out
    engine/     a simulated inference engine: OpenAI API in, tokens and vLLM-like spans out
    demo/       ``python -m agents.demo``: a lively simulated workload for a running Sixstage
"""
