"""What can be wrong with a request. Each class knows its answer in HTTP and in gRPC, and whether a client
should try again (OTLP 1.11: only 429, 502, 503 and 504 are retried)."""

from __future__ import annotations

import random
from enum import IntEnum


class GrpcCode(IntEnum):
    """gRPC's codes as far as we answer with them. Its own enum comes with a library of 8 MB, which only the process
    that speaks gRPC needs."""

    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


class IngestError(Exception):
    """A request that is refused whole. The message is for the developer who sent it and says what to do.

    ``retry_after_s`` tells when to come back; ``closes`` says that the rest of the body is not going to be read.
    """

    status = 400
    grpc_code = GrpcCode.INVALID_ARGUMENT
    reason = "bad_data"
    retry_after_s: int | None = None
    closes = False

    def __init__(self, message: str, retry_after_s: float | None = None, *, closes: bool = False) -> None:
        super().__init__(message)
        after_s = self.retry_after_s if retry_after_s is None else retry_after_s
        self.retry_after_s = None if after_s is None else jittered(after_s)
        if closes:
            self.closes = True


def jittered(seconds: float) -> int:
    """Whole seconds from 1 up, up to half as many more: clients that were refused together come back apart."""
    return max(1, round(seconds * random.uniform(1.0, 1.5)))


class BadData(IngestError):
    """The body cannot be decoded. Sending it again will not help."""


class BodyTooLarge(IngestError):
    """The request is over the body limit, as sent or after decompression."""

    status, grpc_code, reason = 413, GrpcCode.RESOURCE_EXHAUSTED, "too_large"


class TooSlow(IngestError):
    """The body came so slowly, or stopped coming, that nobody waits for the rest of it."""

    status, grpc_code, reason = 408, GrpcCode.DEADLINE_EXCEEDED, "too_slow"
    closes = True


class UnsupportedType(IngestError):
    """The content type or content encoding is none that we read."""

    status, reason = 415, "unsupported_type"


class WrongMethod(IngestError):
    status, grpc_code, reason = 405, GrpcCode.UNIMPLEMENTED, "wrong_method"


class NotFound(IngestError):
    status, grpc_code, reason = 404, GrpcCode.UNIMPLEMENTED, "not_found"


class NoKey(IngestError):
    """No ingest key, or one that is unknown or revoked."""

    status, grpc_code, reason = 401, GrpcCode.UNAUTHENTICATED, "no_key"


class Forbidden(IngestError):
    """The request comes from or is addressed to a host that is not ours."""

    status, grpc_code, reason = 403, GrpcCode.PERMISSION_DENIED, "forbidden"


class Overloaded(IngestError):
    """More waits to be stored than may wait. The client keeps its data and sends it again."""

    status, grpc_code, reason, retry_after_s = 503, GrpcCode.UNAVAILABLE, "overloaded", 1


class OverLimit(IngestError):
    """The project has sent more than it may. Sent again after a while it is taken."""

    status, grpc_code, reason, retry_after_s = 429, GrpcCode.RESOURCE_EXHAUSTED, "over_limit", 1


class Behind(IngestError):
    """So much is stored and not decomposed yet that more would only wait. The client keeps its data."""

    status, grpc_code, reason, retry_after_s = 503, GrpcCode.UNAVAILABLE, "behind", 5


class NoRoom(IngestError):
    """There is no disk space for more, or soon none for PostgreSQL itself. The client keeps its data."""

    status, grpc_code, reason, retry_after_s = 503, GrpcCode.UNAVAILABLE, "no_room", 20


class StoreUnavailable(IngestError):
    """The database did not take the data. Nothing was acknowledged; the client sends it again."""

    status, grpc_code, reason, retry_after_s = 503, GrpcCode.UNAVAILABLE, "store_unavailable", 2
