"""Products of arrays: numpy's numbers without numpy's warnings."""

import warnings

import numpy as np

from scalepan.stats.products import product


def test_a_product_raises_no_floating_point_warning() -> None:
    """Infinity times zero sets the same processor flag that a BLAS kernel can set by chance on finite input."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = product(np.array([[np.inf, 1.0]], dtype=np.float32), np.array([0.0, 2.0], dtype=np.float32))
    assert np.isnan(result).all()
