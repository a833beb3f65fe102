"""The light theme's colours, for paper and mail. A test holds them against ``static/css/tokens.css``. Pure."""

COLOURS = {
    "surface": "#ffffff", "text": "#12161b", "text-2": "#424a54", "text-3": "#626a75", "line": "#e2e5e9",
    "line-strong": "#c3c9d0", "control-line": "#858e99", "grid": "#eceef1", "ok": "#17754a", "bad": "#c0242c",
    "bg": "#f5f6f7", "accent": "#4f43c4",
    "prefill": "#23418f", "decode": "#12786b", "tool-parsing": "#7e2f16", "tool-execution": "#c3892e",
    "re-encoding": "#447fcb", "continue-decode": "#35a690", "queue": "#75557f", "transport": "#8596a5",
    "model-unsplit": "#aeafb2", "orchestration": "#cfcbbb",
}  # fmt: skip
TONES = {"worse": "bad", "better": "ok", "": "text-3"}


def colour(name: str) -> str:
    return COLOURS[name.replace("_", "-")]
