"""Few-shot tasks: classes of a split, images that are not in both parts, the same task by its name."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load


def test_a_task_has_its_classes_and_images() -> None:
    task, whole = load("fashion-mnist-1k@5-way-5-shot-test-3"), load("fashion-mnist-1k")
    assert task.train_images.shape == (25, 28, 28) and task.test_images.shape == (75, 28, 28)
    assert task.train_labels.tolist() == sorted([*range(5)] * 5) and np.bincount(task.test_labels).tolist() == [15] * 5
    known = {image.tobytes(): int(label) for image, label in zip(whole.train_images, whole.train_labels, strict=True)}
    support, queries = ({image.tobytes() for image in part} for part in (task.train_images, task.test_images))
    assert not support & queries and len(support) == 25
    assert {known[image] for image in support} == {known[image] for image in queries} == set(range(5, 10))


def test_splits_share_no_class_and_tasks_differ() -> None:
    names = [f"fashion-mnist-1k@3-way-2-shot-{split}-{number}" for split in ("val", "test") for number in (0, 1)]
    tasks = [load(name) for name in names]
    assert len({task.sha256 for task in tasks}) == 4
    assert load(names[0]).sha256 == tasks[0].sha256


@pytest.mark.parametrize(
    "name, said",
    [
        ("fashion-mnist-1k@6-way-5-shot-val-0", "has 5 classes for val tasks, not 6"),
        ("fashion-mnist-1k@5-way-200-shot-val-0", "images of class"),
        ("fashion-mnist-1k@5-way-5-shot-train-0", "there is no data set"),
    ],
)
def test_what_is_refused(name: str, said: str) -> None:
    with pytest.raises(RigError, match=said):
        load(name)
