"""What the paper of FQT prints in numbers (Deutel et al., section IV and tables II and IV), and titles of rows."""

from __future__ import annotations

from collections.abc import Mapping

CONFIGURATIONS = ("uint8", "mixed", "float32")
SHARES = (1.0, 0.5, 0.1)  # lambda_min of figures 6 and 8
EPOCHS, MCUNET_EPOCHS, BATCH, RATE = 20, 50, 48, 0.001
LAST_LAYERS = 5  # reset and retrained in transfer learning
STEPS = 1000  # consecutive ones, over which latency and energy are averaged
SPEEDUP = 6.64  # mean over seven data sets: backward pass of `mixed` with lambda_min 0.1 on the IMXRT1062

# Table II: current of the idle board in mA, and RAM in KB.
IDLE_MA: Mapping[str, float] = {"rp2040": 31.24, "nrf52840": 7.27, "imxrt1062": 108.26}
RAM_KB: Mapping[str, int] = {"rp2040": 264, "nrf52840": 256, "imxrt1062": 1024}

# Table IV: accuracy of MCUNet-5FPS in percent, the last two blocks trained for 50 epochs.
TABLE4_COLUMNS = ("cars", "cifar10", "cifar100", "cub", "flowers", "food", "pets", "vww", "mean")
TABLE4: Mapping[str, Mapping[str, float]] = {
    row: dict(zip(TABLE4_COLUMNS, values, strict=True))
    for row, values in {
        "sgd-m-fp32": (56.7, 86.0, 63.4, 56.2, 88.8, 67.1, 79.5, 88.7, 73.3),
        "sgd-m-int8": (31.2, 75.4, 64.5, 55.1, 84.5, 52.5, 79.5, 88.7, 64.9),
        "mcutrain": (55.2, 86.9, 64.6, 57.8, 89.1, 64.4, 80.9, 89.3, 73.5),
        "uint8": (54.5, 89.5, 65.2, 58.5, 85.8, 66.6, 79.8, 89.3, 73.7),
    }.items()
}

# Section IV-E, in text: MBedNet and MCUNet on CIFAR-10.
CIFAR10 = (
    "On CIFAR-10 the paper's MBedNet has about 86 % before and 85.9 % after training by uint8; "
    "its MCUNet about 86 % and 89.5 %, beside 86.9 % by SGD+M+QAS."
)
BARS = "The paper shows bars without numbers, so what is compared is the order."

TITLES: Mapping[str, str] = {
    "baseline": "baseline, before the reset",
    **{
        f"{configuration}-{share:g}": f"{configuration}, lambda_min {share:g}"
        for configuration in CONFIGURATIONS
        for share in SHARES
    },
    "sgd-m-fp32": "SGD-M, fp32",
    "sgd-m-int8": "SGD-M, int8",
    "mcutrain": "SGD+M+QAS, int8 (MCUTrain)",
    "last5": "the last five layers",
    "all": "all layers",
    "last-two-blocks": "the last two blocks",
}
