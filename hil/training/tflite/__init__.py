"""Int8 models in TensorFlow Lite's file format: read, imported as a network, and written with trained weights."""
