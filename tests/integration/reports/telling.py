"""Looks up what a sentence rests on, by the API alone."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import Client

from dashboard.reports.core.values import Report, Sentence

NAMES = re.compile(r"\bp(50|95|99)\b|\bweek \d+|large-\d|small-\d")  # which have digits and are no numbers
DIGITS = re.compile(r"\d")


class Looked:
    """Answers of the API, each asked for once."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.answers: dict[str, Any] = {}

    def number(self, path: str) -> Any:
        call, _, place = path.partition("#")
        if call not in self.answers:
            response = self.client.get(call)
            assert response.status_code == 200, (call, response.content)
            self.answers[call] = response.json()
        return _at(self.answers[call], place.split("/"))


def sentences(report: Report) -> list[Sentence]:
    return [report.headline, *report.sentences, *([report.act] if report.act else [])]


def check_sentences(report: Report, looked: Looked) -> int:
    """Each number is what the API tells where the sentence says, and no other stands in it; how many there are."""
    for sentence in sentences(report):
        rest = NAMES.sub("", sentence.text)
        for number in sorted(sentence.rests, key=lambda n: -len(n.shown)):
            value = looked.number(number.of)
            if number.per is not None:
                value = value / looked.number(number.per)
            is_mean = number.of.endswith("mean_ns")  # which the API rounds down
            same = number.value if isinstance(number.value, str) else pytest.approx(number.value, 1e-9, is_mean)
            assert value == same, (sentence.text, number)
            assert number.shown in sentence.text
            rest = rest.replace(number.shown, "", 1)
        assert not DIGITS.search(rest), (sentence.text, rest)
    return sum(len(sentence.rests) for sentence in sentences(report))


def _at(value: Any, keys: list[str]) -> Any:
    for at, key in enumerate(keys):
        if key == "groups":
            name = None if keys[at + 1] == "~" else unquote(keys[at + 1])
            found = [group for group in value["groups"] if group["value"] == name and not group["is_other"]]
            # a model or tool that a week did not have
            return _at(found[0], keys[at + 2 :]) if found else 0
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value
