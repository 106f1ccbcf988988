"""The user's own videos as episodes: a JSONL file whose lines name a video in place of pictures.

``{"id": "c1", "video": "clips/c1.mp4", "task": "What falls?", "answer": "the cup"}``, and any other field of an episode.
With ``frames``, each with its ``time_s`` and perhaps annotations, those moments are shown; otherwise some that are evenly
spread. GIF, WebP and APNG are read by Pillow, anything else by PyAV (the extra ``video``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.core.files import inside, is_there, read_lines
from theodolite.core.pictures import NotAPictureError, check_size, open_image
from theodolite.core.types import Picture
from theodolite.instruments.trace.data.dataset import EpisodeSet, read_episode
from theodolite.worlds.episodes import Episode, Frame

N_FRAMES = 8
_SLACK_S = 0.05
"""A moment may lie so far behind the end of a video: written times are rounded."""


def read_videos(path: str | Path, keep: str | Path, *, n_frames: int = N_FRAMES) -> EpisodeSet:
    """Read one episode per line of a JSONL file. Broken or missing videos are reported as problems; the others are read.

    Args:
        path: The file; videos are named relative to its folder.
        keep: A folder to write the frames to; the episodes then refer to it.
        n_frames: Number of frames to take from a video whose line lists none.

    Raises:
        UsageError: The file cannot be read, or none of its videos can.
    """
    file, keep = Path(path), Path(keep)
    keep.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()

    def read(fields: Any) -> Episode:
        episode, video, times = _episode(fields, file.parent, n_frames)
        if episode.id in seen:
            raise UsageError(f"the id {episode.id!r} occurs twice; the first is kept")
        complete = replace(episode, frames=tuple(_frames(episode, video, times, keep / f"{len(seen):05d}")))
        seen.add(episode.id)
        return complete

    rows, problems = read_lines(file, read)
    if not rows:
        raise UsageError(f"{file} holds no usable video" + (f": {problems[0].reason}" if problems else ""))
    return EpisodeSet(tuple(episode for _, episode in rows), tuple(problems))


def _episode(fields: Any, folder: Path, n_frames: int) -> tuple[Episode, Path, list[float]]:
    """Return the episode without its pictures, its video, and the times at which to take frames."""
    if not isinstance(fields, dict) or not isinstance(fields.get("video"), str):
        raise UsageError("the line names no video")
    video = inside(folder, fields.pop("video"), "video")
    times = _moments(fields.get("frames") or []) or spread(length_s(video), n_frames)
    fields["frames"] = fields.get("frames") or [{"time_s": round(t, 3)} for t in times]
    return read_episode(fields, folder), video, times


def _moments(frames: Any) -> list[float]:
    listed = frames if isinstance(frames, list) else [frames]
    times = [frame.get("time_s") if isinstance(frame, dict) else None for frame in listed]
    numbers = [float(t) for t in times if isinstance(t, (int, float)) and t >= 0]
    if len(numbers) != len(times):
        raise UsageError("frames of a video need their time_s, in seconds from its beginning")
    if numbers != sorted(numbers):
        raise UsageError("frames of a video must be in the order of their time_s")
    return numbers


def _frames(episode: Episode, video: Path, times: Sequence[float], start: Path) -> Iterator[Frame]:
    """Yield the frames with their pictures, in files whose names begin with `start`."""
    for number, (frame, pixels) in enumerate(zip(episode.frames, shots(video, times), strict=True)):
        target = start.with_name(f"{start.name}-{number:04d}.png")
        Image.fromarray(pixels).save(target, compress_level=3)
        height, width = pixels.shape[:2]
        yield replace(frame, picture=Picture.from_path(target), size_px=(width, height))


def spread(length: float, n: int) -> list[float]:
    """Return the middles of `n` equal parts.

    >>> spread(8.0, 4)
    [1.0, 3.0, 5.0, 7.0]
    """
    if n < 1:
        raise UsageError(f"a video needs at least one frame, got {n}")
    return [length * (i + 0.5) / n for i in range(n)]


def length_s(video: Path) -> float:
    """Return the length of a video: up to the end of its last frame if known, else up to its beginning."""
    end = 0.0
    for start, stop, _ in _decoded(video, pixels=False):
        end = max(end, start, stop)
    return end


def shots(video: Path, times: Sequence[float]) -> Iterator[NDArray[np.uint8]]:
    """Yield the pictures at some times, in ascending order: one pass, one frame in memory."""
    wanted = list(times)
    last: tuple[float, NDArray[np.uint8]] | None = None
    end = 0.0
    for start, stop, pixels in _decoded(video, pixels=True):
        while wanted and last is not None and wanted[0] < start:
            yield last[1]
            wanted.pop(0)
        if not wanted:
            return
        last, end = (start, pixels), max(start, stop)
    while wanted and last is not None and wanted[0] <= end + _SLACK_S:
        yield last[1]
        wanted.pop(0)
    if wanted:
        raise UsageError(
            f"a frame is wanted at {wanted[0]:g} s, and the video {video.name} ends at {end:.2f} s"
        )


def _decoded(video: Path, *, pixels: bool) -> Iterator[tuple[float, float, NDArray[np.uint8]]]:
    """Yield each frame with its beginning, its end and its pixels (None unless `pixels`)."""
    if not is_there(video):
        raise UsageError(f"there is no video {video.name} in {video.parent}")
    try:
        with open_image(video, video.name) as moving:
            yield from _by_pillow(moving, pixels=pixels)
    except NotAPictureError:
        yield from _by_pyav(video, pixels=pixels)
    except UsageError as why:
        raise UsageError(f"the video {video.name} is broken: {why}") from why


_NOTHING = np.zeros((0, 0, 3), np.uint8)


def _by_pillow(moving: Image.Image, *, pixels: bool) -> Iterator[tuple[float, float, NDArray[np.uint8]]]:
    now = 0.0
    for index in range(getattr(moving, "n_frames", 1)):
        moving.seek(index)
        moving.load()  # only then a WebP says how long the frame lasts
        shown = np.asarray(moving.convert("RGB")) if pixels else _NOTHING
        lasts = float(moving.info.get("duration", 100) or 100) / 1000
        yield now, now + lasts, shown
        now += lasts


def _by_pyav(video: Path, *, pixels: bool) -> Iterator[tuple[float, float, NDArray[np.uint8]]]:
    try:
        import av
    except ImportError as why:
        raise MissingExtraError("av", "video", f"reading {video.name}") from why

    try:
        with av.open(str(video)) as container:
            if not container.streams.video:
                raise UsageError(f"the video {video.name} is broken, or holds no pictures")
            stream = container.streams.video[0]
            rate = float(stream.average_rate or 0)
            for frame in container.decode(stream):
                check_size((frame.width, frame.height), video.name)
                now = float(frame.time or 0.0)
                yield now, now + (1 / rate if rate else 0.0), _upright(frame) if pixels else _NOTHING
    except av.FFmpegError as why:
        raise UsageError(f"the video {video.name} is broken or is not a video: {why.strerror}") from why


def _upright(frame: Any) -> NDArray[np.uint8]:
    """Return the pixels of a frame, rotated as its metadata says."""
    plain = frame.to_ndarray(format="rgb24")
    return np.ascontiguousarray(np.rot90(plain, round(getattr(frame, "rotation", 0) / 90) % 4))
