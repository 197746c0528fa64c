"""Serving: runs to play with in a browser. `answers` is what they say, `server` is who may ask, and how much."""

from bangbang.serving.answers import Desk, ServedRun
from bangbang.serving.server import Server

__all__ = ["Desk", "ServedRun", "Server"]
