"""The parts of the HTTP server by themselves: hosts, limits, metrics, batches, the document."""

import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")

from pathlib import Path

from scalepan.check import MOST_FAULTS, MOST_HINTS, problems
from scalepan.errors import InputError
from scalepan.serve import confidences, judging, requests
from scalepan.serve.envelope import CODES, caller
from scalepan.serve.http.calls import ToolEndpoint
from scalepan.serve.http.hosts import Hosts
from scalepan.serve.http.limits import Buckets, Limits
from scalepan.serve.http.metrics import BUCKETS, Metrics
from scalepan.serve.http.openapi import document
from scalepan.serve.http.refused import STATUS, RefusedError
from scalepan.serve.http.services import MOST_KEPT, Services
from scalepan.serve.service import Service, Settings
from scalepan.serve.tools import TOOLS, AgentTool, checked
from scalepan.store import Store
from tests.test_house import loaded_by

SHARE = st.floats(0, 1)


@pytest.mark.parametrize(
    ("host", "origin", "good"),
    [
        (b"localhost", None, True),
        (b"LocalHost:1", None, True),
        (b"[::1]:8321", b"http://[::1]:8321", True),
        (b"127.0.0.1:8321", b"http://127.0.0.1:8321", True),
        (b"scalepan.example", b"https://scalepan.example", True),
        (b"127.0.0.1:8321", b"http://127.0.0.1:8322", False),
        (b"127.0.0.1:8321", b"null", False),
        (b"127.0.0.1:8321", b"", False),
        (b"scalepan.example.evil", None, False),
        (b"evil.example", b"http://evil.example", False),
        (b"localhost:x", None, False),
        (b"[::1", None, False),
        (b"[::1].evil.example", None, False),
        (b"[::1]x", None, False),
        (b"[localhost]", None, False),
        (b"", None, False),
        (b"\xff", None, False),
    ],
)
def test_hosts_and_origins(host: bytes, origin: bytes | None, good: bool) -> None:
    headers = {b"host": host} | ({b"origin": origin} if origin is not None else {})
    hosts = Hosts(["Scalepan.example"])
    if good:
        hosts.check(headers)
    else:
        with pytest.raises(RefusedError):
            hosts.check(headers)


def test_a_bucket_holds_two_seconds_and_fills_at_the_rate() -> None:
    buckets = Buckets(10.0)
    assert [buckets.wait("a", now=0.0) for _ in range(20)] == [0.0] * 20
    assert buckets.wait("a", now=0.0) == pytest.approx(0.1)
    assert buckets.wait("b", now=0.0) == 0.0
    assert buckets.wait("a", now=0.1) == 0.0
    assert buckets.wait("a", now=0.1) > 0
    assert Buckets(0).wait("a") == 0.0


def test_buckets_do_not_grow_without_end() -> None:
    buckets = Buckets(1.0)
    for number in range(20_000):
        buckets.wait(str(number), now=0.0)
    assert len(buckets._levels) == 10_000


def test_every_code_has_a_status_and_stands_in_the_document() -> None:
    assert set(STATUS) == set(CODES)
    known = document()["components"]["responses"]
    assert {str(status) for status in STATUS.values()} <= set(known)


def test_the_document_is_whole() -> None:
    made = document()
    schemas = made["components"]["schemas"]
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for reference in _references(made):
        there = made
        for step in reference.removeprefix("#/").split("/"):
            there = there[step]
    assert schemas["Problem"]["properties"]["code"]["enum"] == list(CODES)


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for value in node for found in _references(value)] if isinstance(node, list) else []


def test_paths_are_plain_and_there_once() -> None:
    urls = [one.url for one in TOOLS]
    assert len(set(urls)) == len(urls)
    assert {"/v1/memory/search", "/v1/confidence", "/v1/decide", "/v1/explain"} <= set(urls)


