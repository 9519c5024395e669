"""Does the judge work, and if not, what should the user do? For `scalepan doctor --judge`."""

from urllib.parse import urlsplit

import msgspec

from scalepan.embed import SetupFinding
from scalepan.errors import counted
from scalepan.judge.endpoint import FORMAT, is_local
from scalepan.judge.judge import Judge
from scalepan.judge.judgement import Judgement
from scalepan.judge.key import Key, key_of
from scalepan.policy import Policy

QUESTION = {
    "query": "How many legs does a spider have?",
    "answer": "A spider has eight legs.",
    "sources": ["Spiders are arachnids and have eight legs."],
}
SETTINGS = (
    "set judge.base_url and judge.model in a file named with --policy or in your configuration folder, "
    "or SCALEPAN_JUDGE__BASE_URL and SCALEPAN_JUDGE__MODEL"
)


def probe(policy: Policy) -> SetupFinding:
    """Ask one question with an obvious answer, bypassing the cache, and report the result."""
    uncached = msgspec.structs.replace(policy, judge=msgspec.structs.replace(policy.judge, cache=False))
    with Judge(uncached) as judge:
        if judge.missing:
            return SetupFinding("judge", "missing", "no judge is set", SETTINGS)
        judgement = judge.ask(judge.prompt("both", QUESTION))
        structured = FORMAT not in judge.endpoint.refused
    where = f"{policy.judge.model} at {policy.judge.base_url}"
    key = key_of(policy.judge)
    if judgement.status == "failed":
        return SetupFinding("judge", "broken", f"{where}: {judgement.reason}", _advice(judgement, key))
    return SetupFinding("judge", "ok", f"{where} {_about(judgement, key, structured)}", _in_the_clear(policy, key))


def _about(judgement: Judgement, key: Key, structured: bool) -> str:
    cost = counted(judgement.tokens.total, "token") if judgement.tokens else "tokens not counted"
    form = "structured answers" if structured else "answers parsed from text"
    whose = f"key from {key.variable}" if key else "no key"
    return f"answers in {judgement.took_ms:,.0f} ms: {judgement.value:g} for a right answer; {form}, {cost}, {whose}"


def _advice(judgement: Judgement, key: Key) -> str:
    """What to do, if the reason does not say it."""
    reason = judgement.reason
    if "pip install" in reason:
        return "pip install 'scalepan[judge]'"
    if "key" in reason and any(code in reason for code in ("(401)", "(403)")):
        return f"put a valid key into {key.variable}"
    if "cannot be reached" in reason:
        return "start the server, or correct judge.base_url"
    if judgement.raw:
        return "the model does not answer with a number; try another judge.model"
    return "see docs/judge.md"


def _in_the_clear(policy: Policy, key: Key) -> str:
    if key and urlsplit(policy.judge.base_url).scheme == "http" and not is_local(policy.judge.base_url):
        return "text and key are sent unencrypted: use https"
    return ""
