"""What the model is asked: a prompt of the policy, with the judged text as data that cannot break out."""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

import msgspec

from scalepan.errors import InputError, did_you_mean
from scalepan.policy.judge import PLACEHOLDER, PLACEHOLDERS, Prompts, PromptText

Clean = Callable[[str], str]
UNFENCED = "rubric"
"""The only value that is an instruction: it comes from the scorer's author, not from the judged text."""
NAMES = {"query": "QUESTION", "answer": "ANSWER", "sources": "SOURCE", "expected": "EXPECTED ANSWER"}
NOTHING = "(none given)"


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """One question to the judge: a text with placeholders, their values, and the numbers that it asks for.

    >>> Prompt(text="Is this polite? {answer}", values={"answer": "Yes."}).fields
    ('score',)
    """

    text: str
    values: dict[str, str | tuple[str, ...]] = {}
    fields: tuple[str, ...] = ("score",)
    version: str = ""

    def __post_init__(self) -> None:
        for name in PLACEHOLDER.findall(self.text):
            if name not in PLACEHOLDERS:
                raise InputError(f"the prompt has a placeholder '{name}'{did_you_mean(name, PLACEHOLDERS)}")
            if name not in self.values:
                raise InputError(f"the prompt has a placeholder '{name}' and no value for it")
        if not self.fields or len(set(self.fields)) < len(self.fields):
            raise InputError("the prompt asks for no number, or for the same one twice")


def prompt_of(prompts: Prompts, name: str, values: Mapping[str, str | Iterable[str]]) -> Prompt:
    """A prompt of the policy by name, with its values."""
    known = {key: text for key in prompts.__struct_fields__ if isinstance(text := getattr(prompts, key), PromptText)}
    if name not in known:
        raise InputError(f"no prompt '{name}'{did_you_mean(name, list(known))}")
    chosen = known[name]
    given = {key: value if isinstance(value, str) else tuple(value) for key, value in values.items()}
    return Prompt(text=chosen.text, values=given, fields=tuple(chosen.fields), version=f"{name} {chosen.version}")


def messages(prompt: Prompt, system: str, clean: Clean) -> list[dict[str, str]]:
    """The conversation that is sent. Each value is cleaned and fenced by itself, and is not expanded again."""
    cleaned = {
        name: clean(value) if isinstance(value, str) else [clean(one) for one in value]
        for name, value in prompt.values.items()
    }
    code = fence_code(cleaned)
    text = PLACEHOLDER.sub(lambda found: _put(found[1], cleaned[found[1]], code), prompt.text)
    asked = {"role": "user", "content": f"{text.rstrip()}\n\n{how_to_answer(prompt.fields)}"}
    return [{"role": "system", "content": system}, asked] if system else [asked]


def how_to_answer(fields: tuple[str, ...]) -> str:
    """The last sentence of every prompt.

    >>> how_to_answer(("score",))
    'Answer with one JSON object and nothing else: {"score": number}. A number is from 0.0 to 1.0.'
    """
    shape = ", ".join(f'"{field}": number' for field in fields)
    return f"Answer with one JSON object and nothing else: {{{shape}}}. A number is from 0.0 to 1.0."


def response_format(fields: tuple[str, ...]) -> dict[str, object]:
    """The same as a JSON Schema. Without bounds: several servers refuse a schema that has them."""
    schema = {
        "type": "object",
        "properties": {field: {"type": "number"} for field in fields},
        "required": list(fields),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": schema}}


def fence_code(values: Mapping[str, str | list[str]]) -> str:
    """A code that no value contains. It is derived from the values, so the same question is always the same text.

    To break out, a text would have to contain a hash of itself and of all other values.
    """
    everything = msgspec.json.encode(values, order="sorted")
    code = sha256(everything).hexdigest()[:16]
    while code.encode() in everything:
        code = sha256(code.encode()).hexdigest()[:16]
    return code


def _put(name: str, value: str | list[str], code: str) -> str:
    if name == UNFENCED:
        return value if isinstance(value, str) else "\n".join(value)
    title = NAMES[name]
    if isinstance(value, str):
        return _fenced(title, value, code)
    fenced = [_fenced(f"{title} {number}", one, code) for number, one in enumerate(value, 1)]
    return "".join(fenced) or _fenced(title, NOTHING, code)


def _fenced(title: str, text: str, code: str) -> str:
    return f"\n\nBEGIN {title} {code}\n{text or NOTHING}\nEND {title} {code}\n"
