"""No change of what is read goes unnoticed: the captures' figures stand beside the number of the algorithm."""

from __future__ import annotations

from pathlib import Path

from ingest.stages import ALGORITHM, decompose
from tests.captures import read_json
from tests.tools.algorithm import FILE, changed, digest_of, digests, write
from tests.unit.stages.drawing import draw

TELL = (
    "The same spans give other figures than before. If that is meant, run `python -m tests.tools.algorithm` and commit "
    "tests/data/algorithm.json with the change; it says when ALGORITHM must be raised. CONTRIBUTING.md tells why."
)


def test_the_captures_figures_are_those_of_the_algorithms_number() -> None:
    kept = read_json(FILE)
    now = digests()
    assert changed(kept, now) == [], TELL
    assert now.keys() == kept["figures"].keys(), "there are new captures: run `python -m tests.tools.algorithm`"
    assert kept["algorithm"] == ALGORITHM, "ALGORITHM was raised: run `python -m tests.tools.algorithm`"
    assert kept["released"] <= ALGORITHM


def test_a_released_number_keeps_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "algorithm.json"
    assert write(file, {"a": "1"}, 1, release=False) == ""
    assert write(file, {"a": "2"}, 1, release=True) == "", "before its release a number may change what it means"
    assert "raise ALGORITHM" in write(file, {"a": "3"}, 1, release=False)
    assert read_json(file) == {"algorithm": 1, "released": 1, "figures": {"a": "2"}}
    assert write(file, {"a": "2", "b": "1"}, 1, release=False) == "", "a new capture changes nothing"
    assert write(file, {"a": "3", "b": "1"}, 2, release=False) == ""
    assert write(file, {"a": "4", "b": "1"}, 2, release=False) == ""
    assert read_json(file)["released"] == 1


def test_figures_and_codes_count_and_wording_does_not() -> None:
    def digest(text: str) -> str:
        return digest_of({"": decompose(draw(text))})

    one = digest("chat 0 100 call stream=yes first=99")
    assert digest("chat 0 100 call stream=yes first=99") == one
    assert digest("chat 0 100 call stream=yes first=98") == one, "not believed either: only the wording differs"
    assert digest("chat 0 100 call stream=yes first=40") != one
    assert digest("chat 0 100 call stream=yes") != one, "no warning"
