import os
import tracemalloc
from pathlib import Path

import pytest

from services.indexer.notes import walking
from services.indexer.notes.walking import Skipped


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"text of {path}")


def found(root: Path) -> list[str]:
    return [one.path for one in walking.walk(root).found]


def skipped(root: Path) -> dict[str, str]:
    return {one.path: one.why for one in walking.walk(root).skipped}


def test_markdown_files_are_found_in_the_order_of_their_paths(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.MD", "a/b/c.markdown", "a/ä ö.md")
    write(tmp_path, "x.txt", "y.py", "noext", ".hidden.md", ".git/x.md", "node_modules/p/README.md")
    walk = walking.walk(tmp_path)
    assert [one.path for one in walk.found] == ["a/b/c.markdown", "a/z.MD", "a/ä ö.md", "b.md"]
    assert walk.skipped == ()
    assert walk.found[3].modified_at == round((tmp_path / "b.md").stat().st_mtime, 6)
    assert walking.read(walk.found[3]) == "text of b.md"


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path, "a/one.md")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a")
    (tmp_path / "x").symlink_to(tmp_path / "y")
    (tmp_path / "y").symlink_to(tmp_path / "x")
    assert found(tmp_path) == ["a/one.md"]
    assert skipped(tmp_path) == {"a/up": "the same as the folder itself", "a/self": "the same as a"}


def test_a_file_has_its_real_path_whatever_links_lead_to_it(tmp_path: Path) -> None:
    write(tmp_path, "notes/z/real.md")
    (tmp_path / "notes" / "a-link.md").symlink_to(tmp_path / "notes" / "z" / "real.md")
    (tmp_path / "notes" / "a").symlink_to(tmp_path / "notes" / "z")
    assert found(tmp_path / "notes") == ["z/real.md"]
    assert skipped(tmp_path / "notes") == {"a-link.md": "the same as z/real.md", "a": "the same as z"}


def test_links_to_elsewhere_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path, "notes/one.md", "elsewhere/two.md")
    (tmp_path / "notes" / "ext").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "notes" / "ext2").symlink_to(tmp_path / "elsewhere")
    assert found(tmp_path / "notes") == ["ext/two.md", "one.md"]
    assert skipped(tmp_path / "notes") == {"ext2": "the same as ext"}


def test_hard_links_are_files_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, "one.md")
    os.link(tmp_path / "one.md", tmp_path / "two.md")
    assert found(tmp_path) == ["one.md", "two.md"]


def test_a_dangling_link_is_named_if_it_should_be_a_note(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert walking.walk(tmp_path).skipped == (Skipped("gone.md", "can't be read: No such file or directory"),)


def test_what_can_not_be_read_is_skipped_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "huge.md").write_bytes(b"x" * (walking.LARGEST_BYTES + 1))
    (tmp_path / "binary.md").write_bytes(b"PK\3\4\0\0")
    (tmp_path / "latin.md").write_bytes("größe".encode("latin-1"))
    (tmp_path / "bom.md").write_bytes(b"\xef\xbb\xbftext")
    walk = walking.walk(tmp_path)
    assert walk.skipped == (Skipped("huge.md", "too large (1.0 MB; at most 1 MB are taken)"),)
    assert [walking.read(one) for one in walk.found] == [Skipped("binary.md", "binary"), "text", Skipped("latin.md", "no text in UTF-8")]


def test_a_file_that_goes_or_grows_after_it_was_found_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    first, second = walking.walk(tmp_path).found
    first.file.unlink()
    second.file.write_bytes(b"x" * (walking.LARGEST_BYTES + 1))
    assert walking.read(first) == Skipped("a.md", "gone while it was to be read")
    assert isinstance(walking.read(second), Skipped)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_one_may_not_read_is_not_gone(tmp_path: Path) -> None:
    write(tmp_path, "closed/x.md", "y.md")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "y.md").chmod(0)
    walk = walking.walk(tmp_path)
    assert walk.skipped == (Skipped("closed/", "can't be read: Permission denied", lasting=False),)
    assert walking.read(walk.found[0]) == Skipped("y.md", "can't be read: Permission denied", lasting=False)
    (tmp_path / "closed").chmod(0o700)


def test_an_unreadable_folder_is_not_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for root, whom no permission stops."""
    write(tmp_path, "closed/x.md", "open/y.md")
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    walk = walking.walk(tmp_path)
    assert [one.path for one in walk.found] == ["open/y.md"]
    assert walk.skipped == (Skipped("closed/", "can't be read: Permission denied", lasting=False),)


def test_sockets_pipes_and_folders_named_like_files_are_no_notes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    write(tmp_path, "folder.md/inside.md")
    assert found(tmp_path) == ["folder.md/inside.md"]


def test_a_file_whose_size_lies_is_not_read_as_a_whole(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse.md"
    with sparse.open("wb") as file:
        file.truncate(50_000_000)
    one = walking.Found("sparse.md", sparse, 0.0)
    tracemalloc.start()
    assert isinstance(walking.read(one), Skipped)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
