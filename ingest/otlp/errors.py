"""What can be wrong with a request. Each class knows its answer in HTTP and in gRPC, and whether a client
should try again (OTLP 1.11: only 429, 502, 503 and 504 are retried)."""

from __future__ import annotations

from grpc import StatusCode


class IngestError(Exception):
    """A request that is refused whole. The message is for the developer who sent it and says what to do."""

    status = 400
    grpc_code = StatusCode.INVALID_ARGUMENT
    reason = "bad_data"
    retry_after_s: int | None = None


class BadData(IngestError):
    """The body cannot be decoded. Sending it again will not help."""


class BodyTooLarge(IngestError):
    """The request is over the body limit, as sent or after decompression."""

    status, grpc_code, reason = 413, StatusCode.RESOURCE_EXHAUSTED, "too_large"


class UnsupportedType(IngestError):
    """The content type or content encoding is none that we read."""

    status, reason = 415, "unsupported_type"


class WrongMethod(IngestError):
    status, grpc_code, reason = 405, StatusCode.UNIMPLEMENTED, "wrong_method"


class NotFound(IngestError):
    status, grpc_code, reason = 404, StatusCode.UNIMPLEMENTED, "not_found"


class NoKey(IngestError):
    """No ingest key, or one that is unknown or revoked."""

    status, grpc_code, reason = 401, StatusCode.UNAUTHENTICATED, "no_key"


class Forbidden(IngestError):
    """The request comes from or is addressed to a host that is not ours."""

    status, grpc_code, reason = 403, StatusCode.PERMISSION_DENIED, "forbidden"


class Overloaded(IngestError):
    """More waits to be stored than may wait. The client keeps its data and sends it again."""

    status, grpc_code, reason, retry_after_s = 503, StatusCode.UNAVAILABLE, "overloaded", 1


class StoreUnavailable(IngestError):
    """The database did not take the data. Nothing was acknowledged; the client sends it again."""

    status, grpc_code, reason, retry_after_s = 503, StatusCode.UNAVAILABLE, "store_unavailable", 2
