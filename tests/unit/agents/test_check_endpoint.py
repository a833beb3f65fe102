"""The check of an endpoint, on the simulated engine and on none."""

import httpx

from agents.check_endpoint import findings
from agents.engine import Refusal, Reply, call
from tests.unit.agents.rig import Rig


async def test_the_simulated_engine_passes_it(rig: Rig) -> None:
    found = {each.what: each async for each in findings(rig.url, rig.http, rig.telemetry)}

    assert [each.what for each in found.values() if not each.ok] == []
    assert found["models"].told == "sim-70b"
    assert found["/metrics"].told.endswith("families of vllm")
    assert not found["cached tokens"].told.startswith("0")


async def test_an_endpoint_that_fails_is_told_and_one_that_is_away_too(rig: Rig) -> None:
    rig.playbook.plan("Where is order 7?", Reply(calls=[call("x")], refusal=Refusal(status=503)))
    failing = {each.what: each async for each in findings(rig.url, rig.http, rig.telemetry)}
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(404))) as nobody:
        away = [each async for each in findings(rig.url, nobody, rig.telemetry)]

    assert (failing["chat"].ok, failing["chat"].needed) == (False, True)
    assert "503" in failing["chat"].told
    assert [(each.what, each.ok) for each in away] == [("models", False)]
