"""`python -m dashboard.embedded.await_database DATA_DIR`: ends once the embedded PostgreSQL there takes connections
(after a crash it replays its log) and has our database, which is made the first time."""

import os
import sys
import time

import psycopg

from dashboard.embedded.places import DATABASE, ROLE, Places

PAUSE_S = 0.03


def await_database(places: Places) -> None:
    """Asks as long as whoever started it lives, which knows when to give up."""
    asked_by = os.getppid()
    while True:
        try:
            connection = psycopg.connect(host=str(places.run), user=ROLE, dbname="postgres", autocommit=True)
            break
        except psycopg.OperationalError:
            if os.getppid() != asked_by:
                raise
            time.sleep(PAUSE_S)
    with connection:
        if connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).rowcount == 0:
            connection.execute(f"CREATE DATABASE {DATABASE}")


if __name__ == "__main__":
    await_database(Places.of(sys.argv[1]))
