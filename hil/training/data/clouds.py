"""Point clouds from triangle meshes: points drawn on the surface, moved to the centroid, scaled to radius 1.

Every number comes from single IEEE 754 operations in a stated order, so every computer gives the same bytes.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from hil.errors import RigError

POINTS = 256
SIDE = 16  # a cloud is an image of SIDE x SIDE points with three channels (docs/arithmetic-float32.md, section 3)
VERTEX = re.compile(rb"^v[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)", re.MULTILINE)
FACE = re.compile(rb"^f[ \t]+(.*)$", re.MULTILINE)


def read_obj(text: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices, float64 [n, 3], and the triangles, int64 [m, 3], of a Wavefront OBJ file.

    A polygon becomes a fan of triangles around its first vertex. Lines and points of the file are ignored. Faces that
    count vertices backwards (negative numbers) are not supported.

    Raises:
        RigError: a number cannot be read, or a face names a vertex that does not exist.
    """
    try:
        numbers = [float(word) for position in re.findall(VERTEX, text) for word in position]
        polygons = [[int(word.split(b"/", 1)[0]) - 1 for word in line.split()] for line in re.findall(FACE, text)]
    except ValueError as error:
        raise RigError(f"its mesh cannot be read ({error})") from error
    vertices = np.array(numbers, np.float64).reshape(-1, 3)
    triangles = [(one[0], *pair) for one in polygons for pair in pairwise(one[1:])]
    faces = np.array(triangles, np.int64).reshape(-1, 3)
    if not faces.size or faces.min() < 0 or faces.max() >= len(vertices) or not np.isfinite(vertices).all():
        raise RigError("its mesh has no faces, or faces of vertices that do not exist")
    return vertices, faces


def drawn(vertices: np.ndarray, faces: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return `POINTS` points on the surface of a mesh, float64 [POINTS, 3]; equal areas are equally likely.

    Raises:
        RigError: the surface has no area.
    """
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    u, v = b - a, c - a
    normal = u[:, [1, 2, 0]] * v[:, [2, 0, 1]] - u[:, [2, 0, 1]] * v[:, [1, 2, 0]]
    square = normal * normal
    total = np.cumsum(np.sqrt(square[:, 0] + square[:, 1] + square[:, 2]))  # in order, unlike np.sum
    if not total[-1] > 0:
        raise RigError("its mesh has no area")
    uniform = rng.random((3, POINTS))
    chosen = np.minimum(np.searchsorted(total, uniform[0] * total[-1], side="right"), len(faces) - 1)
    root = np.sqrt(uniform[1])
    along, across = (root * (1 - uniform[2]))[:, None], (root * uniform[2])[:, None]
    points: np.ndarray = a[chosen] + along * u[chosen] + across * v[chosen]
    return points


def as_bytes(points: np.ndarray) -> np.ndarray:
    """Return points with their centroid at 0 and the farthest at radius 1, as bytes [SIDE, SIDE, 3].

    A byte p stands for (p - 128) / 128; +1 becomes 127 / 128.
    """
    centred = points - np.cumsum(points, axis=0)[-1] / len(points)
    square = centred * centred
    radius = np.sqrt(square[:, 0] + square[:, 1] + square[:, 2]).max()
    levels = np.rint(128 + 128 * (centred / radius))
    image: np.ndarray = np.clip(levels, 0, 255).astype(np.uint8).reshape(SIDE, SIDE, 3)
    return image
