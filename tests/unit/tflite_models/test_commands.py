"""`hil network`, networks by path in trials, and models that are fetched."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hil.commands.main import main
from hil.errors import Blocked, RigError
from hil.training.graph.file import decode, encode
from hil.training.methods import find_method
from hil.training.networks import build, find_network
from hil.training.networks.files import read_network
from hil.training.networks.published import fetched, find_published, published
from hil.training.reference.methods import reference_of
from hil.training.tflite.export import with_weights_of
from hil.training.tflite.importing import network_of
from hil.training.tflite.read import parse
from hil.training.trial.choose import method_on_network
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec

from .made import DATA, Made, trainable
from .mlperf_files import mlperf_model
from .witness import forward, run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "private" / "gestures.tflite"
    path.parent.mkdir()
    path.write_bytes(trainable().bytes())
    return path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, error = capsys.readouterr()
    return code, out, error


def test_a_model_is_imported_with_a_summary_and_a_file_beside_it(model, tmp_path, capsys):
    out = tmp_path / "net.hnet"
    words = (
        "network",
        "import",
        str(model),
        "--out",
        str(out),
        "--runtime",
        "litert",
        "--block-map",
        "conv1:1,pw1-dw1:2,pw2:3,fc1:4",
    )
    code, text, _ = said(capsys, *words)
    assert code == 0
    graph = decode(out.read_bytes())
    assert [layer.block for layer in graph.layers] == [1, 2, 2, 3, 0, 0, 4]
    assert "rounding of litert: double in conv2d, pointwise, depthwise, add; single in fully_connected" in text
    assert f"{sum(layer.weight_count for layer in graph.layers):,} weights" in text
    assert "stm32h7b3 (file in RAM)" in text and "weights are +-127" in text
    beside = json.loads((tmp_path / "net.hnet.json").read_text())
    assert beside["model"] == {"file": "gestures.tflite", "sha256": hashlib.sha256(model.read_bytes()).hexdigest()}
    assert beside["network"]["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    read = parse(model.read_bytes(), "x")
    for layer in beside["layers"]:
        index, node = int(re.findall(r"node (\d+)", layer["operator"])[0]), read.operators
        assert [layer["weights"], layer["bias"]] == list(node[index].inputs[1:3])
    source = read_network(str(out))
    assert (source.file.file, source.model.file) == ("net.hnet", "gestures.tflite")
    code, text, _ = said(capsys, "networks", str(out))
    assert code == 0 and "read from net.hnet" in text and "variants fit" in text


def test_a_network_that_the_default_settings_of_a_method_do_not_take_is_listed(tmp_path, capsys):
    """TinyTrain's work budget is a share of the backward pass: here the only layer is all of it."""
    made = Made()
    made.fully_connected(made.input((8, 8, 1)), 10)
    (tmp_path / "one.tflite").write_bytes(made.bytes())
    code, text, _ = said(capsys, "networks", str(tmp_path / "one.tflite"))
    assert code == 0 and "24 of 28 variants fit" in text


