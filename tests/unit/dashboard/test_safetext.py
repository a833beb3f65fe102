"""Texts that people sent, as the page shows them."""

from __future__ import annotations

import base64
import json
import random

from dashboard.pages.parts.safetext import as_text, visible

PICTURE = base64.b64encode(random.Random(8).randbytes(30_000)).decode()


def test_a_picture_within_a_message_is_told_by_its_kind_and_size() -> None:
    message = json.dumps([{"role": "user", "content": [{"image_url": {"url": f"data:image/png;base64,{PICTURE}"}}]}])
    text = as_text(message, wide=80)
    assert "⟨image/png, 30\u202fkB⟩" in text.replace("30.0", "30")
    assert len(text) < 300


def test_bare_base64_is_folded_and_a_long_word_is_not() -> None:
    assert as_text(PICTURE, wide=80).startswith("⟨base64, ")
    assert as_text("x" * 5000, wide=80) == "x" * 5000


def test_json_within_json_is_laid_out_and_unicode_is_not_escaped() -> None:
    arguments = json.dumps({"city": "北京", "note": "a\nb"})
    text = as_text(json.dumps([{"function": {"name": "weather", "arguments": arguments}}]), wide=10)
    assert '"city": "北京"' in text
    assert "\\u" not in text
    assert json.loads(text)[0]["function"]["arguments"]["note"] == "a\nb"


def test_what_only_looks_like_json_stays_as_it_is() -> None:
    for text in (
        '{"a": 1',
        "[" * 100_000,
        "{not json at all, but long enough to be folded, as texts of agents often are}",
    ):
        assert as_text(text, wide=10) == text


def test_marks_and_halves_of_characters_are_named() -> None:
    assert visible("a\u202eb\x1b[31m\ud800") == "a⟨U+202E⟩b␛[31m\ufffd"
