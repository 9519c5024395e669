"""What redaction finds, what it takes for what it is not, and what it costs, beside detect-secrets in the same run.

Secrets are made from detect-secrets' own patterns and by Faker, never from our rules. detect-secrets reads a text as a
file, as `detect-secrets scan` does; its mode for single lines takes every word for a secret.

python -m bench.redact
"""

import base64
import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import msgspec
from detect_secrets import plugins
from detect_secrets.core.scan import scan_file
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.settings import default_settings
from faker import Faker

from bench.timing import best_cpu, row
from scalepan.redact import Redactor

DATA = Path(__file__).parents[2] / "shared" / "data"
EACH = 100
SEED = 7
PRESIDIO = {
    "CREDIT_CARD": "card",
    "EMAIL_ADDRESS": "email",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip-address",
    "PHONE_NUMBER": "phone",
    "US_SSN": "us-ssn",
}


# What a browser takes for an e-mail address (HTML standard, 4.10.5.1.5), with a dot in the domain.
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
EMAIL = re.compile(rf"[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})+")


class Sample(NamedTuple):
    """A text and where in it something stands that must be found."""

    group: str
    text: str
    start: int
    end: int

    @property
    def value(self) -> str:
        """What must not stay."""
        return self.text[self.start : self.end]


def sample(group: str, frame: str, value: str) -> Sample:
    """A value in a frame that has `{}` for it."""
    start = frame.index("{}")
    return Sample(group, frame.replace("{}", value, 1), start, start + len(value))


