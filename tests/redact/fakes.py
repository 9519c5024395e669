"""Fake keys and tokens, generated at run time so that no scanner takes this file for a leak."""

import random
import string

LETTERS = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
BASE64 = LETTERS + "+/"
_DICE = random.Random(5)


def some(count: int, characters: str = LETTERS) -> str:
    """Random characters, the first a letter, with at least one digit."""
    letter = _DICE.choice([character for character in characters if character.isalpha()])
    digit = _DICE.choice([character for character in characters if character.isdigit()])
    return letter + digit + "".join(_DICE.choices(characters, k=count - 2))


def uuid() -> str:
    return "-".join(some(count, HEX) for count in (8, 4, 4, 4, 12))


def aws_key() -> str:
    return "AKIA" + "A" * 16


def jwt() -> str:
    return "eyJ" + some(30) + "." + "eyJ" + some(40) + "." + some(43)


def pem(kind: str = "RSA ", lines: int = 4) -> str:
    body = "\n".join(some(64, BASE64) for _ in range(lines))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


TOKENS = [
    *[("aws-key", prefix + some(16, UPPER)) for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")],
    ("aws-key", "A3T" + some(17, UPPER)),
    ("aws-key", "ABSK" + some(120, BASE64)),
    ("anthropic-key", "sk-ant-" + "api03-" + some(90)),
    ("openrouter-key", "sk-or-v1-" + some(64, HEX)),
    ("langfuse-key", "sk-lf-" + uuid()),
    *[("openai-key", prefix + some(48)) for prefix in ("sk-", "sk-proj-", "sk-svcacct-", "sk-admin-")],
    ("openai-key", "sk-" + some(20) + "T3BlbkFJ" + some(20)),
    ("google-key", "AIza" + some(35)),
    ("google-key", "GOCSPX-" + some(28)),
    ("google-key", "ya29." + some(60)),
    *[("github-token", prefix + some(36)) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")],
    ("github-token", "github_pat_" + some(22) + "_" + some(59)),
    *[("gitlab-token", prefix + some(20)) for prefix in ("glpat-", "gldt-", "glrt-", "glsoat-", "GR1348941")],
    ("bitbucket-token", "ATBB" + some(32)),
    ("atlassian-token", "ATATT3" + some(180)),
    ("slack-token", "xoxb-" + "1" * 12 + "-" + "2" * 12 + "-" + some(24)),
    ("slack-token", "xapp-1-" + some(60)),
    *[("stripe-key", prefix + some(24)) for prefix in ("sk_live_", "rk_live_", "sk_test_")],
    ("stripe-key", "whsec_" + some(32)),
    ("square-token", "sq0csp-" + some(43)),
    ("shopify-token", "shpat_" + some(32, HEX)),
    ("twilio-key", "SK" + some(32, HEX)),
    ("sendgrid-key", "SG." + some(22) + "." + some(43)),
    ("mailgun-key", "key-" + some(32, HEX)),
    ("mailchimp-key", some(32, HEX) + "-us12"),
    ("brevo-key", "xkeysib-" + some(64, HEX) + "-" + some(16)),
    ("resend-key", "re_" + some(8) + "_" + some(24)),
    ("npm-token", "npm_" + some(36)),
    ("pypi-token", "pypi-AgE" + "IcHlwaS5vcmc" + some(80)),
    ("rubygems-token", "rubygems_" + some(48, HEX)),
    ("docker-token", "dckr_pat_" + some(27)),
    ("digitalocean-token", "dop_v1_" + some(64, HEX)),
    ("heroku-key", "HRKU-" + uuid()),
    ("databricks-token", "dapi" + some(32, HEX)),
    ("hashicorp-token", "hvs." + some(90)),
    ("hashicorp-token", some(14) + ".atlasv1." + some(64)),
    ("pulumi-token", "pul-" + some(40, HEX)),
    ("doppler-token", "dp.pt." + some(43)),
    ("alibaba-key", "LTAI" + some(20)),
    ("huggingface-token", "hf_" + some(34)),
    ("replicate-token", "r8_" + some(37)),
    ("groq-key", "gsk_" + some(52)),
    ("perplexity-key", "pplx-" + some(48)),
    ("grafana-token", "glsa_" + some(32) + "_" + some(8, HEX)),
    ("newrelic-key", "NRAK-" + some(27, UPPER)),
    ("postman-key", "PMAK-" + some(24, HEX) + "-" + some(34, HEX)),
    ("airtable-token", "pat" + some(14) + "." + some(64, HEX)),
    ("linear-key", "lin_api_" + some(40)),
    ("notion-token", "ntn_" + some(46)),
    ("figma-token", "figd_" + some(40)),
    ("telegram-token", "1234567890:" + some(35)),
    ("discord-token", "M" + some(25) + "." + some(6) + "." + some(38)),
    ("supabase-key", "sbp_" + some(40, HEX)),
    ("age-key", "AGE-SECRET-KEY-1" + some(58, UPPER)),
    ("jwt", jwt()),
    ("private-key", pem()),
    ("private-key", pem("")),
    ("private-key", pem("OPENSSH ")),
    ("private-key", pem("ENCRYPTED ")),
]
