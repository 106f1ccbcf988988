"""From depth and identity to a picture: texture, sun and sky light, cast shadows, haze, and anti-aliasing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.types import Pixels
from theodolite.geometry import SE3, PinholeCamera
from theodolite.worlds.render import kernels
from theodolite.worlds.render.parts import Array, Colour, Part
from theodolite.worlds.render.raster import Buffers, Lattice, rasterise
from theodolite.worlds.render.textures import noise, paint

_SHADOW_SIDE = 1100
_CHUNK = 400_000


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """An object to draw: its parts in its own frame, and its pose."""

    parts: tuple[Part, ...]
    world_SE3_thing: SE3
    instance: int = 0
    """What the instance map shows for it; 0 is background."""
    casts_shadow: bool = True


@dataclass(frozen=True, slots=True)
class Light:
    """A sun (or ceiling light far away), and light from everywhere."""

    to_sun: tuple[float, float, float]
    """In the world: from the ground towards the light."""
    sun: Colour = (1.0, 0.95, 0.85)
    sky: Colour = (0.45, 0.5, 0.6)
    """Light on what faces up."""
    ground: Colour = (0.28, 0.26, 0.24)
    """Light on what faces down."""
    softness_px: float = 1.5
    """How far a shadow's edge is smeared, in the shadow map."""
    haze_m: float = 0.0
    """Distance at which haze hides 63 %; none if 0."""
    background: tuple[Colour, Colour] = ((0.32, 0.52, 0.85), (0.78, 0.86, 0.95))
    """Of the sky: overhead, and at the horizon."""


@dataclass(frozen=True, slots=True, eq=False)
class Render:
    """A picture with depth and instance of each pixel."""

    picture: Pixels
    depth_m: NDArray[np.float32]
    """Along the viewing axis; infinite for the sky."""
    instance: NDArray[np.int32]
    """The `Solid.instance` that most of a pixel shows."""


def render(
    solids: Sequence[Solid], camera: PinholeCamera, world_SE3_cam: SE3, light: Light, *, samples: int = 2
) -> Render:
    """Draw solids.

    Args:
        solids: The solids to draw.
        camera: Its intrinsics.
        world_SE3_cam: Its pose; x right, y down, z forward.
        light: Sun, sky and haze.
        samples: Rays per pixel along each axis.
    """
    cam_SE3_world = world_SE3_cam.inverse()
    placed, owners = _placed(solids, cam_SE3_world)
    lattice = Lattice.of_camera(camera, samples)
    buffers = rasterise(placed, lattice)
    shadows = _ShadowMap(solids, light, world_SE3_cam)
    colour = np.zeros((*lattice.shape, 3), np.float32)
    _fill_sky(colour, buffers, lattice, world_SE3_cam, light)
    is_plain = _is_plain(buffers.part, samples)
    wanted = np.where(_spare(is_plain, samples), -1, buffers.part)
    order = np.argsort(wanted, axis=None, kind="stable")
    starts = np.searchsorted(wanted.ravel()[order], np.arange(len(placed) + 1))
    flat = colour.reshape(-1, 3)
    for index, part in enumerate(placed):
        pixels = order[starts[index] : starts[index + 1]]
        for chunk in (pixels[i : i + _CHUNK] for i in range(0, len(pixels), _CHUNK)):
            points = _points(chunk, buffers, lattice)
            thing_SE3_cam = (cam_SE3_world @ solids[owners[index]].world_SE3_thing).inverse()
            flat[chunk] = _lit(part, points, thing_SE3_cam, world_SE3_cam, light, shadows)
    _spread(colour, is_plain & (buffers.part[::samples, ::samples] >= 0), samples)
    middle = samples // 2  # of a pixel's rays, the one nearest to its middle
    instances = np.array([*(solids[owner].instance for owner in owners), 0], np.int32)[buffers.part]
    return Render(
        _developed(colour, samples),
        buffers.depth[middle::samples, middle::samples],
        instances[middle::samples, middle::samples],
    )


def _is_plain(part: NDArray[np.int32], samples: int) -> NDArray[np.bool_]:
    """Return, for each pixel, True if all its rays hit the same part. Such a pixel is shaded only along its diagonal."""
    height, width = part.shape[0] // samples, part.shape[1] // samples
    rays = part.reshape(height, samples, width, samples)
    return np.asarray((rays == rays[:, :1, :, :1]).all(axis=(1, 3)))


