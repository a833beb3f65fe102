import json

from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
OpenAIInstrumentor().instrument()

tracer = trace.get_tracer("shop")
client = OpenAI()


def look_up_order(number: int) -> str:
    return f"Order {number} is on its way."


LOOK_UP_ORDER = {
    "type": "function",
    "function": {
        "name": "look_up_order",
        "description": "Find an order by its number.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    },
}


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
            tool = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": asked.function.name,
                "gen_ai.tool.call.id": asked.id,
            }
            with tracer.start_as_current_span(f"execute_tool {asked.function.name}", attributes=tool):
                result = look_up_order(**json.loads(asked.function.arguments))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": result})


agent = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "support",
    "gen_ai.conversation.id": "conv-1",
}
with tracer.start_as_current_span("invoke_agent support", attributes=agent):
    print(support("Where is order 7?"))
provider.shutdown()
