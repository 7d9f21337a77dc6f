"""What can be said of BRB's supply chain: that every dependency is pinned by hash, under which licences it comes, whether one is known to be
vulnerable, and that no secret lies in the repository or in an image.

`python ops/security/audit.py [--image FOLDER_OR_TAR]`. Exit status 1 if something is wrong. What can't be asked (the advisories, without a
network) is no failure, but no clean bill either: the last line names it.
"""

import argparse
import gzip
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
LOCKS = ROOT / "requirements"
RUNTIME = ("embedded.txt", "server.txt")
_PIN = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[\w,-]+\])?==([^\s;\\]+)(?:\s*;[^\\]*)?")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")
_UNANSWERED = "could not be audited"
_COPYLEFT = re.compile(r"\bA?GPL|GNU (?:Affero )?General Public", re.IGNORECASE)
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_LGPL = re.compile(r"\bLGPL|Lesser", re.IGNORECASE)

MADE_UP = {
    "tests/unit/core/test_redaction.py": "what redaction has to find",
    "tests/e2e/test_secrecy.py": "what must be nowhere in clear",
}
"""Files in which made-up secrets stand, and what for."""


class Pin(NamedTuple):
    name: str
    version: str
    hashes: int


def pins(lock: str) -> Iterator[Pin]:
    """The requirements of a lock file. `ValueError`: one is not pinned, or has no hash."""
    logical = re.sub(r"\\\n", " ", "\n".join(line for line in lock.splitlines() if not line.lstrip().startswith("#")))
    for line in filter(None, map(str.strip, logical.splitlines())):
        pinned, hashes = _PIN.match(line), _HASH.findall(line)
        if pinned is None or not hashes:
            raise ValueError(f"not pinned by hash: {line[:80]}")
        yield Pin(pinned[1], pinned[2], len(hashes))


def unpinned(folder: Path = LOCKS) -> list[str]:
    wrong = []
    for path in sorted(folder.glob("*.txt")):
        try:
            if not list(pins(path.read_text())):
                wrong.append(f"{path.name}: it names nothing")
        except ValueError as error:
            wrong.append(f"{path.name}: {error}")
    return wrong


def licence(name: str) -> str | None:
    """As an installed package states it; None where it is not installed, "" where it states none."""
    try:
        said = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    named = [one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or [] if one.startswith("License :: ")]
    stated = said.get("License-Expression") or ", ".join(named) or (said.get("License") or "").strip().partition("\n")[0]
    return stated[:80]


def is_copyleft(stated: str) -> bool:
    """Whether it would bind whoever passes BRB on, as a whole. The lesser ones do not, nor does a choice that leaves another way."""
    return bool(_COPYLEFT.search(_LGPL.sub("", stated))) and " OR " not in stated


class Finding(NamedTuple):
    rule: str
    path: str
    line: int


def findings(output: str, folder: Path) -> list[Finding]:
    """Those of Kingfisher's JSON that are no made-up ones. No secret is in them."""
    found = json.JSONDecoder().raw_decode(output)[0].get("findings", []) if output.strip() else []
    named = [Finding(one["rule"]["id"], _within(one["finding"]["path"], folder), int(one["finding"]["line"])) for one in found]
    return [one for one in named if one.path not in MADE_UP]


def _within(path: str, folder: Path) -> str:
    return str(Path(path).relative_to(folder)) if Path(path).is_relative_to(folder) else path


def secrets_in(place: Path) -> list[Finding]:
    """Never validated: that would send what is found to whoever it belongs to."""
    argv = [
        _tool("kingfisher"),
        "scan",
        "--no-validate",
        "--no-update-check",
        "--format",
        "json",
        "--git-history",
        "none",
        "--no-rule-cache",
        str(place),
    ]
    with tempfile.TemporaryFile("w+") as said:
        status = subprocess.run(argv, stdout=said, stderr=subprocess.DEVNULL, check=False).returncode
        said.seek(0)
        if status not in (0, 200):  # 200: something was found
            raise RuntimeError(f"kingfisher ended with {status}")
        return findings(said.read(), place)


