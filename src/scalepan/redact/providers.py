"""Keys and tokens with a provider's prefix, and others that are recognized by their context."""

import re
from collections.abc import Iterator

from scalepan.redact.names import STEMS
from scalepan.redact.plain import CUT
from scalepan.redact.rule import LOOSE_EDGE_BEHIND, Hit, KeywordPattern, RedactionRule, TokenRule, patterns, tokens
from scalepan.redact.view import View

_W = "[0-9A-Za-z]"
_U = "[0-9A-Za-z_-]"
_H = "[0-9a-f]"
_UUID = f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"


_RUNS = re.compile("[a-z]+|[A-Z]+|[0-9]+")


def _mixed(token: str) -> bool:
    """Whether upper case, lower case and digits alternate more than in words and names."""
    runs = len(_RUNS.findall(token))
    return runs > 8 or (runs > 4 and any(c.isdigit() for c in token))


# Kind, prefixes, body, and whether the length is open, as some providers make longer tokens over time.
_TOKENS = [
    ("aws-key", "AKIA ASIA ABIA ACCA", "[0-9A-Z]{16}", False),
    ("aws-key", "A3T", "[0-9A-Z]{17}", False),
    ("aws-key", "ABSK", "[0-9A-Za-z+/]{40,160}={0,2}", False),
    ("anthropic-key", "sk-ant-", f"{_U}{{16,}}", True),
    ("openrouter-key", "sk-or-v1-", f"{_U}{{32,}}", True),
    # With a longer tail it is more likely an OpenAI key.
    ("langfuse-key", "sk-lf- pk-lf-", f"{_UUID}(?:[_-]{_U}{{0,100}}{_W}{{20}}{_U}{{0,200}})?", False),
    # A name such as sk-fading-circle has no run of 20.
    (
        "openai-key",
        "sk-",
        f"(?:(?:proj|svcacct|admin)-{_U}{{20,}}|{_U}{{0,100}}?{_W}{{20}}{_U}*)",
        True,
    ),
    ("google-key", "AIza", f"{_U}{{35}}", False),
    ("google-key", "GOCSPX-", f"{_U}{{20,}}", True),
    ("google-key", "ya29.", f"{_U}{{20,}}", True),
    ("google-key", "1//0", f"{_U}{{30,}}", True),
    ("azure-key", "AccountKey= SharedAccessKey= SharedSecretValue=", "(?P<value>[0-9A-Za-z+/]{40,100}={0,2})", False),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[0-9A-Za-z_]{36,}", True),
    ("github-token", "github_pat_", "[0-9A-Za-z_]{22,}", True),
    (
        "gitlab-token",
        "glpat- gldt- glft- glsoat- glrt- glcbt- glimt- glptt- glagent- gloas- glffct- GR1348941",
        f"{_U}{{20,}}(?:\\.{_U}{{2,}}){{0,3}}",
        True,
    ),
    ("bitbucket-token", "ATBB ATCTT3", f"{_U}{{28,}}=?{_W}*", True),
    ("atlassian-token", "ATATT3", f"{_U}{{60,}}=?{_W}*", True),
    ("slack-token", "xoxa- xoxb- xoxp- xoxo- xoxs- xoxr- xoxe- xoxc- xoxd- xapp-", f"{_U}{{6,}}", True),
    (
        "discord-webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        f"(?P<value>[0-9]{{15,20}}/{_U}{{40,}})",
        True,
    ),
    ("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", f"{_W}{{16,}}", True),
    ("stripe-key", "whsec_", "[0-9A-Za-z+/]{24,128}={0,2}", False),
    ("square-token", "sq0csp- sq0atp- sq0idp-", f"{_U}{{22,}}", True),
    ("square-token", "EAAA", f"{_U}{{56,60}}", False),
    ("paypal-token", "access_token$production$ access_token$sandbox$", f"{_W}{{10,32}}\\${_H}{{32}}", False),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[0-9A-Fa-f]{32}", False),
    ("twilio-key", "AC SK", "[0-9a-z]{32}", False),
    ("sendgrid-key", "SG.", f"{_U}{{16,32}}\\.{_U}{{32,64}}", False),
    ("mailgun-key", "key-", f"{_H}{{32}}", False),
    ("brevo-key", "xkeysib- xsmtpsib-", f"{_H}{{64}}-{_W}{{16}}", False),
    ("resend-key", "re_", f"{_W}{{8}}_{_W}{{24}}", False),
    ("npm-token", "npm_", f"{_W}{{36,}}", True),
    ("pypi-token", "pypi-AgE", f"{_U}{{50,}}", True),
    ("rubygems-token", "rubygems_", f"{_H}{{48}}", False),
    ("docker-token", "dckr_pat_ dckr_oat_", f"{_U}{{20,}}", True),
    ("crates-token", "cio", f"{_W}{{32}}", False),
    ("nuget-key", "oy2", "[0-9a-z]{43}", False),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", f"{_H}{{64}}", False),
    ("heroku-key", "HRKU-", f"{_U}{{36,}}", True),
    ("cloudflare-token", "v1.0-", f"{_H}{{24}}-{_H}{{146}}", False),
    ("fly-token", "fm1a_ fm1r_ fm2_", "[0-9A-Za-z+/]{60,2000}={0,3}", False),
    ("fly-token", "fo1_", f"{_U}{{40,}}", True),
    ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", f"{_W}{{24,}}", True),
    ("supabase-key", "sbp_ sb_secret_", f"{_U}{{20,}}", True),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", f"{_U}{{32,}}", True),
    ("databricks-token", "dapi", f"{_H}{{32}}(?:-[0-9])?", False),
    ("hashicorp-token", "hvs. hvb. hvr.", f"{_U}{{24,}}", True),
    ("pulumi-token", "pul-", f"{_H}{{40}}", False),
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", f"(?:{_U}{{2,35}}\\.)?{_W}{{40,}}", True),
    ("alibaba-key", "LTAI", f"{_W}{{12,24}}", False),
    ("tencent-key", "AKID", f"{_W}{{32}}", False),
    ("yandex-key", "AQVN t1.", f"{_U}{{35,200}}", False),
    ("yandex-key", "y0_", f"{_U}{{40,}}", True),
    ("softlayer-key", "api.softlayer.com/soap/v3/ api.softlayer.com/soap/v3.1/", "(?P<value>[0-9A-Za-z]{64})", False),
    ("facebook-token", "EAA", f"{_W}{{80,}}", True),
    ("mapbox-token", "sk.eyJ", f"{_U}{{40,}}\\.{_U}{{20,}}", True),
    ("huggingface-token", "hf_ api_org_", f"{_W}{{30,}}", True),
    ("replicate-token", "r8_", f"{_W}{{37,40}}", False),
    ("groq-key", "gsk_", f"{_W}{{40,}}", True),
    ("xai-key", "xai-", f"{_W}{{60,}}", True),
    ("perplexity-key", "pplx-", f"{_W}{{40,}}", True),
    ("nvidia-key", "nvapi-", f"{_U}{{40,}}", True),
    ("elevenlabs-key", "sk_", f"{_H}{{48}}", False),
    ("tavily-key", "tvly-", f"{_U}{{20,}}", True),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_", f"{_U}{{32,}}", True),
    ("grafana-token", "glsa_ glc_", "[0-9A-Za-z_+/]{30,400}={0,2}", False),
    ("sentry-token", "sntrys_ sntryu_", "[0-9A-Za-z_+/=]{40,400}", False),
    ("newrelic-key", "NRAK- NRJS- NRIQ-", f"{_W}{{19,40}}", False),
    ("dynatrace-token", "dt0c01. dt0s01.", r"[0-9A-Z]{24}\.[0-9A-Z]{64}", False),
    ("postman-key", "PMAK-", f"{_H}{{24}}-{_H}{{34}}", False),
    ("airtable-token", "pat", f"{_W}{{14}}\\.{_H}{{64}}", False),
    ("asana-token", "1/ 2/", f"[0-9]{{14,20}}(?:/[0-9]{{14,20}})?:{_H}{{32}}", False),
    ("linear-key", "lin_api_ lin_oauth_", f"{_W}{{32,}}", True),
    ("notion-token", "secret_", f"{_W}{{43}}", False),
    ("notion-token", "ntn_", f"{_W}{{40,}}", True),
    ("figma-token", "figd_ figdr_", f"{_U}{{36,}}", True),
    ("typeform-token", "tfp_", "[0-9A-Za-z_.=-]{40,64}", False),
    ("contentful-token", "CFPAT-", f"{_U}{{40,}}", True),
    ("buildkite-token", "bkua_", f"{_H}{{40}}", False),
    ("circleci-token", "CCIPAT_ CCIPRJ_", f"{_U}{{20,}}", True),
    ("sourcegraph-token", "sgp_", f"(?:{_H}{{16}}_|local_)?{_H}{{40}}", False),
    ("onepassword-token", "ops_eyJ", f"{_U}{{100,}}={{0,2}}", True),
    ("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}", False),
    # Providers without a kind of their own.
    (
        "api-key",
        "aio_ ion_ rdme_ duffel_ jina_ e2b_ pcsk_ nfp_ rnd_ rpa_ phx_ waka_ zpka_ sqp_ squ_ sqa_",
        f"{_W}{{24,}}",
        True,
    ),
    (
        "api-key",
        "apify_api_ shippo_live_ shippo_test_ skapi_cert_ skapi_prod_ rzp_live_ mdb_sa_sk_",
        f"{_U}{{14,}}",
        True,
    ),
    (
        "api-key",
        "CLOJARS_ EZAK EZTK FLWSECK- FLWSECK_TEST- fio-u- tskey- PMAT- glwt- ico- p8e- pnu_",
        f"{_U}{{28,}}",
        True,
    ),
    (
        "api-key",
        "akab- NRII- NRAA- NRRA- NRSP- NRIQ- APP_USR- fc- frame- tk-us- lip_ pat-na1- pat-eu1-",
        f"{_U}{{28,}}",
        True,
    ),
    ("api-key", "amzn.mws. access-sandbox- access-production- access-development-", f"{_U}{{30,}}", True),
    ("api-key", "AVNS_ AVNU_ AVNP_", "[0-9A-Za-z+/_-]{19,400}={0,2}", False),
    ("api-key", "dG9rO eyJrIjoi", "[0-9A-Za-z+/]{40,400}={0,2}", False),
    ("api-key", "sl.B sl.u. SWMTKN-1-", f"{_U}{{40,}}", True),
]

