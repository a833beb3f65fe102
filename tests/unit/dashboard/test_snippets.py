"""What the start page gives to copy: the collector's file by its own rules, and shell lines as a shell and the
SDKs read them. (The Python ones are run whole by the acceptance tests.)"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry.util.re import parse_env_headers

from dashboard.snippets import snippets

HTTP, GRPC, SECRET = "http://127.0.0.1:4318", "http://127.0.0.1:4317", "sxi_ab.c-d_e"
PAGE = (Path(__file__).parents[3] / "docs" / "send-data.md").read_text()
# Keys that the collector knows at these places; it refuses a file with any other.
SERVER = {"endpoint", "tls", "auth", "max_recv_msg_size_mib", "cors", "include_metadata"}
BATCH = {"timeout", "send_batch_size", "send_batch_max_size", "metadata_keys", "metadata_cardinality_limit"}
EXPORTER = {
    "endpoint", "headers", "compression", "encoding", "timeout", "tls", "auth", "retry_on_failure", "sending_queue",
    "traces_endpoint", "metrics_endpoint", "logs_endpoint",
}  # fmt: skip


def text_of(key: str, secret: str | None) -> str:
    [found] = [one.text for one in snippets(HTTP, GRPC, secret) if one.key == key]
    return found


@pytest.mark.parametrize("secret", [None, SECRET])
def test_the_collector_s_file_holds_only_what_a_collector_knows(secret: str | None) -> None:
    config: dict[str, Any] = yaml.safe_load(text_of("collector", secret))
    assert set(config) == {"receivers", "processors", "exporters", "service"}
    [(receiver, received)] = config["receivers"].items()
    assert receiver == "otlp"
    assert set(received) == {"protocols"}
    assert set(received["protocols"]) == {"grpc", "http"}
    for server in received["protocols"].values():
        assert set(server) <= SERVER
        assert server["endpoint"] not in (HTTP.removeprefix("http://"), GRPC.removeprefix("http://"))  # these are ours
    [(processor, batch)] = config["processors"].items()
    assert processor == "batch"
    assert set(batch) <= BATCH
    [(exporter, sent)] = config["exporters"].items()
    assert exporter.partition("/")[0] == "otlphttp"
    assert set(sent) <= EXPORTER
    assert sent["endpoint"] == HTTP  # it adds the path of each signal by itself
    assert sent.get("headers") == ({"authorization": f"Bearer {secret}"} if secret else None)
    assert set(config["service"]) == {"pipelines"}
    pipeline = {"receivers": [receiver], "processors": [processor], "exporters": [exporter]}
    assert config["service"]["pipelines"] == {"traces": pipeline, "metrics": pipeline, "logs": pipeline}


def test_the_documented_collector_is_the_one_of_the_start_page() -> None:
    [documented] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert yaml.safe_load(documented) == yaml.safe_load(text_of("collector", None))


@pytest.mark.parametrize("secret", [None, SECRET])
def test_a_shell_and_an_sdk_read_the_environment(secret: str | None) -> None:
    shell = text_of("environment", secret) + "env -0"
    told = subprocess.run(
        ["bash", "-euc", shell], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    environment = dict(line.split("=", 1) for line in told.stdout.split("\0") if line.startswith("OTEL_"))
    headers = environment.pop("OTEL_EXPORTER_OTLP_HEADERS", "")
    assert environment == {
        "OTEL_SERVICE_NAME": "my-agent", "OTEL_EXPORTER_OTLP_ENDPOINT": HTTP,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    }  # fmt: skip
    assert parse_env_headers(headers, liberal=True) == ({"authorization": f"Bearer {secret}"} if secret else {})


@pytest.mark.parametrize("secret", [None, SECRET])
def test_vllm_s_line_sends_to_grpc(secret: str | None) -> None:
    words = shlex.split(text_of("vllm", secret))
    command = words[words.index("vllm") :]
    assert command == ["vllm", "serve", "MODEL", "--otlp-traces-endpoint", GRPC]
    settings = dict(word.split("=", 1) for word in words[: -len(command)])
    assert settings.pop("OTEL_SERVICE_NAME") == "vllm-0"
    headers = parse_env_headers(settings.pop("OTEL_EXPORTER_OTLP_HEADERS", ""), liberal=True)
    assert headers == ({"authorization": f"Bearer {secret}"} if secret else {})
    assert not settings