def _spare(is_plain: NDArray[np.bool_], samples: int) -> NDArray[np.bool_]:
    """Return, for each ray, True if it need not be shaded."""
    off_diagonal = ~np.eye(samples, dtype=bool)
    return np.asarray(np.kron(is_plain, off_diagonal))


def _spread(colour: NDArray[np.float32], is_plain: NDArray[np.bool_], samples: int) -> None:
    """Give the other rays the colour of their row's ray on the diagonal."""
    for row in range(samples):
        for column in range(samples):
            if row != column:
                colour[row::samples, column::samples][is_plain] = colour[row::samples, row::samples][is_plain]


def _placed(solids: Sequence[Solid], dst_SE3_world: SE3) -> tuple[list[Part], list[int]]:
    """Return all parts in one frame, and the solid that each belongs to."""
    placed, owners = [], []
    for number, solid in enumerate(solids):
        move = dst_SE3_world @ solid.world_SE3_thing
        placed += [part.placed(move.rotation, move.translation_m) for part in solid.parts]
        owners += [number] * len(solid.parts)
    return placed, owners


def _points(pixels: NDArray[np.intp], buffers: Buffers, lattice: Lattice) -> Array:
    """Return the visible points, shape (n, 3), in the camera's frame."""
    rows, columns = np.divmod(pixels, lattice.shape[1])
    t = buffers.depth.ravel()[pixels].astype(np.float64)
    return np.stack([lattice.us[columns] * t, lattice.vs[rows] * t, t], axis=1)


def _normals(part: Part, points: Array) -> Array:
    """Return outward unit normals at points on the surface."""
    if part.shape == "convex":
        return np.asarray(part.normals[np.argmax(points @ part.normals.T - part.offsets, axis=1)])
    local = (points - part.centre) @ part.axes.T
    if part.shape == "ellipsoid":
        normals = local / part.radii**2
    else:
        r0, r1, height = part.radii
        round_ = np.hypot(local[:, 0], local[:, 1])
        reach = r0 + (r1 - r0) * local[:, 2] / height
        normals = np.stack([local[:, 0], local[:, 1], -round_ * (r1 - r0) / height], axis=1)
        is_cap = np.abs(round_ - reach) > 1e-3 * max(r0, r1) + 1e-6
        normals[is_cap] = np.where(local[is_cap, 2:] > height / 2, [[0.0, 0.0, 1.0]], [[0.0, 0.0, -1.0]])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    return np.asarray(normals @ part.axes)


def _lit(
    part: Part, points: Array, thing_SE3_cam: SE3, world_SE3_cam: SE3, light: Light, shadows: _ShadowMap
) -> Array:
    """Return the light that leaves some points of a part towards the camera."""
    normals = _normals(part, points)
    albedo = paint(part.material, thing_SE3_cam.apply(points), normals @ thing_SE3_cam.rotation.T)
    world_points, world_normals = world_SE3_cam.apply(points), normals @ world_SE3_cam.rotation.T
    to_sun = np.asarray(light.to_sun) / np.linalg.norm(light.to_sun)
    facing = np.clip(world_normals @ to_sun, 0, None)
    sunlit = facing * shadows.share_lit(world_points, world_normals)
    up = 0.5 + 0.5 * world_normals[:, 2:]
    ambient = up * np.asarray(light.sky) + (1 - up) * np.asarray(light.ground)
    colour = albedo * (ambient + sunlit[:, None] * np.asarray(light.sun))
    if part.material.gloss:
        view = -points / np.linalg.norm(points, axis=1, keepdims=True) @ world_SE3_cam.rotation.T
        half = view + to_sun
        half /= np.linalg.norm(half, axis=1, keepdims=True)
        shine = np.clip((world_normals * half).sum(axis=1), 0, 1) ** 40 * (sunlit > 0)
        mirror = np.clip(1 - (world_normals * view).sum(axis=1), 0, 1) ** 3
        colour = colour + part.material.gloss * (
            0.8 * shine[:, None] + 0.35 * mirror[:, None] * np.asarray(light.background[1])
        )
    colour = colour + part.material.glow * (albedo - colour)
    if light.haze_m:
        veil = 1 - np.exp(-np.linalg.norm(points, axis=1) / light.haze_m)
        colour = colour + veil[:, None] * (np.asarray(light.background[1]) - colour)
    return np.asarray(colour)


