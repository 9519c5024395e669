"""Any number that is in the store, by its id: made again from what was kept with it, and compared."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.receipts.compare import Difference, Number
    from scalepan.receipts.library import case_receipt, explain, keep, value_receipt
    from scalepan.receipts.operations import Explained

__all__ = ["Difference", "Explained", "Number", "case_receipt", "explain", "keep", "value_receipt"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.receipts.compare": ["Difference", "Number"],
        "scalepan.receipts.library": ["case_receipt", "explain", "keep", "value_receipt"],
        "scalepan.receipts.operations": ["Explained"],
    },
)
