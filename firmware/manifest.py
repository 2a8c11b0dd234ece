"""The manifest of the prebuilt images: write it, or check that the sources still build to exactly the installed files.

`make prebuilt` and `make check` call this script; it runs in the firmware folder.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import xxhash
from elftools.elf.elffile import ELFFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
PREBUILT = HERE / "prebuilt"


class ManifestError(Exception):
    """The images, their sources and the manifest do not belong together."""


@dataclass(frozen=True)
class Entry:
    """What the manifest says about one board's image. Sizes in bytes."""

    sha256: str
    image_base: int
    image_size: int
    image_digest: int
    text: int
    data: int
    bss: int
    compiler: str
    source_sha256: str


def image(elf: ELFFile) -> tuple[int, bytes]:
    """Return load address and bytes of the image: the file bytes of the loaded segments, which must have no gaps.

    Raises:
        ManifestError: there is a gap or an overlap between two segments.
    """
    segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD" and s["p_filesz"] > 0]
    segments.sort(key=lambda segment: segment["p_paddr"])
    base, data = segments[0]["p_paddr"], b""
    for segment in segments:
        if segment["p_paddr"] != base + len(data):
            end = base + len(data)
            raise ManifestError(f"the segment at {segment['p_paddr']:#x} does not follow {end:#x}; see sections.ld.")
        data += segment.data()
    return base, data


def source_digest(paths: list[str], root: Path = HERE) -> str:
    """Return SHA-256 over the names and contents of the files, in sorted order."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = (root / path).read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def make(folder: Path, *arguments: str) -> str:
    """Run make in a folder, free of the options and variables of a make that called this script; return its output."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    command = [environment.get("MAKE", "make"), *arguments]
    return subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True).stdout


def inputs(board: str) -> list[str]:
    """Return the files that a board's image is built from, as the Makefile lists them."""
    return make(HERE, "--silent", f"inputs-{board}").split()


def describe(path: Path, compiler: str, sources: str) -> Entry:
    """Return the manifest's entry for the ELF file at `path`."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        base, data = image(elf)
        sections = {name: elf.get_section_by_name(name) for name in (".text", ".data", ".bss")}
    sizes = {name: section["sh_size"] if section else 0 for name, section in sections.items()}
    return Entry(
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        image_base=base,
        image_size=len(data),
        image_digest=xxhash.xxh32_intdigest(data),
        text=sizes[".text"],
        data=sizes[".data"],
        bss=sizes[".bss"],
        compiler=compiler,
        source_sha256=sources,
    )


def as_toml(entries: dict[str, Entry]) -> str:
    """Return the text of the manifest."""
    lines = ["# Written by `make -C firmware prebuilt`. image_digest is XXH32 of the flashed bytes; sizes are bytes."]
    for board, entry in sorted(entries.items()):
        lines += ["", f"[{board}]"]
        for name, value in asdict(entry).items():
            lines.append(f"{name} = {_literal(name, value)}")
    return "\n".join(lines) + "\n"


def _literal(name: str, value: int | str) -> str:
    return f"{value:#010x}" if name in ("image_base", "image_digest") else json.dumps(value, ensure_ascii=False)


def write(boards: list[str], compiler: str) -> None:
    """Describe the named images in prebuilt/MANIFEST.toml; keep its other entries as long as their files are there."""
    manifest = PREBUILT / "MANIFEST.toml"
    said = tomllib.loads(manifest.read_text()) if manifest.exists() else {}
    entries = {name: Entry(**facts) for name, facts in said.items() if (PREBUILT / f"{name}.elf").exists()}
    entries |= {b: describe(PREBUILT / f"{b}.elf", compiler, source_digest(inputs(b))) for b in boards}
    manifest.write_text(as_toml(entries))


def check(boards: list[str], compiler: str, keep: Path | None = None) -> list[str]:
    """Build every board in a temporary folder and return what differs from the installed files, one sentence each.

    Args:
        boards: their images.
        compiler: first line of its --version.
        keep: an empty folder that takes the place of the temporary one and stays.
    """
    with contextlib.nullcontext(keep) if keep else tempfile.TemporaryDirectory() as folder:
        build(boards, Path(folder))
        return differences(boards, compiler, Path(folder))


def build(boards: list[str], folder: Path) -> None:
    """Copy the sources of the boards into an empty folder and build their images there, in `build`."""
    for path in sorted({path for board in boards for path in inputs(board)}):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(HERE / path, target)
    make(folder, f"-j{os.cpu_count() or 1}", *(f"build/{board}.elf" for board in boards))


def differences(boards: list[str], compiler: str, folder: Path) -> list[str]:
    """Return how the installed files differ from those built in the folder, one sentence each."""
    found = []
    expected = {}
    for board in boards:
        built, installed = folder / "build" / f"{board}.elf", PREBUILT / f"{board}.elf"
        if not installed.exists():
            found.append(f"prebuilt/{board}.elf is missing; run `make prebuilt`.")
        elif built.read_bytes() != installed.read_bytes():
            found.append(_difference(board, built, installed))
        expected[board] = describe(built, compiler, source_digest(inputs(board)))
    manifest = PREBUILT / "MANIFEST.toml"
    if not manifest.exists() or manifest.read_text() != as_toml(expected):
        found.append("prebuilt/MANIFEST.toml does not describe what these sources build; run `make prebuilt`.")
    return found


def _difference(board: str, built: Path, installed: Path) -> str:
    with built.open("rb") as new, installed.open("rb") as old:
        now = {s.name: s.data() for s in ELFFile(new).iter_sections()}
        then = {s.name: s.data() for s in ELFFile(old).iter_sections()}
    names = [name for name in sorted(now.keys() | then.keys()) if now.get(name) != then.get(name)]
    where = f"sections {', '.join(names)}" if names else "headers only"
    cure = "run `make prebuilt` with the compiler that the manifest names."
    return f"prebuilt/{board}.elf is not what these sources build ({where}); {cure}"


def main() -> int:
    """Run `write` or `check` for the named boards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("--compiler", required=True, help="first line of the compiler's --version")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="check: build here, and leave it")
    parser.add_argument("boards", nargs="+")
    arguments = parser.parse_args()
    if arguments.action == "write":
        write(arguments.boards, arguments.compiler)
        return 0
    found = check(arguments.boards, arguments.compiler, arguments.keep)
    print("\n".join(found) if found else "The prebuilt images are what these sources build.")
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ManifestError, subprocess.CalledProcessError) as error:
        sys.exit(f"manifest.py: {error}")
