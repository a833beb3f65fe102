"""Everything that `make up` writes: one line at a time, each with the name of who said it."""

import os
import sys
from typing import TextIO

COLOURS = {"web": 36, "receiver": 34, "worker": 32, "migrate": 33, "postgres": 90, "valkey": 90}
WIDTH = 8


class Console:
    """Writes prefixed lines; coloured only for a terminal that has not asked otherwise."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._colour = self._stream.isatty() and "NO_COLOR" not in os.environ
        self._gone = False

    def line(self, name: str, text: str) -> None:
        """One line of a child."""
        prefix = f"{name:<{WIDTH}} |"
        if self._colour:
            prefix = f"\x1b[{COLOURS.get(name, 37)}m{prefix}\x1b[0m"
        self.write(f"{prefix} {text}\n")

    def say(self, text: str) -> None:
        """One line of our own."""
        self.line("sixstage", f"\x1b[1m{text}\x1b[0m" if self._colour else text)

    def write(self, text: str) -> None:
        if self._gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._gone = True  # nobody reads any more (a closed terminal): that is no reason to stop serving
