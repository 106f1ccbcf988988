"""Scenes from other data sets: nuScenes (and Lyft), ScanNet++, KITTI, SUN RGB-D, and plain files of camera boxes."""

from __future__ import annotations

from theodolite.scene._build_data import BuildOptions, build_data
from theodolite.scene._pipeline import (
    Candidate,
    KeepOptions,
    Unknown,
    View,
    build_graph,
    estimated_visibility,
)
from theodolite.scene._sources.kitti import kitti_views
from theodolite.scene._sources.nuscenes import camera_box_views, nuscenes_views
from theodolite.scene._sources.scannetpp import scannetpp_views
from theodolite.scene._sources.sunrgbd import sunrgbd_views
from theodolite.scene._sources.views import SourceView

__all__ = [
    "BuildOptions",
    "Candidate",
    "KeepOptions",
    "SourceView",
    "Unknown",
    "View",
    "build_data",
    "build_graph",
    "camera_box_views",
    "estimated_visibility",
    "kitti_views",
    "nuscenes_views",
    "scannetpp_views",
    "sunrgbd_views",
]