def laid_out(image: Path, folder: Path) -> None:
    """The files of a tar of an image (`docker save`), for whoever looks into them. Layers may be packed, under names that do not say so: unpacked."""
    with tarfile.open(image, "r:*") as packed:
        for number, member in enumerate(packed):
            if member.isfile() and (content := packed.extractfile(member)) is not None:
                head = content.read(4)
                content.seek(0)
                if head == _ZSTD:
                    raise RuntimeError(f"{member.name} in {image} is packed with zstd: unpack the image, and name the folder")
                layer = head.startswith(_GZIP) and "." not in Path(member.name).name
                target = folder / (f"{number}_" + re.sub(r"[^\w.-]", "_", member.name)[-200:] + (".tar" if layer else ""))
                with target.open("wb") as out:
                    shutil.copyfileobj(gzip.GzipFile(fileobj=content) if layer else content, out)


def in_the_image(image: Path) -> list[Finding]:
    if image.is_dir():
        return secrets_in(image)
    with tempfile.TemporaryDirectory() as folder:
        laid_out(image, Path(folder))
        return secrets_in(Path(folder))


def in_the_repository() -> list[Finding]:
    """Of the files that are, or would be, in it."""
    git = shutil.which("git") or "git"
    listed = subprocess.run([git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (source := ROOT / name).is_file():
                target = Path(folder) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        return secrets_in(Path(folder))


def advisories(lock: Path) -> tuple[bool | None, str]:
    """Whether nothing of it is known to be vulnerable, None if nobody could tell, and what was said."""
    argv = [_tool("pip-audit"), "--requirement", str(lock), "--require-hashes", "--disable-pip", "--progress-spinner", "off"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return None, "no answer within 300 s"
    return read_advisories(done.returncode, done.stdout, done.stderr)


def read_advisories(status: int, told: str, said: str) -> tuple[bool | None, str]:
    """What pip-audit's end and output come to. It takes a database that does not answer for one that knows no such package."""
    if "Found " in said and "known vulnerabilit" in said and "No known" not in said:
        return False, told
    if told.count(_UNANSWERED) > 3 or (status != 0 and "known vulnerabilit" not in said):
        return None, "the advisory database can't be reached from here"
    return True, "no known vulnerabilities"


def _tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is missing: run `make security`")
    return found


def _tell(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _licences() -> list[str]:
    names = sorted({pin.name for lock in RUNTIME if (LOCKS / lock).exists() for pin in pins((LOCKS / lock).read_text())}, key=str.lower)
    stated = {name: licence(name) for name in names}
    _tell(*(f"  {name}: {said or 'states none'}" for name, said in stated.items() if said is not None))
    return [f"{name} comes under {said}" for name, said in stated.items() if said and is_copyleft(said)]


def verdict(*, well: bool, unasked: Sequence[str]) -> str:
    """The last line. unasked: the lock files whose advisories nobody could tell."""
    if not unasked:
        return "well" if well else "NOT WELL"
    return f"{'well, but' if well else 'NOT WELL, and'} NOT ASKED: advisories of {', '.join(unasked)}"


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=Path, help="a folder or a tar file with the content of an image")
    options = parser.parse_args(given)
    wrong: list[str] = []
    unasked: list[str] = []

    def step(what: str, found: Iterable[str]) -> None:
        told = list(found)
        _tell(f"{what}: {'well' if not told else 'NOT WELL'}", *(f"  {one}" for one in told))
        wrong.extend(told)

    step("every dependency is pinned by hash", unpinned())
    step("licences of what runs", _licences())
    for lock in RUNTIME:
        if (LOCKS / lock).exists():
            well, said = advisories(LOCKS / lock)
            if well is None:
                _tell(f"advisories on {lock}: NOT ASKED, {said}")
                unasked.append(lock)
            else:
                step(f"advisories on {lock}", [] if well else said.splitlines())
    step("no secrets in the repository", (f"{one.path}:{one.line} ({one.rule})" for one in in_the_repository()))
    if options.image:
        step("no secrets in the image", (f"{one.path}:{one.line} ({one.rule})" for one in in_the_image(options.image)))
    _tell(verdict(well=not wrong, unasked=unasked))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
