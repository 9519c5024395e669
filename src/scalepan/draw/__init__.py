"""All pictures: a Score or a run of them as a terminal table, an SVG, or one self-contained HTML page."""

from scalepan.draw.bins import Bins

__all__ = ["Bins"]
