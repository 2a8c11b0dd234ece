"""Sentences on what differs from the paper of QZO-FF in each of its experiments."""

from __future__ import annotations

from hil.training.experiments.qzo_builder import DIRECTIONS, EPSILON, PAPER_EPSILON, QzoRequest
from hil.training.experiments.qzo_runs import ROOM
from hil.training.networks.heads import MARGIN

STANDS_FOR = {"lenet5-tflite": "Resnet12 (few-shot) and ViT tiny", "resnet-tiny": "Resnet18 (few-shot) and ViT tiny"}
DATA_STANDS_FOR = {
    "qzo-few-shot": "Omniglot, the paper's set of handwritten characters; it has 10 classes, of which 5 are for the "
    "choice of rates and 5 for the results, so every task of a split has the same classes and other images",
    "qzo-ablation": "the Visual Wake Words, to which the paper changes from ImageNet; it has 10 classes in the place "
    "of two",
}
FEW_SHOT = (
    f"The last layer begins as prototypes, at a temperature at which a prototype has {MARGIN:g} nats more for its own "
    "class than for another. It and the trained layers before it learn from the 25 support images by cross-entropy; a "
    "step has all of them. The paper's loss and temperature were not said.",
    "SimpleShot has features of length 1 without centring: centring is no operation of these networks.",
    "5 shots for both classifiers; the paper's SimpleShot is on audio, with 1 shot.",
    "fp32 in the place of fp16. 16w8a is shown for all layers too; the paper has it for the linear probe.",
)
OOD = (
    "Corrupted images of Fashion-MNIST (docs/data.md) in the place of CIFAR-10-C; severities 1, 3 and 5. The head is "
    "that of pre-training, which has seen the same images without corruption.",
    "With 3 trained layers the network is the same; the paper has a decoder of 3 layers there, so its rows without "
    "training differ.",
    "`sparse` trains the tenth of the weights that are largest; the paper's sparsity was lost.",
    "D-VPT (prompt tuning) is not run: it needs a transformer.",
)
ABLATION = (
    "The head is drawn anew (Xavier). 16-bit and 8-bit weights of the head, and its logits, have room to grow to "
    f"{ROOM:g} times their first size; the paper does not say how a drawn layer is quantized.",
    f"8w8a has the paper's epsilon, {PAPER_EPSILON:g}, which rounds to nothing in its weights, and in another row "
    f"{EPSILON:g}.",
    "D-VPT (prompt tuning) is not run: it needs a transformer.",
    "The paper prints figures without numbers: what is compared is the order.",
)


def common(request: QzoRequest, name: str) -> tuple[str, ...]:
    """Return the differences of every table, for a request and an experiment."""
    rates = f"the grid begins with {', '.join(f'{rate:g}' for rate in request.rates)}" if request.rates else ""
    chosen = rates or "the grid begins with the values of docs/qzo-ff.md"
    sentences = [
        f"{request.network}, pre-trained on Fashion-MNIST, in the place of {STANDS_FOR[request.network]}: the orders "
        "can be compared, the percentages cannot.",
        _data(request, name),
        "Forward gradients and back-propagation train the same tensors, weights without biases, from the same numbers, "
        "with the same optimizer and schedule; fp32 and BP run on the host only.",
        f"m = {DIRECTIONS} and epsilon = {EPSILON:g} where a row does not say otherwise. The paper's m was lost; its "
        f"epsilon is {PAPER_EPSILON:g}, with which 16w8a fell behind fp32 in trials on held-out images of one seed.",
        f"{request.seeds} seed{'s' if request.seeds > 1 else ''}, which decide the order of samples, the directions, "
        "drawn heads, and which tasks.",
        "" if name == "qzo-few-shot" else f"{request.images} training images; the rate falls along a cosine by steps.",
        (
            "A single rate, which was not searched for."
            if request.rates is not None and len(request.rates) == 1
            else f"Learning rates are searched row by row: {chosen} and grows until the best rate lies inside "
            "it, moves weights and is no worse than no training. The best mean accuracy over the seeds on held-out "
            "images is taken; in few-shot learning on tasks of the validation classes. No test image decides."
        ),
        "No board repeats rows whose head is new, because no trial can name their networks."
        if name != "qzo-ood"
        else "A board repeats the first steps of 16w8a; AdamW has moments, so it cannot begin in the middle.",
        "Not run, because they do not fit a microcontroller or cannot be had: ViT tiny, AST, CRNN, prompt tuning, CUB, "
        "miniImageNet, tieredImageNet, CIFAR-100, Omniglot, VWW, ESC-50, FSDKaggle18 (docs/qzo-ff.md).",
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _data(request: QzoRequest, name: str) -> str:
    if name not in DATA_STANDS_FOR:
        return ""
    seen = " The backbone has seen its classes in pre-training." if "fashion" in request.data else ""
    return f"{request.data} in the place of {DATA_STANDS_FOR[name]}.{seen}"
