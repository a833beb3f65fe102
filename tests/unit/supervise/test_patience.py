"""Workers whose broker is lost at a bad moment."""

import logging
import subprocess
import sys

import pytest
from celery import Celery
from kombu.utils.imports import symbol_by_name

from dashboard.patience import PatientConsumer

HANGS = """
import time
from dashboard.patience import end_for_good

class Worker:
    def stop(self, in_sighandler=False, exitcode=None):
        print("stopping", exitcode, flush=True)
        time.sleep(60 if exitcode else 0)

worker = Worker()
end_for_good(worker, 0.1)
worker.stop(exitcode=0)
worker.stop(exitcode=70)
"""


class Lost:
    """A connection as kombu leaves it whose broker died while it polled."""

    recoverable_connection_errors = connection_errors = channel_errors = (ConnectionError,)

    def collect(self, socket_timeout: float) -> None:
        raise ConnectionError("the broker is gone")

    def close(self) -> None:
        raise AttributeError("'NoneType' object has no attribute 'hostname'")


def test_a_connection_that_cannot_be_closed_does_not_end_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    consumer = object.__new__(PatientConsumer)
    consumer.app, consumer.connection = Celery("test", set_as_current=False), Lost()
    with caplog.at_level(logging.WARNING):
        consumer.on_connection_error_after_connected(ConnectionError("Connection closed by server."))
    assert consumer.connection is None
    assert "was not closed in order" in caplog.text


def test_the_worker_of_the_product_is_patient() -> None:
    from dashboard.celery import app

    assert symbol_by_name(app.conf.worker_consumer) is PatientConsumer


def test_a_worker_that_hangs_while_it_ends_by_an_error_is_gone_soon() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout.split()) == (70, ["stopping", "0", "stopping", "70"])
