"""Coverage in the formats that forges read: lcov's tracefile (geninfo(1), FILES) and Cobertura's XML (coverage-04.dtd).

The virtual board records whether a line was reached, not how often: a count is 0 or 1.
"""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

from hil.coverage.source_file import FileCoverage, Totals, located
from hil.errors import printable

DOCTYPE = '<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">'


def lcov(files: list[FileCoverage]) -> str:
    """Return a tracefile. The outcomes of a line are the branches of one block, in the order of where they go."""
    return "".join(line + "\n" for file in files for line in _lcov_lines(file))


def _lcov_lines(file: FileCoverage) -> Iterator[str]:
    yield "TN:"
    yield f"SF:{source_path(file.name)}"
    for line, outcomes in file.branches.items():
        for number, (_, occurred) in enumerate(sorted(outcomes.items())):
            yield f"BRDA:{line},0,{number},{int(occurred) if any(outcomes.values()) else '-'}"
    yield f"BRF:{file.outcomes}"
    yield f"BRH:{file.occurred}"
    for line, reached in file.lines.items():
        yield f"DA:{line},{int(reached)}"
    yield f"LF:{len(file.lines)}"
    yield f"LH:{file.reached}"
    yield "end_of_record"


def cobertura(files: list[FileCoverage], version: str) -> str:
    """Return the XML, with a package for each folder and a class for each file; `version` is that of trainrig."""
    root = ET.Element("coverage", _rates(files) | _counts(files) | {
        "complexity": "0", "version": f"trainrig {version}", "timestamp": str(int(time.time())),
    })  # fmt: skip
    ET.SubElement(ET.SubElement(root, "sources"), "source").text = "."
    packages = ET.SubElement(root, "packages")
    by_folder: dict[str, list[FileCoverage]] = {}
    for file in files:
        by_folder.setdefault(file.name.rpartition("/")[0] or ".", []).append(file)
    for folder, inside in by_folder.items():
        package = ET.SubElement(packages, "package", {"name": printable(folder)} | _rates(inside) | {"complexity": "0"})
        classes = ET.SubElement(package, "classes")
        for file in inside:
            names = {"name": printable(file.name.rpartition("/")[2]), "filename": source_path(file.name)}
            one = ET.SubElement(classes, "class", names | _rates([file]) | {"complexity": "0"})
            ET.SubElement(one, "methods")
            lines = ET.SubElement(one, "lines")
            for line, reached in file.lines.items():
                ET.SubElement(lines, "line", _line(line, reached, file.branches.get(line, {})))
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{DOCTYPE}\n{ET.tostring(root, encoding="unicode")}\n'


def _line(line: int, reached: bool, outcomes: Mapping[str, bool]) -> dict[str, str]:
    found = {"number": str(line), "hits": str(int(reached)), "branch": str(bool(outcomes)).lower()}
    if outcomes:
        occurred = sum(outcomes.values())
        found["condition-coverage"] = f"{100 * occurred // len(outcomes)}% ({occurred}/{len(outcomes)})"
    return found


def _rates(files: list[FileCoverage]) -> dict[str, str]:
    total = Totals.of(files)
    lines = total.reached / total.lines if total.lines else 1.0
    branches = total.occurred / total.outcomes if total.outcomes else 1.0
    return {"line-rate": f"{lines:.4f}", "branch-rate": f"{branches:.4f}"}


def _counts(files: list[FileCoverage]) -> dict[str, str]:
    total = Totals.of(files)
    return {
        "lines-covered": str(total.reached), "lines-valid": str(total.lines),
        "branches-covered": str(total.occurred), "branches-valid": str(total.outcomes),
    }  # fmt: skip


def source_path(name: str) -> str:
    """Return the path of a source file as a forge has it: relative to the present folder, if the file is below it."""
    path = located(name)
    here = Path.cwd()
    if path is not None and path.resolve().is_relative_to(here):
        return path.resolve().relative_to(here).as_posix()
    return printable(name)
