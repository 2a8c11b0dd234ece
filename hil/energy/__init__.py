"""Turn what endpoints give into quantities: watermarks, cycles."""
