"""From Python: keep what a trace is worth or how a case went, and explain any number that was kept."""

from collections.abc import Iterable

from scalepan.evals import CaseResult
from scalepan.evals import receipt as of_case
from scalepan.inforce import as_sent
from scalepan.memory import Memory
from scalepan.policy import Policy
from scalepan.receipts.operations import Explain, Explained, KeepReceipts, KeptIds
from scalepan.score import Score
from scalepan.store import Store
from scalepan.store.receipts import Receipt
from scalepan.trace import ReasoningTrace
from scalepan.trace import receipt as of_trace

AT_ONCE = 500


def value_receipt(
    trace: ReasoningTrace,
    score: Score,
    policy: Policy,
    *,
    model: str | None = None,
    tenant: str = "default",
    project: str | None = None,
) -> Receipt:
    """A trace's value with what it was made of; `model` is the encoder that measured novelty."""
    return Receipt(
        name="value",
        value=score.value,
        inputs=of_trace.inputs_of(trace, score, policy.value),
        body=of_trace.body_of(score),
        policy_version=score.policy,
        model=model,
        tenant=tenant,
        project=project,
        subject=trace.id,
    )


def case_receipt(result: CaseResult, *, tenant: str = "default", project: str | None = None) -> Receipt:
    """What came of a case, with what its scorers said."""
    return Receipt(
        name="case",
        value=result.score.value,
        inputs=of_case.inputs_of(result),
        body=of_case.body_of(result),
        policy_version=result.score.policy,
        tenant=tenant,
        project=project,
        subject=result.id,
    )


def keep(store: Store, receipts: Iterable[Receipt], policy: Policy | None = None) -> list[str]:
    """Keep numbers, a few hundred at a time; their ids, which `scalepan explain` takes.

    `policy` says what is redacted on the way into the store; by default the one in force.
    """
    ids: list[str] = []
    waiting, redact = list(receipts), as_sent(policy)
    for start in range(0, len(waiting), AT_ONCE):
        done: KeptIds = store.call("receipts.keep", KeepReceipts(waiting[start : start + AT_ONCE], redact))
        ids += done.ids
    return ids


def explain(memory: Memory, id_: str | None = None) -> Explained:
    """A number by its id, or every number that the id stands for, as this caller of memory may see them.

    Without an id, the number that was kept last. NotFoundError says which kinds of id there are.
    """
    found: Explained = memory.store.call("receipts.explain", Explain(id_, who=memory.who, overlay=memory.overlay))
    return found
