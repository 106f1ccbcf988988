"""Verifiers that look at pictures, and what they are made of: detectors with calibrated recall, tracks, flow, similarity."""

from __future__ import annotations

from theodolite.trace._verifiers._clips import ClipVerifier
from theodolite.trace._verifiers._detection import Detection, Detector, OnnxDetector, open_detector
from theodolite.trace._verifiers._detector import DetectorVerifier, episode_as_seen
from theodolite.trace._verifiers._ego_motion import EgoMotionVerifier
from theodolite.trace._verifiers._flow import Flow, flow_between
from theodolite.trace._verifiers._hues import colour_histogram
from theodolite.trace._verifiers._recall import (
    ClassRecall,
    DetectorRecall,
    calibrate_recall,
    read_recall,
    write_recall,
)
from theodolite.trace._verifiers._similarity import SHIPPED as SHIPPED_CLIP
from theodolite.trace._verifiers._similarity import SimilarityVerifier
from theodolite.trace._verifiers._similarity_bounds import CALIBRATION, Bounds
from theodolite.trace._verifiers._similarity_calibration import (
    KindCalibration,
    SimilarityCalibration,
    calibrate_similarity,
    write_calibration,
)
from theodolite.trace._verifiers._similarity_card import card_text
from theodolite.trace._verifiers._similarity_clip import ClipLikeness
from theodolite.trace._verifiers._tracking import Track, Tracker, track_all
from theodolite.trace._verifiers._tracks import TrackVerifier

__all__ = [
    "CALIBRATION",
    "SHIPPED_CLIP",
    "Bounds",
    "ClassRecall",
    "ClipLikeness",
    "ClipVerifier",
    "Detection",
    "Detector",
    "DetectorRecall",
    "DetectorVerifier",
    "EgoMotionVerifier",
    "Flow",
    "KindCalibration",
    "OnnxDetector",
    "SimilarityCalibration",
    "SimilarityVerifier",
    "Track",
    "TrackVerifier",
    "Tracker",
    "calibrate_recall",
    "calibrate_similarity",
    "card_text",
    "colour_histogram",
    "episode_as_seen",
    "flow_between",
    "open_detector",
    "read_recall",
    "track_all",
    "write_calibration",
    "write_recall",
]
