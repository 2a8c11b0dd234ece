"""`hil verify --recompute`, `hil sign` and `hil pack` on a real run, as docs/verify.md says that people call them."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from forging import Forged
from hil_output import Hil

Call = Callable[..., Hil]
OWN = "own.hnet"


def steps(run: Path, part: str) -> Path:
    return next(run.glob(f"*{part}*")) / "steps.parquet"


def test_every_compared_step_is_computed_again(run: Path, hil: Call) -> None:
    done = hil("verify", run, "--recompute", "--json")
    assert done.code == 0, done.out + done.err
    found = json.loads(done.out)
    assert len(found["recomputed"]) == 9 and all(one["verified"] for one in found["recomputed"])
    assert sum(one["steps"] for one in found["recomputed"]) == 4 + 3 + 2 + 2 + 2 + 2 + 2 + 1 + 1
    assert not any(check["contradictions"] for check in found["checks"]) and found["signed"] is False
    said = hil("verify", run)
    assert said.code == 0 and "agrees with itself" in said.out and "not signed" in said.out


def test_what_only_the_reference_knows_is_found(run: Path, hil: Call) -> None:
    """Digests and losses of all copies edited, with SHA256SUMS: nothing else contradicts them."""
    path = steps(run, "cls1-b2-latency")
    table = pd.read_parquet(path)
    table.loc[1, "digest"] ^= 0xFF
    table.to_parquet(path)
    loss = steps(run, "fqt")
    of_loss = pd.read_parquet(loss)
    of_loss.loc[0, ["loss_plus", "reference_loss_plus"]] += 1.0
    of_loss.to_parquet(loss)
    Forged(run).seal()
    assert hil("verify", run).code == 0
    done = hil("verify", run, "--recompute")
    assert done.code == 1 and "digest of step 1 is" in done.out and "but the reference has" in done.out, done.out
    assert "reference_loss_plus of step 0" in done.out and "1 of 4 compared steps" in done.out


def test_accuracy_and_formulas_are_computed_too(run: Path, hil: Call) -> None:
    forged = Forged(run)
    trial = forged.trial("cls1-b2-latency")
    trial["accuracy"].update(after=1.0, reference_after=1.0)
    trial["evaluations"][-1].update(board=1.0, reference=1.0)
    trial["analytic"].update(macs_forward=7)
    for point in trial["energy"]["to_accuracy"]:
        point["accuracy"] = 1.0
    forged.write(everywhere=True, seal=True)
    done = hil("verify", run, "--recompute")
    assert done.code == 1 and "analytic.macs_forward" in done.out and "accuracy.after" in done.out, done.out


def test_data_and_networks_that_are_not_here_are_named(run: Path, hil: Call, tmp_path: Path) -> None:
    done = hil("verify", run, "--recompute", cwd=tmp_path)
    assert done.code == 2 and "its data own.npz are not here" in done.out and "Not verified: 17 of 19" in done.out
    next(run.glob("*step5*/network.hnet")).unlink()
    Forged(run).seal()
    done = hil("verify", run, "--recompute")
    assert done.code == 2 and "its network file is not here" in done.out, done.out


def test_records_that_cannot_be_verified(run: Path, hil: Call, tmp_path: Path) -> None:
    for words, said in (
        ((tmp_path / "nothing",), "holds no results.json"),
        ((run, "--signer", tmp_path / "nobody.pem"), "cannot be read"),
    ):
        done = hil("verify", *words)
        assert done.code == 2 and said in done.err and done.err.count("\n") == 1 and not done.out
    forged = Forged(run)
    del forged.results["run"]["sums"]
    forged.write()
    (run / "SHA256SUMS").unlink()
    done = hil("verify", run)
    assert done.code == 2 and "older version" in done.out
    forged.results["schema"] = 1
    forged.write()
    done = hil("verify", run)
    assert done.code == 2 and "use the version that wrote it" in done.err
    forged.results["schema"] = 2
    forged.results["run"].update(state="running", ended=None, exit_code=None, whole=False)
    forged.write()
    assert hil("sign", run, "--key", "none.pem").code == 2
    done = hil("verify", run)
    assert done.code == 2 and "did not end" in done.err


def test_a_signature_names_what_came_went_and_changed(run: Path, hil: Call, keys: tuple[Path, Path]) -> None:
    private, public = keys
    assert hil("sign", run, "--key", private).code == 0
    done = hil("verify", run, "--signer", public)
    assert done.code == 0 and "Signed with the key" in done.out, done.out + done.err
    # the same by programs that are not trainrig
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=run, check=True)
    signed = ["pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", "SHA256SUMS", "-sigfile", "SHA256SUMS.sig"]  # fmt: skip
    subprocess.run(["openssl", *map(str, signed)], cwd=run, check=True, capture_output=True)
    (run / "extra.txt").write_text("came later")
    (run / "photo.html").symlink_to("/etc/hostname")
    (run / "junit.xml").unlink()
    page = run / "index.html"
    page.write_text(page.read_text() + " ")
    done = hil("verify", run, "--signer", public)
    assert done.code == 1
    for said in (
        "extra.txt: the file is 'there', but SHA256SUMS has missing", "junit.xml: its SHA-256 is missing",
        "photo.html: a link is 'there', but SHA256SUMS has missing", "index.html: its SHA-256 is",
    ):  # fmt: skip
        assert said in done.out, done.out


def test_signatures_that_are_not_of_this_record(run: Path, hil: Call, keys: tuple[Path, Path], tmp_path: Path) -> None:
    private, public = keys
    done = hil("verify", run, "--signer", public)
    assert done.code == 2 and "is not signed" in done.err
    hil("sign", run, "--key", private)
    other = tmp_path / "reports" / "other"
    shutil.copytree(run, other)
    forged = Forged(other)
    forged.results["run"].update(uid="0" * 32)
    forged.write(seal=True)
    hil("sign", other, "--key", private)
    good = (run / "SHA256SUMS").read_bytes(), (run / "SHA256SUMS.sig").read_bytes()
    (run / "SHA256SUMS.sig").write_bytes((other / "SHA256SUMS.sig").read_bytes())
    done = hil("verify", run, "--signer", public)
    assert done.code == 2 and "does not sign SHA256SUMS with this key" in done.err
    (run / "SHA256SUMS").write_bytes((other / "SHA256SUMS").read_bytes())
    done = hil("verify", run, "--signer", public)
    assert done.code == 2 and "is of another record" in done.err
    for name, content in zip(("SHA256SUMS", "SHA256SUMS.sig"), good, strict=True):
        (run / name).write_bytes(content)
    assert hil("verify", run, "--signer", public).code == 0
    mine = tmp_path / "mine.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(mine)], check=True, capture_output=True)
    other_public = tmp_path / "mine.pub.pem"
    subprocess.run(["openssl", "pkey", "-in", str(mine), "-pubout", "-out", str(other_public)], check=True)
    assert hil("verify", run, "--signer", other_public).code == 2
    assert "is a private key" in hil("verify", run, "--signer", private).err
    rsa = tmp_path / "rsa.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "rsa", "-out", str(rsa)], check=True, capture_output=True)
    assert "another kind than Ed25519" in hil("sign", run, "--key", rsa).err
    assert "no private key" in hil("sign", run, "--key", public).err


def test_a_pack_is_one_file_that_is_verified_elsewhere(
    run: Path, hil: Call, keys: tuple[Path, Path], tmp_path: Path, made: Path
) -> None:
    private, public = keys
    hil("sign", run, "--key", private)
    out, again = tmp_path / "one.zip", tmp_path / "two.zip"
    done = hil("pack", run, "--out", out)
    assert done.code == 0 and "not in it: data set" in done.out, done.out + done.err
    hil("pack", run, "--out", again)
    assert out.read_bytes() == again.read_bytes()
    place = tmp_path / "elsewhere"
    place.mkdir()
    shutil.copy(made / "own.npz", place)
    done = hil("verify", out, "--recompute", "--signer", public, cwd=place)
    assert done.code == 0 and "Verified: all 19 compared steps" in done.out, done.out + done.err
    with zipfile.ZipFile(out) as file:
        names = file.namelist()
        (facts,) = (json.loads(file.read(name)) for name in names if name.endswith("/pack.json"))
        (readme,) = (file.read(name).decode() for name in names if name.endswith("/README.txt"))
        file.extractall(place)
    assert facts["command"].startswith("pytest") and facts["images"][0]["flags"].startswith("GNU C")
    assert all(image["packed"] for image in facts["images"]) and all(one["packed"] for one in facts["networks"])
    assert {one["name"] for one in facts["data"]} == {"fashion-mnist-1k", "own.npz"}
    assert not any(name.endswith((".gz", ".idx")) or "mnist" in name for name in names)
    arrays = {name.rpartition("/")[2].partition("-")[0] for name in names if name.endswith(".npz")}
    assert arrays == {"coverage.npz", "lines", "sources.npz"}, "of the coverage, not own.npz"
    assert "hil verify" in readme and max(map(len, readme.splitlines())) <= 120
    (unpacked,) = (path.parent for path in place.glob("*/pack.json"))
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=unpacked, check=True)
    assert hil("verify", unpacked, "--signer", public, cwd=place).code == 0
    image = next((unpacked / "images").iterdir())
    image.write_bytes(image.read_bytes() + b"\0")
    done = hil("verify", unpacked, cwd=place)
    assert done.code == 1 and f"images/{image.name}: its SHA-256 is" in done.out


def test_packs_that_are_cut(run: Path, hil: Call, tmp_path: Path) -> None:
    out = tmp_path / "one.zip"
    hil("pack", run, "--out", out)
    whole = out.read_bytes()
    for share in (0.01, 0.5, 0.999):
        out.write_bytes(whole[: int(len(whole) * share)])
        done = hil("verify", out)
        assert done.code == 2 and "is no pack, or is cut or damaged" in done.err and done.err.count("\n") == 1
