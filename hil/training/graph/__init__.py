"""The network as a graph, its file with everything that a reader refuses (docs/network.md), and the memory planner."""
