"""Generated from hil/training/methods/methods.toml by `python -m hil.training.methods.generate`; edit that file."""

from __future__ import annotations

from dataclasses import dataclass

from hil.training.methods.settings import MethodSettings, described


@dataclass(frozen=True)
class ElasticzoFields(MethodSettings):
    """The settings of the table `elasticzo`."""

    table = described("elasticzo")

    partition: int
    b_zo: int = 1
    b_bp: int = 5
    p_zero: int = 84
    r_max: int = 7
    loss: str = "float"
    scope: str = "sample"
    perturb: str = "clamped"
    logit_error: str = "niti"
    loss_fraction: int = 0
    batch: int = 8
    seed: int = 1


@dataclass(frozen=True)
class Tflite8Fields(MethodSettings):
    """The settings of the table `tflite8`."""

    table = described("tflite8")

    method: str = "poor-mans"
    train: str = "all"
    blocks: int = 15
    train_bias: int = 1
    perturb: str = "adaptive"
    wise: str = "layer"
    difference: str = "forward"
    direction: str = "sample"
    gns: int = 1
    qas: int = 1
    sparsity: int = 0
    queries: int = 10
    eta: float = 0.01
    batch: int = 1
    seed: int = 1
    consumed: int = 0
    fused: int = 0
    momentum: float = 0.0
    ranking: int = 1
    memory_budget: int = 1048576
    work_budget: int = 38
    channels: int = 128


@dataclass(frozen=True)
class ElasticzoFp32Fields(MethodSettings):
    """The settings of the table `elasticzo_fp32`."""

    table = described("elasticzo_fp32")

    partition: int
    epsilon: float = 0.001
    eta: float = 0.001
    g_clip: float = 5.0
    batch: int = 32
    seed: int = 1


@dataclass(frozen=True)
class QzoFfFields(MethodSettings):
    """The settings of the table `qzo_ff`."""

    table = described("qzo_ff")

    directions: int = 1
    epsilon: float = 0.001
    rho: float = 0.0
    eta: float = 0.001
    eta_min: float = 0.0
    warmup: int = 0
    steps: int = 0
    optimizer: str = "plain"
    beta1: float = 0.9
    beta2: float = 0.95
    distribution: str = "gaussian"
    last_layers: int = 64
    train_bias: int = 0
    guide: int = 0
    guide_from: int = 0
    smoothing: int = 26
    sparse: str = "off"
    keep: int = 26
    threshold: float = 0.0
    normalise: int = 0
    batch: int = 8
    seed: int = 1


@dataclass(frozen=True)
class FqtFields(MethodSettings):
    """The settings of the table `fqt`."""

    table = described("fqt")

    last_layers: int = 64
    train_bias: int = 1
    eta: float = 0.001
    gradient: str = "sum"
    standardise: str = "running"
    statistics_momentum: float = 0.01
    epsilon: float = 1e-08
    range_momentum: float = 0.0625
    range_growth: float = 0.125
    error_range: str = "sample"
    lambda_min: float = 1.0
    lambda_max: float = 1.0
    rate: str = "ratio"
    sparse_head: int = 0
    optimizer: str = "sgd"
    beta1: float = 0.9
    beta2: float = 0.999
    batch: int = 48
    seed: int = 1


@dataclass(frozen=True)
class QuzoFields(MethodSettings):
    """The settings of the table `quzo`."""

    table = described("quzo")

    directions: int = 1
    epsilon: float = 0.01
    eta: float = 0.001
    last_layers: int = 64
    batch: int = 8
    seed: int = 1


@dataclass(frozen=True)
class PerturbedScalesFields(MethodSettings):
    """The settings of the table `perturbed_scales`."""

    table = described("perturbed_scales")

    epsilon: float = 0.01
    eta: float = 0.001
    clip: float = 0.0
    last_layers: int = 64
    batch: int = 8
    seed: int = 1
