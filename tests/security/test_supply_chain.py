"""What `make security` says of dependencies and secrets; and that every lock file holds what it must, without a network."""

import gzip
import importlib.util
import io
import json
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
_spec = importlib.util.spec_from_file_location("security_audit", ROOT / "ops" / "security" / "audit.py")
assert _spec is not None
assert _spec.loader is not None
audit = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = audit
_spec.loader.exec_module(audit)

HASH = f"--hash=sha256:{'0a' * 32}"


def test_every_dependency_is_pinned_by_hash() -> None:
    assert audit.unpinned() == []


@pytest.mark.parametrize(
    "line", ["httpx2>=2", "httpx2==2.16", "httpx2", "-e .", f"httpx2 @ file:///x {HASH}", "httpx2==2 --hash=md5:00", "git+ssh://x/y"]
)
def test_a_dependency_that_is_not_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "dev.txt").write_text(f"# made by\nanyio==4.1 \\\n    {HASH}\n    # via x\n{line}\n")

    assert len(audit.unpinned(tmp_path)) == 1


def test_pins_are_read_with_extras_and_markers() -> None:
    lock = f"uvloop[x]==0.2 ; sys_platform != 'win32' \\\n    {HASH} \\\n    {HASH}\n    # via brb\n"

    assert list(audit.pins(lock)) == [("uvloop", "0.2", 2)]


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        ("MIT", False),
        ("LGPL-3.0-only", False),
        ("GNU Lesser General Public License v2 or later (LGPLv2+)", False),
        ("GPL-3.0-or-later", True),
        ("GNU Affero General Public License v3", True),
        ("MIT OR GPL-2.0", False),
        ("Apache-2.0", False),
    ],
)
def test_licences_that_would_bind_us_are_told_from_others(stated: str, found: bool) -> None:
    assert audit.is_copyleft(stated) is found


def test_made_up_secrets_of_tests_are_known_and_all_others_are_told_without_the_secret(tmp_path: Path) -> None:
    made_up = next(iter(audit.MADE_UP))
    found = [
        {"rule": {"id": "jwt"}, "finding": {"path": str(tmp_path / path), "line": 7, "snippet": "hidden"}} for path in (made_up, "services/a.py")
    ]

    assert audit.findings(json.dumps({"findings": found}) + "\n{}", tmp_path) == [("jwt", "services/a.py", 7)]


@pytest.mark.parametrize("path", ["tests/unit/core/test_redaction.py", "tests/e2e/test_secrecy.py"])
def test_no_file_is_excused_that_there_is_not(path: str) -> None:
    assert path in audit.MADE_UP
    assert (ROOT / path).is_file()


@pytest.mark.parametrize(
    ("status", "told", "said", "well"),
    [
        (0, "", "No known vulnerabilities found", True),
        (1, "x 1.0 CVE", "Found 1 known vulnerability in 1 package", False),
        (0, "Name Skip Reason\n" + "a could not be audited: a\n" * 9, "No known vulnerabilities found", None),
        (1, "", "requests.exceptions.ConnectionError: no route", None),
    ],
)
def test_a_database_that_does_not_answer_is_no_clean_bill(status: int, told: str, said: str, well: bool | None) -> None:
    assert audit.read_advisories(status, told, said)[0] is well


@pytest.mark.parametrize(
    ("well", "unasked", "said"),
    [
        (True, [], "well"),
        (True, ["embedded.txt", "server.txt"], "well, but NOT ASKED: advisories of embedded.txt, server.txt"),
        (False, [], "NOT WELL"),
        (False, ["server.txt"], "NOT WELL, and NOT ASKED: advisories of server.txt"),
    ],
)
def test_the_verdict_names_what_was_not_asked(well: bool, unasked: list[str], said: str) -> None:
    assert audit.verdict(well=well, unasked=unasked) == said


def test_the_last_line_of_a_run_without_a_network_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, ends in (("pip-audit", "echo ConnectionError >&2; exit 1"), ("kingfisher", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{ends}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(audit, "_tool", lambda name: str(tmp_path / name))
    assert audit.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "well, but NOT ASKED: advisories of embedded.txt, server.txt"


def tarred(**files: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def test_the_layers_of_an_image_are_unpacked_whatever_they_are_called(tmp_path: Path) -> None:
    """An OCI layout names them by their digests."""
    image, folder = tmp_path / "image.tar", tmp_path / "laid"
    folder.mkdir()
    layer = tarred(**{"app/conf.ini": b"key"})
    far = "../" * 9 + "d" * 300
    image.write_bytes(
        tarred(**{"blobs/sha256/aa": gzip.compress(layer), "blobs/sha256/bb": layer, "index.json": b"{}", "a.gz": b"\x1f\x8b..", far: b"x"})
    )
    audit.laid_out(image, folder)
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == [layer, layer, b"{}", b"\x1f\x8b..", b"x"]
    assert {path.name for path in folder.iterdir() if path.suffix} == {"0_blobs_sha256_aa.tar", "2_index.json", "3_a.gz"}
    assert [path.name for path in tmp_path.iterdir() if path not in (image, folder)] == []


def test_an_image_that_can_not_be_looked_into_is_not_passed(tmp_path: Path) -> None:
    image = tmp_path / "image.tar"
    image.write_bytes(tarred(**{"blobs/sha256/aa": b"\x28\xb5\x2f\xfd...."}))
    with pytest.raises(RuntimeError, match="zstd"):
        audit.laid_out(image, tmp_path)
