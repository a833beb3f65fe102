"""Row 12: `make chaos` kills processes under load and counts; here it is only pointed at."""

from benchmarks.report import Result


def measure_kills() -> Result:
    return Result(rows=[], facts={"row 12": "run make chaos"}, faults=[], read_back=False)
