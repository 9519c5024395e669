"""Files that are written for their owner alone, in folders that others can write to."""

import os
from pathlib import Path

import pytest

from scalepan.files import write_text_private

OTHER = 65534
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@root
def test_nothing_is_written_through_a_link_of_another_user(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "report.html"
    victim.write_text("as it was")
    link.symlink_to(victim)
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    with pytest.raises(PermissionError, match="is a link of user"):
        write_text_private(link, "a claim")
    assert victim.read_text() == "as it was"


@root
def test_nothing_is_written_into_a_file_of_another_user(tmp_path: Path) -> None:
    theirs = tmp_path / "report.html"
    theirs.write_text("as it was")
    os.chown(theirs, OTHER, OTHER)
    with pytest.raises(PermissionError, match="belongs to user"):
        write_text_private(theirs, "a claim")
    assert theirs.read_text() == "as it was"


def test_ones_own_link_and_file_are_written(tmp_path: Path) -> None:
    own, link = tmp_path / "own", tmp_path / "report.html"
    own.write_text("longer than what is written now")
    own.chmod(0o644)
    link.symlink_to(own)
    write_text_private(link, "a claim")
    assert (own.read_text(), own.stat().st_mode & 0o777) == ("a claim", 0o600)
    write_text_private(tmp_path / "new", "a claim")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_device_keeps_its_rights() -> None:
    before = os.stat(os.devnull)
    write_text_private(Path(os.devnull), "a claim")
    assert os.stat(os.devnull).st_mode == before.st_mode