# Names of keys for IBM's clouds, and their values. The search starts at the word at the end of the name.
_IBM_WORD = re.compile(
    r"(?i:key|pwd|pw|password|pass|token)[\"']?\]?(?:\s{0,16}(?:=>|:=|::|=|:)\s{0,16}|\s{1,33})[\"']?"
    rf"(?P<value>{_U}{{24,64}})(?!{_U})"
)
_IBM_BEFORE = 24
"""How far before that word the name may begin."""
_IBM = [
    (kind, re.compile(rf"(?i:{name})[_-]{{0,2}}(?i:api)?[_-]?\Z"), re.compile(value))
    for kind, name, value in (
        ("softlayer-key", "softlayer|sl", "[0-9a-z]{64}"),
        ("ibm-key", "cl(?:oudant|ou)?", f"{_H}{{64}}|[a-z]{{24}}"),
        ("ibm-key", "(?:ibm|iam|cos|cloud)[_-]?(?:cloud|iam|hmac)?", f"{_U}{{44}}|{_H}{{48}}"),
    )
]

# Kind, keyword, minimum length, distance from the start of a match to the keyword, pattern (see KeywordPattern).
_PATTERNS = [
    (
        "slack-webhook",
        "hooks.slack.com",
        20,
        0,
        r"(?i:hooks\.slack\.com)/(?:services|workflows)/(?P<value>[0-9A-Za-z_/]{8,120})",
    ),
    ("teams-webhook", "webhook.office.com", 60, 0, r"webhook\.office\.com/webhookb2/(?P<value>[0-9A-Za-z@/-]{60,400})"),
    *(
        ("webhook-url", word, 30, 0, rf"{re.escape(word)}(?P<value>{tail})")
        for word, tail in (
            ("hooks.zapier.com/hooks/catch/", "[0-9]{4,12}/[0-9A-Za-z/]{6,60}"),
            ("maker.ifttt.com/trigger/", r"[\w-]{1,60}/(?:json/)?with/key/[\w-]{16,80}"),
            ("open-apis/bot/v2/hook/", "[0-9A-Za-z-]{16,60}"),
            ("cgi-bin/webhook/send?key=", "[0-9A-Za-z-]{16,60}"),
            ("outlook.office.com/webhook/", "[0-9A-Za-z@/-]{40,300}"),
            ("webhook.site/", "[0-9a-f-]{36}"),
            ("hook.integromat.com/", "[0-9a-z]{24,40}"),
            (".make.com/", "[0-9a-z]{28,40}"),
        )
    ),
    ("webhook-url", "@o", 40, 32, rf"{_H}{{32}}(?<=//.{{32}})(?:@o[0-9]{{1,10}}\.ingest)"),
    ("telegram-token", ":", 44, None, rf"[0-9]{LOOSE_EDGE_BEHIND}[0-9]{{7,9}}:{_U}{{35}}(?!{_U})"),
    ("mailchimp-key", "-us", 36, 32, rf"[0-9a-z]{LOOSE_EDGE_BEHIND}[0-9a-z]{{31}}-us[0-9]{{1,2}}(?!{_W})"),
    (
        "token",
        "samlresponse",
        60,
        0,
        r"(?i:samlresponse)[\"']?\s{0,4}[=:]\s{0,4}[\"']?(?P<value>[0-9A-Za-z+/%=]{60,20000})",
    ),
    ("npm-token", ":_authtoken", 11, 0, rf":_authToken\s{{0,16}}=\s{{0,16}}[\"']?(?P<value>[^\s\"'${CUT}]{{10,200}})"),
    ("hashicorp-token", ".atlasv1.", 80, 14, rf"{_W}{LOOSE_EDGE_BEHIND}{_W}{{13}}\.atlasv1\.{_U}{{60,70}}"),
    ("azure-key", "sig=", 43, 1, r"[?&]sig=(?P<value>[0-9A-Za-z%+/]{43,80}={0,2})"),
    (
        "azure-key",
        "8q~",
        34,
        3,
        rf"[0-9A-Za-z_~.-]{LOOSE_EDGE_BEHIND}[0-9A-Za-z_~.-]{{2}}8Q~[0-9A-Za-z_~.-]{{31,34}}(?!{_W})",
    ),
]
_MIXED = [
    ("discord-token", ".", 58, rf"[MNO]{LOOSE_EDGE_BEHIND}{_U}{{23,27}}\.{_U}{{6,7}}\.{_U}{{27,40}}(?!{_U})"),
    ("artifactory-token", "akc", 13, rf"AKC(?<!{_W}...){_W}{{10,100}}(?!{_W})"),
    ("artifactory-token", "ap", 11, rf"AP(?<!{_W}..)[0-9A-F]{_W}{{8,100}}(?!{_W})"),
]
# Only its length is characteristic, so the text right before it must mention AWS.
_AWS_SECRET = KeywordPattern(
    "aws-secret-key",
    "aws",
    40,
    re.compile(r"[\"'](?P<value>[0-9A-Za-z/+]{40})[\"']"),
    before=re.compile(rf"(?i:aws)[^\n{CUT}]{{0,60}}$"),
)


def _ibm_keys(view: View) -> Iterator[Hit]:
    if view.longest < 24:
        return
    for at in view.places_of(STEMS):
        match = _IBM_WORD.match(view.text, at)
        if match is None:
            continue
        for kind, name, value in _IBM:
            if value.fullmatch(match["value"]) and name.search(view.text, max(0, at - _IBM_BEFORE), at):
                yield (*match.span("value"), kind)


PROVIDERS = [
    RedactionRule(frozenset(kind for kind, _, _ in _IBM), _ibm_keys),
    tokens(TokenRule(*row) for row in _TOKENS),
    patterns(
        [
            *(
                KeywordPattern(kind, word, length, re.compile(pattern), ahead=ahead)
                for kind, word, length, ahead, pattern in _PATTERNS
            ),
            *(
                KeywordPattern(kind, word, length, re.compile(pattern), _mixed)
                for kind, word, length, pattern in _MIXED
            ),
            _AWS_SECRET,
        ]
    ),
]
