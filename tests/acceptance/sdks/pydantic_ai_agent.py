import asyncio

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent, InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))

support = Agent(OpenAIChatModel("sim-70b"), name="support")


@support.tool_plain
def look_up_order(number: int) -> str:
    """Find an order by its number."""
    return f"Order {number} is on its way."


async def main() -> None:
    async with support.run_stream("Where is order 7?", conversation_id="conv-1") as answer:
        print(await answer.get_output())


asyncio.run(main())
provider.shutdown()
