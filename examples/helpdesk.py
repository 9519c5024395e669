"""A toy help desk: two places where orders are stored, one action that matters, and the plain rules of its agent."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass
class Order:
    """One plan of a customer."""

    id: str
    customer: int
    state: str = "active"


class HelpDesk:
    """The world that the agent works in. Old annual plans were never moved out of the archive."""

    def __init__(self) -> None:
        self.live = {31: Order("N-31", 31)}
        self.archive = {17: Order("L-17", 17), 23: Order("L-23", 23)}

    def find_order(self, customer: int) -> Order:
        """Look where orders usually are."""
        if customer not in self.live:
            raise LookupError("no such customer among the live orders")
        return self.live[customer]

    def find_archived_order(self, customer: int) -> Order:
        """Look where old plans are."""
        if customer not in self.archive:
            raise LookupError("no such customer in the archive")
        return self.archive[customer]

    def cancel_order(self, order: Order) -> Order:
        """What must not be done by mistake."""
        order.state = "cancelled"
        return order

    @property
    def finders(self) -> dict[str, Callable[[int], Order]]:
        """The tools that look for an order, in the order in which someone new would try them."""
        return {"find_order": self.find_order, "find_archived_order": self.find_archived_order}


TASKS = {17: "Cancel the annual plan of customer 17", 23: "Cancel the annual plan of customer 23"}


def first_choice(finders: Iterable[str], recalled: str) -> list[str]:
    """The tools to try, best first: a lesson names the one that helped last."""
    return sorted(finders, key=lambda name: -recalled.rfind(name))


def lesson(helped: str) -> str:
    """What to remember about a tool that helped after another one failed."""
    return f"annual plans may be in the archive: {helped} finds them"


def said(order: Order, customer: int) -> str:
    """The agent's answer."""
    return f"The annual plan of customer {customer} is order {order.id}; it is {order.state}."


def stated_confidence(order: Order, customer: int) -> float:
    """How sure this agent says it is: the order is the customer's, and there is something to cancel."""
    return 0.9 if order.customer == customer and order.state == "active" else 0.2
