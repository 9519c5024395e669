"""Any number that is in the store, by its id: made again from what was kept with it, and compared."""

from scalepan.receipts.compare import Difference, Number
from scalepan.receipts.library import case_receipt, explain, keep, value_receipt
from scalepan.receipts.operations import Explained

__all__ = ["Difference", "Explained", "Number", "case_receipt", "explain", "keep", "value_receipt"]
