"""Log lines as they may be kept: redacted by the policy in force, without control characters."""

import logging
import sys

from scalepan.errors import ScalepanError
from scalepan.inforce import redacted
from scalepan.policy import Policy
from scalepan.redact import Redactor


class RedactedFormatter(logging.Formatter):
    """A line with everything in it, a traceback too, redacted. One that cannot be redacted is not written."""

    def __init__(self, form: str, policy: Policy) -> None:
        super().__init__(form)
        self._redactor = Redactor(policy.redact)

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        try:
            line: str = redacted(super().format(record), self._redactor)
        except ScalepanError:
            return f"a line of {record.name} could not be redacted"
        return line


def log_to_stderr(name: str, policy: Policy) -> None:
    """Warnings and errors of this process, under the command's name."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactedFormatter(f"scalepan {name}: %(message)s", policy))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
