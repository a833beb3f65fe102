import json

from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIInstrumentor().instrument(tracer_provider=provider)

tracer = provider.get_tracer("shop")
client = OpenAI()


@tracer.tool
def look_up_order(number: int) -> str:
    """Find an order by its number."""
    return f"Order {number} is on its way."


LOOK_UP_ORDER = {
    "type": "function",
    "function": {
        "name": "look_up_order",
        "description": "Find an order by its number.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    },
}


@tracer.agent
def support(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    while True:
        whole = ChatCompletionStreamState()
        for chunk in client.chat.completions.create(
            model="sim-70b",
            messages=messages,
            tools=[LOOK_UP_ORDER],
            stream=True,
            stream_options={"include_usage": True},
        ):
            whole.handle_chunk(chunk)
        answer = whole.get_final_completion().choices[0].message
        if not answer.tool_calls:
            return answer.content
        messages.append({"role": "assistant", "tool_calls": [asked.to_dict() for asked in answer.tool_calls]})
        for asked in answer.tool_calls:
            result = look_up_order(**json.loads(asked.function.arguments))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": result})


with using_session("conv-1"):
    print(support("Where is order 7?"))
provider.shutdown()
