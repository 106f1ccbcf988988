"""The solids that objects are built from: convex solids, cones and ellipsoids, each with a material.

A `Part` is given in the frame of its object: x forward, y left, z up, the ground at z = 0, metres.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Colour: TypeAlias = tuple[float, float, float]
Vector: TypeAlias = "Sequence[float] | NDArray[np.float64]"
Shape: TypeAlias = Literal["convex", "cone", "ellipsoid"]
Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Material:
    """How a surface looks."""

    colour: Colour
    """Linear red, green, blue, 0 to 1."""
    texture: str = "plain"
    """A name in `theodolite.worlds.render.textures`."""
    scale_m: float = 0.1
    """The size of the texture's features."""
    second: Colour = (0.0, 0.0, 0.0)
    """The other colour of a texture that has two."""
    gloss: float = 0.0
    """Strength of the highlight, 0 to 1."""
    glow: float = 0.0
    """How much it glows: 1 shows the plain colour, unshaded."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A solid. Only what its shape needs is filled in."""

    shape: Shape
    material: Material
    points: Array
    """Shape (k, 3): corners; of a round part, points around its rims (its silhouette lies within their hull)."""
    normals: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """Of a convex solid, shape (planes, 3): outward, of length one; inside is n·x ≤ offset."""
    offsets: Array = field(default_factory=lambda: np.zeros(0))
    axes: Array = field(default_factory=lambda: np.eye(3))
    """Of a round part: rows are its own axes."""
    centre: Array = field(default_factory=lambda: np.zeros(3))
    """Of a cone: the middle of its base. Of an ellipsoid: its middle."""
    radii: Array = field(default_factory=lambda: np.ones(3))
    """Of a cone: base radius, top radius, height. Of an ellipsoid: the three half-axes."""

    def placed(self, rotation: Array, translation: Array) -> Part:
        """Return the part in another frame: x → R x + t."""
        turned = self.normals @ rotation.T
        return Part(
            self.shape,
            self.material,
            self.points @ rotation.T + translation,
            turned,
            self.offsets + turned @ translation,
            self.axes @ rotation.T,
            rotation @ self.centre + translation,
            self.radii,
        )

    def scaled(self, factor: float) -> Part:
        """Return the part in another size: x → factor · x."""
        return replace(
            self,
            material=replace(self.material, scale_m=factor * self.material.scale_m),
            points=factor * self.points,
            offsets=factor * self.offsets,
            centre=factor * self.centre,
            radii=factor * self.radii,
        )


