"""The reader of pages says what prometheus_client's parser says, and refuses what is no page."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ingest.engines.exposition import Heads, NotExposition, samples
from tests.unit.engines.recorded import every_page


@pytest.mark.parametrize("path", every_page(), ids=lambda path: path.stem)
def test_it_reads_every_capture_as_the_library_does(path: Path) -> None:
    text = path.read_text()
    expected = [
        (one.name, one.labels, one.value) for family in text_string_to_metric_families(text) for one in family.samples
    ]
    assert [(head.name, dict(head.labels), value) for head, value in samples(text.encode())] == expected


ODD = r"""
# HELP odd What "people" do to labels \\ and \n lines
# TYPE odd gauge
odd{a="x y",b="\"quoted\"",c="back\\slash",d="new\nline",e="brace } and { inside",f="a,b=\"c\""} 1.5
odd{a="hash # inside"} 2
odd{ a = "spaces" , b = "trailing comma", } 3
odd 4
odd{a="timed"} 5 1795974363000
   odd{a="indented"}	6
odd{a="µ €"} 7e-3
odd{a=""} NaN
odd{} 8
"""


def test_it_reads_odd_lines_as_the_library_does() -> None:
    expected = [(one.labels, repr(float(one.value))) for f in text_string_to_metric_families(ODD) for one in f.samples]
    assert [(dict(head.labels), repr(value)) for head, value in samples(ODD.encode())] == expected


def test_a_line_of_openmetrics_with_an_exemplar_is_read() -> None:
    line = b'ttft_bucket{le="0.1"} 17 # {trace_id="abc"} 0.05 1795974363.1\n'
    ((head, value),) = samples(line)
    assert (head.name, head.label("le"), value) == ("ttft_bucket", "0.1", 17)


@pytest.mark.parametrize(
    "line",
    ["<!doctype html>", "a", "a b", 'a{b="c} 1', "a{b=c} 1", 'a{b="c"} one', 'a{b="c"} 1_0', '{"json": 1}', "a-b 1"],
)
def test_what_is_no_sample_is_refused(line: str) -> None:
    with pytest.raises(NotExposition):
        samples(line.encode() + b"\n")


def test_labels_without_end_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.engines.exposition.MOST_HEADS", 10)
    heads = Heads()
    for number in range(100):
        samples(f'a{{id="{number}"}} 1\n'.encode(), heads)
    assert len(heads.known) <= 10
