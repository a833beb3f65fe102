"""How parallel workers share the tests."""

from xdist.scheduler import LoadFileScheduling

SHARING = ("tests/acceptance/", "tests/browser/")
ALONE = ("tests/acceptance/test_durability.py",)


class FilesAndInstance(LoadFileScheduling):
    """File by file, but for the files whose tests share one running instance: they are one piece of work."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "instance" if file.startswith(SHARING) and file not in ALONE else file
