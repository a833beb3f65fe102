"""The directories of an instance are its own, or it says why it will not use them."""

import os
import stat
from pathlib import Path

import pytest

from dashboard.embedded import Places, StartError, kept_secret
from dashboard.embedded.folders import claim_data_dir, close, open_for


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_data_directory_is_private(tmp_path: Path) -> None:
    places = Places.of(tmp_path / "a" / "data")
    claim_data_dir(places)
    open_for(places, None)
    assert mode(places.data_dir) == mode(places.run) == mode(places.logs) == 0o700


def test_an_empty_directory_is_taken_and_closed_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    claim_data_dir(Places.of(tmp_path))
    open_for(Places.of(tmp_path), None)
    assert mode(tmp_path) == 0o700


def test_one_in_which_only_a_secret_was_kept_is_ours(tmp_path: Path) -> None:
    kept_secret(tmp_path, "secret-key")
    claim_data_dir(Places.of(tmp_path))


def test_somebody_elses_directory_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(StartError, match=r"holds other files.*SIXSTAGE_DATA_DIR="):
        claim_data_dir(Places.of(tmp_path))
    assert mode(tmp_path) == 0o755


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(StartError, match="is a file"):
        claim_data_dir(Places.of(tmp_path / "data"))


def test_a_trap_under_tmp_is_refused(tmp_path: Path) -> None:
    places = Places.of(tmp_path / ("x" * 90))
    claim_data_dir(places)
    places.run.symlink_to(tmp_path)
    try:
        with pytest.raises(StartError, match="belongs to somebody else"):
            open_for(places, None)
    finally:
        places.run.unlink()


def test_sockets_outside_leave_nothing_behind(tmp_path: Path) -> None:
    places = Places.of(tmp_path / ("x" * 90))
    claim_data_dir(places)
    open_for(places, None)
    assert mode(places.run) == 0o700
    close(places)
    assert not os.path.lexists(places.run)
