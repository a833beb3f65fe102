"""OTLP's trace messages with parts of them left as bytes.

On the wire a message and a byte string look the same, so that the same request can be read either way. The receiver
takes spans over as they are; the worker leaves what most spans repeat (attributes, status, resource, scope) as bytes,
which can be looked up whole: reading an attribute as a message costs three Python objects.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_Field = descriptor_pb2.FieldDescriptorProto
_AS_BYTES = (
    ".opentelemetry.proto.common.v1.KeyValue",
    ".opentelemetry.proto.common.v1.InstrumentationScope",
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
            field.type = _Field.TYPE_BYTES
            field.ClearField("type_name")


def _slices() -> Any:
    """A class for TracesData and LogsData alike, whose fields have the same numbers; items are bytes."""
    a_bytes, a_text, a_message = _Field.TYPE_BYTES, _Field.TYPE_STRING, _Field.TYPE_MESSAGE
    file = descriptor_pb2.FileDescriptorProto(name="slices.proto", package="sixstage", syntax="proto3")
    scope = file.message_type.add(name="ScopeSlice")
    scope.field.add(name="scope", number=1, type=a_bytes, label=_Field.LABEL_OPTIONAL)
    scope.field.add(name="items", number=2, type=a_bytes, label=_Field.LABEL_REPEATED)
    one = file.message_type.add(name="Slice")
    one.field.add(name="resource", number=1, type=a_bytes, label=_Field.LABEL_OPTIONAL)
    one.field.add(
        name="scopes", number=2, type=a_message, type_name=".sixstage.ScopeSlice", label=_Field.LABEL_REPEATED
    )
    one.field.add(name="schema_url", number=3, type=a_text, label=_Field.LABEL_OPTIONAL)
    whole = file.message_type.add(name="Slices")
    whole.field.add(
        name="resources", number=1, type=a_message, type_name=".sixstage.Slice", label=_Field.LABEL_REPEATED
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("sixstage.Slices"))


TracesData, Slices = _traces_data(), _slices()
