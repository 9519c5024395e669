"""What is redacted before text is stored or sent: which kinds, and the user's own rules (contract memory.65)."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

from scalepan.check import in_order
from scalepan.errors import did_you_mean, shorten
from scalepan.policy._fields import Section, choice, number
from scalepan.policy.patterns import pattern_fault

Category = Literal["secret", "pii"]

# In the order of the rules: of two equally long matches the earlier kind names the placeholder.
SECRETS = (
    *("private-key", "aws-key", "aws-secret-key", "anthropic-key", "openrouter-key", "langfuse-key", "openai-key"),
    *("google-key", "azure-key", "github-token", "gitlab-token", "bitbucket-token", "slack-token", "slack-webhook"),
    *(
        "discord-token",
        "discord-webhook",
        "teams-webhook",
        "telegram-token",
        "stripe-key",
        "square-token",
        "paypal-token",
    ),
    *("shopify-token", "twilio-key", "sendgrid-key", "mailgun-key", "mailchimp-key", "brevo-key", "resend-key"),
    *("npm-token", "pypi-token", "rubygems-token", "docker-token", "artifactory-token", "crates-token", "nuget-key"),
    *("digitalocean-token", "heroku-key", "cloudflare-token", "fly-token", "vercel-token", "supabase-key"),
    *("planetscale-token", "databricks-token", "hashicorp-token", "pulumi-token", "doppler-token", "alibaba-key"),
    *("tencent-key", "yandex-key", "ibm-key", "softlayer-key", "facebook-token", "mapbox-token", "huggingface-token"),
    *("replicate-token", "groq-key", "xai-key", "perplexity-key", "nvidia-key", "elevenlabs-key", "tavily-key"),
    *("langsmith-key", "grafana-token", "sentry-token", "newrelic-key"),
    *("dynatrace-token", "postman-key", "airtable-token", "atlassian-token", "asana-token", "linear-key"),
    *("notion-token", "figma-token", "typeform-token", "contentful-token", "buildkite-token", "circleci-token"),
    *("sourcegraph-token", "onepassword-token", "age-key", "jwt", "url-password", "basic-auth", "bearer-token"),
    *("cookie", "password-hash", "webhook-url", "password", "api-key", "token", "secret"),
)
PERSONAL = ("email", "iban", "card", "my-number", "us-ssn", "phone", "ip-address")
CATEGORIES: dict[str, Category] = {
    **dict.fromkeys(SECRETS, "secret"),
    **dict.fromkeys(PERSONAL, "pii"),
}
NAME_PATTERN = "^[a-z][a-z0-9-]{0,39}$"


class UserRule(Section, frozen=True, kw_only=True):
    """A pattern of your own and what a match of it is called."""

    name: Annotated[str, msgspec.Meta(pattern=NAME_PATTERN, description="name in the placeholder: [secret:NAME]")]
    category: Annotated[Category, in_order(Category), choice("how a match is treated: secret or pii")] = "secret"
    pattern: Annotated[
        str, choice("a regular expression; a group called 'value' is the part of a match that is redacted")
    ]

    def __post_init__(self) -> None:
        if self.name in CATEGORIES:
            raise ValueError(f"'{self.name}' is built in; give the rule a name of its own")
        if fault := pattern_fault(self.pattern):
            raise ValueError(f"'{shorten(self.pattern)}' {fault}")


class Redact(Section, frozen=True, kw_only=True):
    """Which secrets and personal data are redacted. Only a file that the user named can make this less strict."""

    version: Annotated[str, choice("your label for this section; comes before its hash")] = ""
    store_pii: Annotated[bool, choice("store personal data, its class raised to pii; secrets never")] = False
    kinds: Annotated[dict[str, bool], choice("kinds switched off or on, by name; what is not named is on")] = (
        msgspec.field(default_factory=dict)
    )
    rules: Annotated[list[UserRule], choice("your own rules, beside the built-in ones")] = msgspec.field(
        default_factory=list
    )
    timeout_ms: Annotated[
        float, number("how long one of your rules may search one text; after that the text is refused", "ms", gt=0)
    ] = 1000.0

    def __post_init__(self) -> None:
        categories: dict[str, str] = {}
        for rule in self.rules:
            if categories.setdefault(rule.name, rule.category) != rule.category:
                raise ValueError(f"rules call '{rule.name}' both secret and pii; give one of them another name")
        legal = [*CATEGORIES, *(rule.name for rule in self.rules)]
        for kind in self.kinds:
            if kind not in legal:
                raise ValueError(f"kinds has no '{shorten(kind)}'{did_you_mean(kind, legal)}")

    def looks_for(self, kind: str) -> bool:
        """Whether this kind is switched on.

        >>> Redact(kinds={"ip-address": False}).looks_for("ip-address"), Redact().looks_for("email")
        (False, True)
        """
        return self.kinds.get(kind, True)


_SHAPES: dict[str, type] = {"store_pii": bool, "kinds": dict, "rules": list}


def tighten(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Merge a lower layer into this section without relaxing it: on stays on, rules are added, `store_pii` stays off.

    A shorter time limit is the stricter one: text that was not searched in time is refused.

    A value of the wrong shape is merged unchanged, so that the check that follows can name it.

    >>> section = {"store_pii": False, "kinds": {"phone": False}, "rules": [], "timeout_ms": 1000.0}
    >>> tighten(section, {"store_pii": True, "kinds": {"phone": True, "email": False}})
    >>> section["store_pii"], section["kinds"]
    (False, {'phone': True, 'email': True})
    """
    for key, value in values.items():
        if not isinstance(into.get(key), _SHAPES.get(key, object)):
            continue  # a layer before this one is at fault
        match key, value:
            case "store_pii", bool():
                into[key] = into[key] is True and value
            case "kinds", Mapping() if all(isinstance(on, bool) for on in value.values()):
                into[key] = {**into[key], **{kind: on or into[key].get(kind, True) for kind, on in value.items()}}
            case "timeout_ms", int() | float() if isinstance(into[key], (int, float)) and value > 0:
                into[key] = min(into[key], value)
            case "rules", list():
                into[key] = [*into[key], *(rule for rule in value if rule not in into[key])]
            case _:
                into[key] = value


def looser(values: Mapping[str, Any], section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a layer asked for and `tighten` did not grant, as path and value.

    >>> list(looser({"store_pii": True, "kinds": {"email": False}}, {"store_pii": False, "kinds": {"email": True}}))
    [('store_pii', True), ('kinds.email', False)]
    """
    for key in ("store_pii", "timeout_ms"):
        if key in values and section.get(key) != values[key]:
            yield key, values[key]
    wanted, given = values.get("kinds"), section.get("kinds")
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        yield from ((f"kinds.{kind}", on) for kind, on in wanted.items() if given.get(kind) != on)