class Shapes:
    """Random texts that match a regular expression: its syntax tree, walked with dice."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def of(self, pattern: re.Pattern[str]) -> Sample:
        """A text that matches, and the group that is the secret (all of it where there is no group)."""
        for _ in range(1000):
            text = self._walk(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG), {})
            match = pattern.search(text)
            if match:
                return Sample("", text, *match.span(match.lastindex or 0))
        raise RuntimeError(f"nothing matches {pattern.pattern}")

    def _walk(self, tree: Any, groups: dict[int, str]) -> str:
        return "".join(self._one(code, value, groups) for code, value in tree)

    def _one(self, code: Any, value: Any, groups: dict[int, str]) -> str:
        if code is op.LITERAL:
            return chr(value)
        if code is op.NOT_LITERAL:
            return self.dice.choice([c for c in string.ascii_letters + string.digits if ord(c) != value])
        if code is op.ANY:
            return "."  # a lone one is a full stop that nobody escaped
        if code is op.IN:
            return self.dice.choice(_characters(value))
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            low, high, tree = value
            tree = [(op.IN, [(op.CATEGORY, op.CATEGORY_WORD)])] if tree[0][0] is op.ANY else tree
            return "".join(self._walk(tree, groups) for _ in range(self.dice.randint(low, min(high, low + 12))))
        if code is op.BRANCH:
            return self._walk(self.dice.choice(value[1]), groups)
        if code is op.SUBPATTERN:
            groups[value[0]] = self._walk(value[3], groups)
            return groups[value[0]]
        if code is op.GROUPREF:
            return groups[value]
        return ""  # what only looks at the text around it


def _characters(members: Any) -> list[str]:
    """The printable characters of a character class."""
    negated = members[0][0] is op.NEGATE
    matching = set()
    for code, value in members:
        if code is op.LITERAL:
            matching.add(chr(value))
        elif code is op.RANGE:
            matching |= {chr(point) for point in range(value[0], value[1] + 1)}
        elif code is op.CATEGORY:
            matching |= _CATEGORIES[value]
    if negated:
        return sorted(set(string.ascii_letters + string.digits + "-_!*+") - matching)
    return sorted(matching - {"\\"}) or ["\\"]  # in a class of letters it is an escape that went wrong


_CATEGORIES = {
    op.CATEGORY_DIGIT: set(string.digits),
    op.CATEGORY_WORD: set(string.ascii_letters + string.digits + "_"),
    op.CATEGORY_SPACE: {" "},
}


# What a pattern has around the secret, and what an address needs behind it to be one.
LABEL = re.compile(r"AccountKey=|https://hooks\.slack\.com/services/|[\s=:\"]+")
FRAME = {"basic_auth": "https{}db.internal/app", "npm": "registry:{}"}


def detect_secrets_shapes(shapes: Shapes) -> Iterator[Sample]:
    """From every pattern of every detector that has patterns; those of IP addresses left out."""
    for module in iter_modules(plugins.__path__):
        if module.name in ("base", "ip_public", "jwt", "private_key", "keyword"):
            continue
        for thing in vars(import_module(f"detect_secrets.plugins.{module.name}")).values():
            if isinstance(thing, type) and issubclass(thing, RegexBasedDetector) and thing is not RegexBasedDetector:
                denylist: list[re.Pattern[str]] = list(vars(thing)["denylist"])
                for pattern in denylist * (EACH // len(denylist)):
                    yield _framed(module.name, shapes.of(pattern))


def _framed(name: str, shape: Sample) -> Sample:
    label = LABEL.match(shape.value)
    start = shape.start + (label.end() if label else 0)
    end = start + len(shape.text[start : shape.end].rstrip(' "'))
    ahead, _, behind = FRAME.get(name, "{}").partition("{}")
    return Sample(name, ahead + shape.text + behind, len(ahead) + start, len(ahead) + end)


def encoded_shapes(fake: Faker) -> Iterator[Sample]:
    """Those whose shape is more than a pattern: web tokens and private keys under the heads that detect-secrets has."""
    from detect_secrets.plugins.private_key import PrivateKeyDetector

    for _ in range(EACH):
        parts = [msgspec.json.encode(part) for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": fake.uuid4()})]
        coded = [base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (*parts, fake.binary(32))]
        yield sample("jwt", "cookie: {}; path=/", ".".join(coded))
    for pattern in PrivateKeyDetector.denylist:
        head = pattern.pattern.replace("\\", "")
        if head.startswith("BEGIN"):
            body = base64.encodebytes(fake.binary(1200)).decode()
            yield sample("private_key", f"-----{head}-----\n{{}}-----{head.replace('BEGIN', 'END')}-----\n", body)


FRAMES = [
    *("password = '{}'", 'DB_PASSWORD="{}"', '{"user": "ann", "password": "{}"}', "password: {}", "DB_PASS={}"),
    *(
        'my_password := "{}"',
        "passwd => '{}',",
        "<password>{}</password>",
        "mysql --password={} -h db",
        'secret("{}");',
    ),
    *("Server=db;User Id=sa;Password={};", 'client_secret = "{}"', "service_pwd: '{}'", '{\\"pwd\\": \\"{}\\"}'),
]
KEY_FRAMES = [
    'api_key = "{}"',
    "SECRET_KEY={}",
    "auth_token: {}",
    '{"access_token": "{}"}',
    "https://x.io/v1?apikey={}&q=1",
]


def faker_secrets(fake: Faker) -> Iterator[Sample]:
    """Passwords as Faker makes them, and hashes as keys, in the ways in which people write them down."""
    for number in range(EACH * 5):
        yield sample("password", FRAMES[number % len(FRAMES)], fake.password(length=fake.random_int(8, 20)))
    for number in range(EACH):
        yield sample(
            "key", KEY_FRAMES[number % len(KEY_FRAMES)], fake.random_element([fake.md5, fake.sha1, fake.uuid4])()
        )
        password = fake.password(special_chars=False)
        yield sample("url", f"postgresql://{fake.user_name()}:{{}}@{fake.hostname()}:5432/app", password)


def faker_personal(fake: Faker, japanese: Faker) -> Iterator[Sample]:
    """Personal data of Faker's, each kind in a sentence that does not name it and in one that does."""
    makers: dict[str, list[tuple[str, Callable[[], str]]]] = {
        "email": [("write to {} today", fake.email)],
        "card": [("paid with {} yesterday", fake.credit_card_number)],
        "iban": [("to {} please", fake.iban)],
        "ip-address": [("from {} at noon", fake.ipv4_public), ("from {} at noon", fake.ipv6)],
        "my-number": [("番号は{}です", japanese.ssn)],
        "phone, Japan": [("連絡は {} まで", japanese.phone_number)],
        "phone, US": [("I am at {} until six", fake.phone_number), ("Phone: {}", fake.phone_number)],
    }
    for group, ways in makers.items():
        for number in range(EACH):
            frame, make = ways[number % len(ways)]
            yield sample(group, frame, make())


def presidio() -> Iterator[Sample]:
    """The spans of the kinds that we have."""
    for record in _rows("pii_presidio_synth/records.dev.jsonl"):
        for span in record["spans"]:
            if span["type"] in PRESIDIO:
                yield Sample(span["type"], record["text"], span["start"], span["end"])


def _rows(name: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in (DATA / name).read_bytes().splitlines()]


def covered(redactor: Redactor, one: Sample) -> bool:
    """Whether nothing of the value stays. A single character at its edge (a period, a bracket) gives nothing away."""
    left = set(range(one.start, one.end))
    for found in redactor.findings(one.text):
        left -= set(range(found.start, found.end))
    return all(not one.text[at].isalnum() for at in left) and len(left) < 3


