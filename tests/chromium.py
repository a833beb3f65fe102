"""Where a Chromium is, for what looks at pages as a browser shows them."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium_path() -> str | None:
    """The one that CHROMIUM names, else the first on the PATH; None where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