class _ShadowMap:
    """Depth seen from the light; a point is lit if nothing is nearer to the light."""

    def __init__(self, solids: Sequence[Solid], light: Light, world_SE3_cam: SE3) -> None:
        casting = [solid for solid in solids if solid.casts_shadow]
        down = -np.asarray(light.to_sun) / np.linalg.norm(light.to_sun)
        side = np.cross(down, [0.0, 0.0, 1.0])
        side = side / np.linalg.norm(side) if np.linalg.norm(side) > 1e-6 else np.array([1.0, 0.0, 0.0])
        rotation = np.stack([side, np.cross(down, side), down])
        self._light_SE3_world = SE3(rotation, -rotation @ (world_SE3_cam.translation_m - 200 * down))
        parts, _ = _placed(casting, self._light_SE3_world)
        self._softness = light.softness_px
        if not parts:
            self._depth: NDArray[np.float32] | None = None
            return
        points = np.concatenate([part.points for part in parts])
        low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
        self._step = float((high - low).max()) / _SHADOW_SIDE + 1e-9
        columns, rows = (np.arange(low[k], high[k] + self._step, self._step) + self._step / 2 for k in (0, 1))
        lattice = Lattice(columns, rows, is_parallel=True)
        self._low = low
        self._depth = rasterise(parts, lattice).depth

    def share_lit(self, points: Array, normals: Array) -> Array:
        """Return the lit share of each point, shape (n,), in [0, 1], smoothed over a few texels."""
        if self._depth is None:
            return np.ones(len(points))
        seen = self._light_SE3_world.apply(points + normals * 2.0 * self._step)
        texels = (seen[:, :2] - self._low) / self._step
        loops = kernels.compiled()
        if loops is not None:
            lit = np.empty(len(points))
            loops["share_lit"](texels, seen[:, 2].copy(), self._depth, self._softness, 1.5 * self._step, lit)
            return lit
        return self._plain_share_lit(texels, seen[:, 2], self._depth)

    def _plain_share_lit(self, texels: Array, height: Array, depth: NDArray[np.float32]) -> Array:
        lit = np.zeros(len(texels))
        offsets = [(x, y) for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)]
        for x, y in offsets:
            columns = np.floor(texels[:, 0] + x * self._softness).astype(np.int64)
            rows = np.floor(texels[:, 1] + y * self._softness).astype(np.int64)
            is_on = (columns >= 0) & (columns < depth.shape[1]) & (rows >= 0) & (rows < depth.shape[0])
            nearest = np.full(len(texels), np.inf)
            nearest[is_on] = depth[rows[is_on], columns[is_on]]
            lit += height <= nearest + 1.5 * self._step
        return lit / len(offsets)


def _fill_sky(
    colour: NDArray[np.float32], buffers: Buffers, lattice: Lattice, world_SE3_cam: SE3, light: Light
) -> None:
    """Fill in the sky: from the horizon's colour to that overhead, with clouds."""
    rows, columns = np.nonzero(buffers.part < 0)
    if len(rows) == 0:
        return
    ways = (
        np.stack([lattice.us[columns], lattice.vs[rows], np.ones(len(rows))], axis=1)
        @ world_SE3_cam.rotation.T
    )
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    height = np.clip(ways[:, 2], 0, 1)[:, None] ** 0.6
    top, horizon = (np.asarray(c) for c in light.background)
    sky = horizon + height * (top - horizon)
    directions = ways / np.maximum(ways[:, 2:], 0.06)
    directions[:, 2] = 0.0
    clouds = np.clip((noise(directions, 1.6, 4) - 0.5) * 3.2, 0, 1)[:, None] * np.clip(height * 3, 0, 1)
    colour[rows, columns] = sky + 0.75 * clouds * (np.array([1.0, 1.0, 1.0]) - sky)


def _developed(colour: NDArray[np.float32], samples: int) -> Pixels:
    """Average the rays of each pixel in linear light, and convert to sRGB."""
    height, width = colour.shape[0] // samples, colour.shape[1] // samples
    exposed = 1 - np.exp(-1.55 * np.clip(colour, 0, None))
    mean = exposed.reshape(height, samples, width, samples, 3).mean(axis=(1, 3))
    srgb = np.where(mean <= 0.0031308, 12.92 * mean, 1.055 * np.maximum(mean, 1e-9) ** (1 / 2.4) - 0.055)
    return np.asarray((np.clip(srgb, 0, 1) * 255 + 0.5).astype(np.uint8))