def test_a_network_that_changed_does_not_claim_its_model(model, tmp_path, capsys):
    out = tmp_path / "net.hnet"
    said(capsys, "network", "import", str(model), "--out", str(out))
    graph = decode(out.read_bytes())
    out.write_bytes(encode(graph.with_weights([layer.own.weights // 2 for layer in graph.trained])))
    assert read_network(str(out)).model is None
    (tmp_path / "net.hnet.json").write_text('{"network": 1}')
    out.write_bytes(encode(graph))
    with pytest.raises(RigError, match="net.hnet.json is damaged"):
        read_network(str(out))


def test_a_trial_names_a_network_by_path_and_keeps_the_folder_to_itself(model):
    spec = TrialSpec("stm32h7b3", "block4", str(model), "poor-mans-training", DATA, evaluate=0)
    assert spec.name == "stm32h7b3-gestures.tflite-poor-mans-training-block4-seed1"
    assert spec.network_name == "gestures.tflite"
    method = method_on_network(spec)
    assert np.array_equal(method.network.layers[0].own.weights, build(str(model), 5).layers[0].own.weights)
    assert find_network(str(model)).formats == (method.format,)
    with pytest.raises(RigError, match="the method fqt trains no network 'gestures.tflite': it is one of"):
        method_on_network(TrialSpec("stm32h7b3", "uint8", str(model), "fqt", DATA, evaluate=0))
    with pytest.raises(RigError, match="gestures.tflite takes 8x8x1") as caught:
        prepare(TrialSpec("stm32h7b3", "block4", str(model), "poor-mans-training", "fashion-mnist-1k", evaluate=0))
    assert "private" not in str(caught.value)
    prepared = prepare(spec)
    assert prepared.source.model.sha256 == hashlib.sha256(model.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("none.tflite", None, "the network 'none.tflite' cannot be read"),
        (
            "damaged.tflite",
            b"\x10\x00\x00\x00TFL3" + bytes(40),
            "damaged.tflite cannot be read as .tflite|does not give|has 0 inputs",
        ),
        ("damaged.hnet", b"HNET" + bytes(60), "the network file is of version"),
        ("empty.hnet", b"", "ends after 0 bytes"),
    ],
)
def test_a_file_that_is_no_network_is_refused_before_anything_starts(tmp_path, name, content, sentence):
    path = tmp_path / "private" / name
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RigError, match=sentence) as caught:
        prepare(TrialSpec("stm32h7b3", "block4", str(path), "poor-mans-training", DATA, evaluate=0))
    assert "private" not in str(caught.value) and not isinstance(caught.value, Blocked)


def test_a_model_that_fits_no_board_is_refused_with_figures(tmp_path, capsys):
    made = Made()
    x = made.input((255, 255, 1))
    for channels in (40, 40):
        x = made.convolution(x, channels, (3, 3))
    made.fully_connected(made.mean(x), 3)
    path = tmp_path / "large.tflite"
    path.write_bytes(made.bytes())
    code, text, error = said(capsys, "network", "import", str(path))
    assert (code, text) == (2, "")
    assert f"its values need {255 * 255 * 80:,} bytes of RAM" in error and "an arena of" in error
    assert error.strip().endswith("use a smaller input or fewer channels.")


WRONG = {
    "import MODEL --out net.bin": "net.bin is no name of a network file: end it with .hnet.",
    "import MISSING": "cannot be read",
    "import MODEL --block-map conv1:9": "write it like",
    "import MODEL --out FOLDER/none/net.hnet": "cannot be written (No such file or directory)",
    "export FOLDER --trained --out a.tflite": "has no trial.json: give the folder of a trial that has ended",
    "export FOLDER --trained --out a.bin": "end it with .tflite",
    "fetch mlperf-tiny-ik": "there is no published model 'mlperf-tiny-ik': did you mean mlperf-tiny-",
    "fetch mlperf-tiny-ic --from MODEL": "is not the file that was published as mlperf-tiny-ic",
    "fetch mlperf-tiny-ic --from MISSING": "cannot be read",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_request_is_one_sentence(line, model, tmp_path, capsys):
    places = {"MODEL": str(model), "MISSING": str(tmp_path / "missing.tflite"), "FOLDER": str(tmp_path)}
    words = re.sub("MODEL|MISSING|FOLDER", lambda found: places[found[0]], line).split()
    code, text, error = said(capsys, "network", *words)
    assert (code, text) == (2, "")
    assert WRONG[line] in error and error.count("\n") == 1


def test_published_models_have_a_pinned_address_and_a_licence():
    for model in published().values():
        assert re.fullmatch(
            r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/\S+\.tflite", model.address
        )
        assert model.address.endswith(f"/{model.file}")
        assert re.fullmatch("[0-9a-f]{64}", model.sha256) and model.licence


def test_a_fetched_model_is_verified_before_it_is_written(tmp_path, monkeypatch, capsys):
    """The publisher is a file here: what it gives is compared with the table."""
    given = tmp_path / "given.tflite"
    given.write_bytes(b"not the model")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RigError, match="is not the file that was published"):
        fetched(find_published("mlperf-tiny-ic"), given)
    assert list(tmp_path.iterdir()) == [given]


@pytest.mark.parametrize("name", sorted(published()))
def test_the_table_has_the_digests_of_the_published_files(name, tmp_path):
    model = find_published(name)
    assert (
        main(["network", "fetch", name, "--from", str(mlperf_model(Path(model.file).stem)), "--to", str(tmp_path)]) == 0
    )
    assert network_of(parse((tmp_path / model.file).read_bytes(), name), name).graph.layers


@pytest.mark.parametrize(
    ("method", "variant"), [("int8-bp", "qas"), ("poor-mans-training", "block4"), ("mezo", "mezo")]
)
def test_litert_and_reference_agree_on_1000_samples_before_and_after_training(method, variant):
    data = trainable().bytes()
    model = parse(data, "made")
    imported = network_of(model, "made", "litert")
    kind = find_method(method)
    chosen = kind.on(imported.graph, variant, batch=4, seed=1)
    reference = reference_of(chosen)
    random = np.random.Generator(np.random.PCG64(1))
    for _ in range(3):
        reference.step(
            random.integers(0, 256, (4, 8, 8, 1)).astype(np.uint8), random.integers(0, 10, 4).astype(np.uint8)
        )
    trained = decode(chosen.plan.file(reference.weights))
    samples = random.integers(-128, 128, (1000, 8, 8, 1)).astype(np.int8)
    exported = with_weights_of(data, model, imported, trained)
    assert exported.changed
    for file, graph in ((data, imported.graph), (exported.data, trained)):
        logits = np.stack([one[imported.tensors[-1]].reshape(-1) for one in run(file, samples)])
        assert np.array_equal(forward(replace(imported, graph=graph), samples), logits)
