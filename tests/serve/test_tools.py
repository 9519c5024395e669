"""The table of tools: names, schemas, and that its copies of other packages' words are true ones."""

import re
from typing import Any

import jsonschema
import msgspec
import pytest

from scalepan.errors import InputError, NotFoundError
from scalepan.serve import clients
from scalepan.serve.tools import TOOLS, AgentTool, checked, input_schema, output_schema, tool
from tests.test_house import loaded_by


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: one.name)
def test_schemas_are_schemas_and_examples_fit(one: AgentTool) -> None:
    for schema in (input_schema(one), output_schema(one)):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    examples = re.findall(r"(?:Example|question): (\{.*)", one.description)
    assert examples
    for example in map(msgspec.json.decode, examples):
        jsonschema.validate(example, input_schema(one))
        checked(one, example)


def test_names_fit_every_client_and_have_two_spellings() -> None:
    for one in TOOLS:
        assert re.fullmatch(r"[a-z_]{1,64}", one.name)
        assert tool(one.name) is tool(one.name.replace("_", ".")) is one
    assert [one.dotted for one in TOOLS if one.dotted] == ["pce.memory.activate", "pce.memory.search"]
    with pytest.raises(NotFoundError, match="did you mean 'memory_add'"):
        tool("memory_ad")


def test_only_what_forgets_is_destructive() -> None:
    assert [one.name for one in TOOLS if one.destructive] == ["memory_forget"]
    writes = {one.name for one in TOOLS if not one.read_only}
    assert writes == {"pce_memory_activate", "memory_add", "memory_vote", "memory_forget", "trace_value", "decide"}


def test_every_fault_is_told() -> None:
    with pytest.raises(InputError) as caught:
        checked(tool("confidence_score"), {"factors": {"search_max_score": 1.7, "source_cuont": 1}})
    assert len(caught.value.lines) == 2
    with pytest.raises(InputError):
        checked(tool("confidence_score"), [])
    with pytest.raises(InputError, match="length <= 1000000"):
        checked(tool("memory_add"), {"text": "x" * 1_000_001})


@pytest.mark.parametrize("name", ["confidence_score", "decide"])
@pytest.mark.parametrize("factors", [{}, {"source_count": 0}])
def test_factors_that_say_nothing_are_no_evidence(name: str, factors: dict[str, Any]) -> None:
    one, request = tool(name), {"action": "ship"} if name == "decide" else {}
    with pytest.raises(InputError, match=r"^factors: says nothing; give at least one factor .*source_count"):
        checked(one, {**request, "factors": factors})
    with pytest.raises(msgspec.ValidationError, match="says nothing"):
        msgspec.json.decode(msgspec.json.encode({**request, "factors": factors}), type=one.request)
    with pytest.raises(jsonschema.ValidationError, match="non-empty"):
        jsonschema.validate({**request, "factors": {}}, input_schema(one))
    checked(one, {**request, "factors": {"is_search_step": True}})


def test_the_table_loads_nothing_heavy() -> None:
    assert loaded_by("import scalepan.serve.tools, scalepan.serve.command").isdisjoint(
        {"numpy", "duckdb", "mcp", "pydantic"}
    )
    assert loaded_by("import scalepan").isdisjoint({"mcp", "mcp_types", "pydantic", "anyio"})


@pytest.mark.parametrize("client", clients.CLIENTS)
def test_the_block_to_paste(client: str) -> None:
    block = msgspec.json.decode(clients.block(client, ["--project", "a b"], program="/bin/scalepan"))
    server = block["mcpServers"]["scalepan"]
    assert (server["command"], server["args"]) == ("/bin/scalepan", ["mcp", "--project", "a b"])
    assert clients.where(client)


def test_a_tool_cannot_answer_with_a_claim_that_is_not_fenced() -> None:
    from scalepan.memory.requests import GET, VOTE
    from scalepan.serve.envelope import Envelope
    from scalepan.serve.recalls import does

    with pytest.raises(TypeError, match=r"memory\.get answers with a claim, which must be fenced"):
        does(GET, Envelope)
    assert callable(does(VOTE, Envelope))
