"""An agent that learns: it cancels two plans, and what it learned from the first helps with the second.

`python examples/agent.py` works in process, with `--mcp` through `scalepan mcp`, as any MCP client would.
"""

import argparse
import tempfile
from pathlib import Path

from helpdesk import TASKS, HelpDesk, Order, first_choice, lesson, said, stated_confidence

import scalepan
from scalepan.confidence import Answer, Question, terminal
from scalepan.confidence.gate import Handler


def always_yes(question: Question) -> Answer:
    """A person in a hurry."""
    print(f"  {question} yes")
    return Answer(True, "a person in a hurry")


def find(s: scalepan.Session, desk: HelpDesk, customer: int) -> Order | None:
    """Look for the order, first where a recalled lesson says."""
    for one in s.recalled:
        if any(name in one.text for name in desk.finders):
            print(f"  recalled {float(one.score_final):.3f}: {one.text}")
            s.use(one)
    names = first_choice(desk.finders, " ".join(one.text for one in s.recalled))
    s.thought(f"Try {', then '.join(names)}")
    for number, name in enumerate(names):
        try:
            order = s.call(name, desk.finders[name], customer)
        except LookupError as error:
            print(f"  {name} failed: {error}")
            continue
        print(f"  {name} found {order.id}")
        if number:
            s.recovered(lesson(name))
        return order
    return None


def work(memory: scalepan.Memory, desk: HelpDesk, customer: int, ask: Handler) -> None:
    """One task, one session."""
    print(f"\n{TASKS[customer]}")
    with scalepan.session(TASKS[customer], memory, domain="customer_service", ask=ask, keep=True) as s:
        order = find(s, desk, customer)
        if order is None:
            s.fail("the order was not found")
        else:
            s.answer(said(order, customer), self_confidence=stated_confidence(order, customer))
            if s.may(f"cancel order {order.id}"):
                s.call("cancel_order", desk.cancel_order, order)
            if order.state == "cancelled":
                s.succeed(f"order {order.id} is cancelled")
    print(s.report)


def main() -> None:
    """Two tasks in a row, with one memory."""
    parser = argparse.ArgumentParser(description="An agent that learns from its first task for its second.")
    parser.add_argument("--mcp", action="store_true", help="through 'scalepan mcp' instead of in process")
    parser.add_argument("--store", type=Path, help="where it remembers; by default a new file each time")
    parser.add_argument("--yes", action="store_true", help="answer its questions with yes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "agent.duckdb"
        if options.mcp:
            from over_mcp import run

            run(store, yes=options.yes)
            return
        with scalepan.Memory(store, project="helpdesk", actor="example agent") as memory:
            desk = HelpDesk()
            for customer in TASKS:
                work(memory, desk, customer, always_yes if options.yes else terminal)


if __name__ == "__main__":
    main()
