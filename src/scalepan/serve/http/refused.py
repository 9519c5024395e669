"""Errors on their way out: each of Scalepan's codes as an HTTP status, and what only HTTP has a name for."""

from collections.abc import Sequence

from scalepan.errors import ScalepanError

Header = tuple[bytes, bytes]

STATUS = {
    "VALIDATION_ERROR": 422,
    "BOUNDARY_DENIED": 403,
    "POLICY_INVALID": 500,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "RATE_LIMIT": 429,
    "TIMEOUT": 504,
    "INTERNAL": 500,
}
CLIENT_GONE = 499
"""For the metrics: nobody is there to be told."""


class RefusedError(ScalepanError):
    """A request that does not get as far as an operation."""

    def __init__(self, status: int, code: str, problem: str, headers: Sequence[Header] = ()) -> None:
        super().__init__(problem)
        self.status = status
        self.code = code
        self.headers = tuple(headers)


class GoneAwayError(Exception):
    """The client hung up."""


def status_of(error: BaseException, code: str) -> int:
    """The HTTP status of an error that goes out with this code."""
    return error.status if isinstance(error, RefusedError) else STATUS[code]
