"""Layers in TFLite's convention in NumPy, written from docs/arithmetic-tflite.md and from nothing else."""
