"""The same agent through MCP: it knows nothing of Scalepan but the tools that `scalepan mcp` lists."""

import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, pvariance
from typing import Any
from uuid import uuid4

import anyio
import mcp_types as types
from helpdesk import TASKS, HelpDesk, Order, first_choice, lesson, said, stated_confidence
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext


class Work:
    """What the agent did for one task: the steps of its trace, and how its tools fared."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.calls: list[bool] = []

    def step(self, kind: str, **more: Any) -> None:
        """Write down one step."""
        self.steps.append({"step_id": len(self.steps), "type": kind, **more})

    def called(self, tool: str, summary: str, *, ok: bool = True) -> None:
        """Write down a tool call."""
        print(f"  {tool}: {summary}")
        self.calls.append(ok)
        self.step("tool_call", tool={"name": tool}, output_summary=summary)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of one of Scalepan's tools."""
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError(f"{tool}: {result.content}")
    return dict(result.structured_content)


def factors(claims: list[dict[str, Any]], work: Work, sure: float) -> dict[str, Any]:
    """The factors for `confidence_score` and `decide`. The sources were not compared, so they count as one."""
    # How likely each is to help; the profile `spec` does not say, and there its score stands in.
    scores = [claim["p_useful"] if claim.get("p_useful") is not None else claim["score_final"] for claim in claims]
    return {
        "search_result_count": len(scores),
        "search_max_score": max(scores, default=0.0),
        "search_avg_score": fmean(scores) if scores else 0.0,
        "search_score_variance": pvariance(scores) if scores else 1.0,
        "source_count": 1,
        "tool_execution_count": len(work.calls),
        "tool_success_count": sum(work.calls),
        "tool_success_rate": fmean(work.calls),
        "llm_self_confidence": sure,
    }


def trace(task: str, work: Work, outcome: str, sure: float, *, success: bool) -> dict[str, Any]:
    """The work in the form that `trace_value` takes."""
    return {
        "@context": "https://openknowledgepulse.org/schema/v1",
        "@type": "ReasoningTrace",
        "id": f"kp:trace:{uuid4()}",
        "metadata": {
            "created_at": datetime.now(UTC).isoformat(),
            "task_domain": "customer_service",
            "success": success,
            "quality_score": 0,
            "visibility": "private",
            "privacy_level": "private",
        },
        "task": {"objective": task},
        "steps": work.steps,
        "outcome": {"result_summary": outcome, "confidence": sure},
    }


def find(desk: HelpDesk, customer: int, names: list[str], work: Work) -> tuple[Order | None, str]:
    """Look for the order; if a second tool helped, what that teaches."""
    failure = ""
    for name in names:
        try:
            order = desk.finders[name](customer)
        except LookupError as error:
            work.called(name, f"failed: {error}", ok=False)
            failure = f"{name} failed ({error})"
            continue
        work.called(name, str(asdict(order)))
        if failure:
            work.step("error_recovery", content=lesson(name))
        return order, f"{failure}; what helped: {lesson(name)} (task: {TASKS[customer]})" if failure else ""
    return None, ""


async def do(client: Client, desk: HelpDesk, customer: int) -> None:
    """One task from recall to what was learned."""
    task, work = TASKS[customer], Work()
    print(f"\n{task}")
    found = await call(client, "pce_memory_activate", query=task)
    used = [claim for claim in found["claims"] if any(name in claim["text"] for name in desk.finders)]
    for claim in used:
        print(f"  recalled {claim['score_final']:.3f}: {claim['text']}")
    names = first_choice(desk.finders, " ".join(claim["text"] for claim in used))
    work.step("thought", content=f"Try {', then '.join(names)}")
    order, learned = find(desk, customer, names, work)
    if order is None:
        print("  the order was not found")
        return

    sure = stated_confidence(order, customer)
    evidence = factors(found["claims"], work, sure)
    scored = await call(client, "confidence_score", factors=evidence)
    print(f"  {said(order, customer)}\n  confidence {scored['confidence']:.3f}: {scored['suggested_action']}")
    decided = await call(client, "decide", action=f"cancel order {order.id}", factors=evidence)
    print(f"  cancel order {order.id}: {decided['state']}, {decided['why']}  {decided['decision_id']}")
    if not decided["allowed"]:
        print(f"  not done. {decided.get('how_to_answer', '')}")
        return
    if scored["level"] in ("confirm", "escalate"):
        work.step("observation", content=f"A person allowed to cancel order {order.id}")
    desk.cancel_order(order)
    work.called("cancel_order", f"order {order.id} is {order.state}", ok=order.state == "cancelled")

    done = order.state == "cancelled"
    value = await call(client, "trace_value", trace=trace(task, work, said(order, customer), sure, success=done))
    print(f"  value {value['value']:.3f}: {value['why']}")
    for claim in used:
        signal = "helpful" if done else "harmful"
        vote = await call(client, "memory_vote", claim=claim["id"], signal=signal, context=found["active_context_id"])
        print(f"  {signal} vote for {claim['id']}: utility {vote['utility']:.2f}  {vote['id']}")
    if learned and value["verdict"] == "share":
        kept = await call(client, "memory_add", text=learned, confidence=scored["confidence"], source=value["id"])
        print(f"  learned {kept['id']}: {learned}")


def run(store: Path, *, yes: bool) -> None:
    """Two tasks in a row, with one server."""

    async def person(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG001
        print(f"  {params.message} [y/N] ", end="", flush=True)
        line = "yes" if yes else (await anyio.to_thread.run_sync(sys.stdin.readline)).strip().lower()
        print("yes" if yes else "")
        return types.ElicitResult(action="accept", content={"approve": line in ("y", "yes")})

    async def both() -> None:
        command = ["-m", "scalepan", "mcp", "--store", str(store), "--project", "helpdesk"]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        desk = HelpDesk()
        async with Client(server, elicitation_callback=person) as client:
            for customer in TASKS:
                await do(client, desk, customer)

    anyio.run(both)