def test_a_histogram_counts_upward() -> None:
    metrics = Metrics()
    for seconds in (0.0005, 0.001, 0.3, 100.0):
        metrics.done("x", 200, seconds, received=1, sent=2)
    lines = [line for line in metrics.text().splitlines() if line.startswith("scalepan_request_seconds_bucket")]
    counts = [int(line.rpartition(" ")[2]) for line in lines]
    assert counts == sorted(counts)
    assert (counts[0], counts[-2], counts[-1]) == (2, 3, 4)
    assert len(counts) == len(BUCKETS) + 1


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service(Settings(tmp_path_factory.mktemp("service") / "notes.duckdb"))


FACTORS = st.builds(
    requests.Factors,
    search_result_count=st.integers(0, 20),
    search_max_score=SHARE,
    search_avg_score=SHARE,
    source_count=st.integers(0, 5),
    llm_self_confidence=SHARE,
    tool_execution_count=st.integers(0, 3),
    tool_success_count=st.integers(0, 3),
    is_search_step=st.booleans(),
)


@settings(max_examples=40)
@given(st.lists(FACTORS, max_size=20))
def test_many_confidences_are_the_same_as_each_alone(service: Service, factors: list[requests.Factors]) -> None:
    asked = [requests.ConfidenceRequest(factors=one) for one in factors]
    callers = [caller() for _ in asked]
    together = confidences.score_all(service, asked, callers)
    for request, who, found in zip(asked, callers, together, strict=True):
        if isinstance(found, Exception):
            with pytest.raises(InputError, match=re.escape(str(found))):
                judging.confidence_score(service, request, who)
        else:
            assert found == judging.confidence_score(service, request, who)


BITS = st.sampled_from(
    [b"null", b"[]", b"{}", b'"\\ud800"', b"1e999", b"-1", b"9" * 400, b"\\u0000", b'"', b",", b"\xff"]
)


@settings(max_examples=300)
@given(st.sampled_from(TOOLS), st.lists(st.tuples(SHARE, st.integers(0, 4), BITS), max_size=4))
def test_any_body_is_a_request_or_is_refused(tool: AgentTool, changes: list[tuple[float, int, bytes]]) -> None:
    """The tool's own example, with bits of it cut out and others put in."""
    example = re.search(r"Example: (\{.*)", tool.description)
    assert example
    body = example[1].encode()
    for place, cut, bit in changes:
        at = round(place * len(body))
        body = body[:at] + bit + body[at + cut :]
    try:
        request = ToolEndpoint(tool, None, Limits())._request(body)  # type: ignore[arg-type]
    except (RefusedError, InputError):
        return
    assert isinstance(request, tool.request)


def test_of_a_flood_of_faults_a_part_is_told() -> None:
    confidence = next(one for one in TOOLS if one.name == "confidence_score")
    keys = {f"search_result_coun{number}": 1 for number in range(100_000)}
    with pytest.raises(InputError) as caught:
        checked(confidence, {"factors": keys})
    assert "did you mean 'search_result_count'?" in str(caught.value)
    assert sum("did you mean" in line for line in caught.value.lines) == MOST_HINTS
    assert len(caught.value.lines) == MOST_FAULTS + 1
    assert caught.value.lines[-1] == "there are more than 1,000 faults; the others are not listed"
    assert len(problems({"x" * 65: 1}, requests.Factors)) == 1


def test_half_a_surrogate_pair_is_named() -> None:
    with pytest.raises(RefusedError, match="half of a surrogate pair"):
        ToolEndpoint(TOOLS[0], None, Limits())._request(b'{"query": "a\\ud800b"}')  # type: ignore[arg-type]


def test_services_share_a_store_and_are_not_kept_for_ever(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        services = Services(Settings(tenant="a", project="p"), store)
        first = services.service("a", "p", None, None)
        assert services.own() is first
        assert services.service("a", "p", None, ("public",)) is not first
        for number in range(MOST_KEPT):
            assert services.service("a", str(number), None, None).store is store
        assert services.own() is not first


def test_the_command_loads_nothing_heavy() -> None:
    heavy = {"numpy", "duckdb", "mcp", "pydantic", "starlette", "uvicorn", "anyio"}
    assert loaded_by("import scalepan.serve.serve_command").isdisjoint(heavy)