def turn_z(degrees: float) -> Array:
    """Return a rotation about the vertical, counter-clockwise from above."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def turn_y(degrees: float) -> Array:
    """Return a rotation about the left axis: positive tips the front down."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def turn_x(degrees: float) -> Array:
    """Return a rotation about the forward axis."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


_BOX_NORMALS = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)


def box(centre: Vector, size: Vector, material: Material, turn: Array | None = None) -> Part:
    """Return a box, by its centre and its three sides, optionally turned about its centre."""
    half, middle = np.asarray(size, np.float64) / 2, np.asarray(centre, np.float64)
    rotation = np.eye(3) if turn is None else turn
    normals = _BOX_NORMALS @ rotation.T
    offsets = np.repeat(half, 2) + normals @ middle
    return Part("convex", material, (_CORNERS * half) @ rotation.T + middle, normals, offsets)


def prism(
    profile: Sequence[tuple[float, float]],
    across: tuple[float, float],
    material: Material,
    *,
    taper: float = 1.0,
    top_z: float | None = None,
) -> Part:
    """Return an extruded side view: the solid whose outline in the x–z plane is a convex polygon.

    Args:
        profile: Corners (x, z), clockwise or counter-clockwise.
        across: The range of y.
        material: Material of all sides.
        taper: How much narrower the solid is, in y, at its highest corner than at its lowest.
        top_z: Where the taper is reached; the highest corner by default.
    """
    xs = np.asarray(profile, np.float64)
    low = xs[:, 1].min()
    high = xs[:, 1].max() if top_z is None else top_z
    middle, half = (across[0] + across[1]) / 2, (across[1] - across[0]) / 2
    fall = half * (1 - taper) / max(high - low, 1e-9)
    reach = half - fall * (xs[:, 1] - low)
    sides = [np.stack([xs[:, 0], middle + sign * reach, xs[:, 1]], axis=1) for sign in (-1, 1)]
    points = np.concatenate(sides)
    # An edge of the profile gives a plane along y; a flank is the plane ±(y − middle) + fall · (z − low) = half.
    edges = np.roll(xs, -1, axis=0) - xs
    around = np.stack([edges[:, 1], np.zeros(len(xs)), -edges[:, 0]], axis=1)
    flanks = np.array([[0.0, sign, fall] for sign in (-1, 1)])
    on = np.concatenate([sides[0], sides[0][:1], sides[1][:1]])
    normals = np.concatenate([around, flanks])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    outward = np.sign(((on - points.mean(axis=0)) * normals).sum(axis=1))
    normals = normals * outward[:, None]
    return Part("convex", material, points, normals, (on * normals).sum(axis=1))


def hull(points: Array, material: Material) -> Part:
    """Return the convex hull of points."""
    from scipy.spatial import ConvexHull

    solid = ConvexHull(points)
    planes = np.unique(solid.equations.round(7), axis=0)
    return Part("convex", material, np.asarray(points, np.float64), planes[:, :3], -planes[:, 3])


_ANGLES = np.linspace(0, 2 * np.pi, 16, endpoint=False)
_RING = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)


def _axes_along(x: float, y: float, z: float) -> Array:
    """Return three axes of length one, the third along a direction."""
    length = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / length, y / length, z / length
    first = (0.0, z, -y) if abs(x) < 0.9 else (-z, 0.0, x)
    size = math.sqrt(sum(v * v for v in first))
    a, b, c = (v / size for v in first)
    return np.array([[a, b, c], [y * c - z * b, z * a - x * c, x * b - y * a], [x, y, z]])


def cone(
    base: Vector,
    height: float,
    radii: tuple[float, float],
    material: Material,
    axis: Vector = (0, 0, 1),
) -> Part:
    """Return a cylinder or a cut cone.

    Args:
        base: Middle of the base.
        height: Height along the axis.
        radii: Radii of base and top.
        material: Material of the surface.
        axis: Direction from base to top.
    """
    axes = _axes_along(*map(float, axis))
    along, middle = axes[2], np.asarray(base, np.float64)
    ring = _RING @ axes[:2]
    points = np.concatenate([middle + ring * radii[0], middle + along * height + ring * radii[1]])
    return Part(
        "cone", material, points, axes=axes, centre=middle, radii=np.array([*radii, height], np.float64)
    )


def rod(start: Vector, end: Vector, radii: tuple[float, float], material: Material) -> Part:
    """Return a round bar from one point to another, with the radii of its two ends."""
    one, two = np.asarray(start, np.float64), np.asarray(end, np.float64)
    return cone(one, float(np.linalg.norm(two - one)), radii, material, two - one)


_SPHERE = np.concatenate(
    [
        *(
            np.concatenate([_RING * math.cos(t), np.full((16, 1), math.sin(t))], axis=1)
            for t in (-1.0, -0.5, 0.0, 0.5, 1.0)
        ),
        np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]),
    ]
)
"""Points on the unit sphere."""


def ball(centre: Vector, radii: Vector, material: Material, turn: Array | None = None) -> Part:
    """Return an ellipsoid."""
    rotation = np.eye(3) if turn is None else turn
    middle, half = np.asarray(centre, np.float64), np.asarray(radii, np.float64)
    points = (_SPHERE * half) @ rotation.T + middle
    return Part("ellipsoid", material, points, axes=rotation.T, centre=middle, radii=half)


def extent(parts: Sequence[Part]) -> tuple[Array, Array]:
    """Return the lowest and the highest corner of the upright box around some parts."""
    low = np.min([_bounds(part)[0] for part in parts], axis=0)
    high = np.max([_bounds(part)[1] for part in parts], axis=0)
    return low, high


def _bounds(part: Part) -> tuple[Array, Array]:
    """Return exact bounds: of an ellipsoid |x_k − c_k| ≤ √Σ (a_ik r_i)²; of a cone, those of its two rims."""
    if part.shape == "ellipsoid":
        reach = np.sqrt(((part.axes * part.radii[:, None]) ** 2).sum(axis=0))
        return part.centre - reach, part.centre + reach
    if part.shape == "cone":
        along = part.axes[2]
        rim = np.sqrt(np.clip(1 - along**2, 0, None))
        ends = part.centre, part.centre + along * part.radii[2]
        lows = [end - rim * r for end, r in zip(ends, part.radii[:2], strict=True)]
        highs = [end + rim * r for end, r in zip(ends, part.radii[:2], strict=True)]
        return np.min(lows, axis=0), np.max(highs, axis=0)
    return part.points.min(axis=0), part.points.max(axis=0)