def peer_covers(one: Sample) -> bool:
    """Whether detect-secrets reports the value, or a text with it; of a private key it reports the first line."""
    if one.group == "private_key":
        return bool(scan(one.text))
    return any(one.value in value or value in one.value for value in scan(one.text) if value)


def scan(text: str) -> set[str]:
    """What detect-secrets finds in a text."""
    with NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return {str(secret.secret_value) for secret in scan_file(file.name)}


def recall(title: str, samples: list[Sample], redactor: Redactor, *, peer: bool) -> None:
    """A line for each group, and one for all."""
    ours, theirs, count = Counter[str](), Counter[str](), Counter[str]()
    for one in samples:
        for group in (one.group, "all"):
            count[group] += 1
            ours[group] += covered(redactor, one)
            theirs[group] += peer and peer_covers(one)
    print(f"\n{title}")
    for group in count:
        cells = [f"{ours[group] / count[group]:.3f}"] + [f"{theirs[group] / count[group]:.3f}"] * peer
        row(f"  {group}", str(count[group]), *cells)


def ordinary() -> dict[str, list[str]]:
    """Texts without secrets, by data set."""
    return {
        "scifact": [f"{doc['title']}\n{doc['text']}" for doc in _rows("scifact/corpus.jsonl")],
        "stackfaq": [f"{doc['title']}\n{doc['text']}" for doc in _rows("stackfaq/corpus.jsonl")],
        "locomo": [doc["text"] for doc in _rows("locomo/corpus.dev.jsonl")],
    }


def alarms(texts: dict[str, list[str]], redactor: Redactor) -> None:
    """In how many of a thousand ordinary texts something is found, and in how many what is no e-mail address."""
    print(f"\nalarms per 1,000 texts{'texts':>42}{'scalepan':>20}{'no e-mail address':>20}{'detect-secrets':>20}")
    for name, some in texts.items():
        kinds: dict[str, int] = defaultdict(int)
        counts = [0, 0, 0]
        for text in some:
            found = redactor.findings(text)
            for kind in {finding.kind for finding in found}:
                kinds[kind] += 1
            wrong = [one for one in found if not EMAIL.fullmatch(text, one.start, one.end)]
            counts = [count + bool(what) for count, what in zip(counts, (found, wrong, scan(text)), strict=True)]
        row(f"  {name}", f"{len(some):,}", *(f"{count / len(some) * 1000:.2f}" for count in counts))
        if kinds:
            print("    " + ", ".join(f"{kind} {count}" for kind, count in kinds.items()))


def speed(texts: dict[str, list[str]], redactor: Redactor) -> None:
    """Ordinary text through both, one core."""
    print("\nspeed on ordinary text                                    MB/s             texts/s               ratio")
    for name, all_texts in texts.items():
        some = all_texts[:300]
        size = sum(len(text.encode()) for text in some)
        ours, theirs = best_cpu(3, 1, partial(_redact_all, some, redactor), partial(_scan_all, some))
        for who, cost in (("scalepan", ours), ("detect-secrets", theirs)):
            row(f"  {name}, {who}", f"{size / cost / 1e6:.2f}", f"{len(some) / cost:,.0f}", f"{theirs / cost:.1f}")


def _redact_all(texts: list[str], redactor: Redactor) -> None:
    for text in texts:
        redactor.redact(text)


def _scan_all(texts: list[str]) -> None:
    for text in texts:
        scan(text)


def main() -> None:
    """All tables."""
    fake, japanese = Faker("en_US"), Faker("ja_JP")
    Faker.seed(SEED)
    redactor, shapes = Redactor(), Shapes(SEED)
    with default_settings():
        header = f"recall                                        {'count':>18}{'scalepan':>20}{'detect-secrets':>20}"
        print(header)
        recall(
            "secrets, detect-secrets' shapes",
            [*detect_secrets_shapes(shapes), *encoded_shapes(fake)],
            redactor,
            peer=True,
        )
        recall("secrets, Faker's", list(faker_secrets(fake)), redactor, peer=True)
        recall("personal data, Faker's", list(faker_personal(fake, japanese)), redactor, peer=False)
        if not DATA.is_dir():
            print(f"\nno data in {DATA}: recall on presidio's sentences, false alarms and speed are not measured")
            return
        recall("pii_presidio_synth, dev", list(presidio()), redactor, peer=False)
        texts = ordinary()
        alarms(texts, redactor)
        speed(texts, redactor)


if __name__ == "__main__":
    main()
