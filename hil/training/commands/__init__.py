"""The commands of `hil` that belong to training. Each module's `main` parses the rest of the command line."""

COMMANDS = {  # in the order of `hil --help`
    "methods": (
        "hil.training.commands.methods",
        "list the training methods with their variants, settings and networks",
    ),
    "networks": ("hil.training.commands.networks", "list the networks with their sizes and the boards that they fit"),
    "network": ("hil.training.commands.network", "networks of your own: hil network import|export|fetch|head"),
    "campaign": (
        "hil.training.commands.campaign",
        "run trials of several days that survive interruptions: hil campaign start|status|resume|stop",
    ),
    "weights": (
        "hil.training.commands.weights",
        "copy weights between a file and the flash of a board: hil weights save|load",
    ),
    "data": (
        "hil.training.data.command",
        "download full data sets: hil data fetch NAME; the card of any, your own too: hil data card NAME",
    ),
    "experiment": (
        "hil.training.experiments",
        "train the table of a paper and certify it on the board: hil experiment NAME",
    ),
    "tune": (
        "hil.training.experiments.tune",
        "find a learning rate by counts of held-out images: hil tune METHOD NETWORK",
    ),
    "matrix": ("hil.training.commands.matrix", "show which method is bit-exact on which network and board"),
    "mlperf-tiny": ("hil.training.commands.mlperf_tiny", "prepare a board for the runner of MLPerf Tiny"),
}
BENCHMARKS = {  # of `hil bench`: each module's `main` takes its options
    "rig": ("hil.training.benchmarks.rig", "steps, link and start-up rates"),
    "kernels": ("hil.training.benchmarks.kernels", "instructions of every kernel"),
}
