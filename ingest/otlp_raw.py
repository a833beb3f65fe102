"""OTLP's trace messages with attributes, status, resource and scope left as bytes.

On the wire a message and a byte string look the same, so that the same chunk can be read either way. Reading each
attribute as a message of messages costs three Python objects; most of them are the same bytes span after span and
can be looked up whole (``ingest/attributes.py``).
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_COMMON = ".opentelemetry.proto.common.v1"
_AS_BYTES = (
    f"{_COMMON}.KeyValue",
    f"{_COMMON}.InstrumentationScope",
    ".opentelemetry.proto.resource.v1.Resource",
    ".opentelemetry.proto.trace.v1.Status",
)


def _traces_data() -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in (common_pb2, resource_pb2, trace_pb2):
        proto = descriptor_pb2.FileDescriptorProto()
        file.DESCRIPTOR.CopyToProto(proto)
        if file is trace_pb2:
            for message in proto.message_type:
                _leave_as_bytes(message)
        pool.Add(proto)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("opentelemetry.proto.trace.v1.TracesData"))


def _leave_as_bytes(message: descriptor_pb2.DescriptorProto) -> None:
    for nested in message.nested_type:
        _leave_as_bytes(nested)
    for field in message.field:
        if field.type_name in _AS_BYTES:
            field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")


TracesData = _traces_data()
