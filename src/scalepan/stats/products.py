"""Products of arrays without spurious warnings."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def product(left: "NDArray[Any]", right: "NDArray[Any]") -> Any:
    """`left @ right`, without numpy's floating-point warnings.

    Some BLAS kernels compute on whole registers, and the unused lanes can set the processor's "invalid" flag although
    every input and result is finite; numpy then warns about a correct product. Callers pass finite arrays.

    >>> import numpy as np
    >>> product(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]))
    array([11.])
    """
    import numpy as np

    with np.errstate(all="ignore"):
        return left @ right
