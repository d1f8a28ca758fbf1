"""Rotations, poses, cameras and resampling on numpy arrays with any leading dimensions."""
