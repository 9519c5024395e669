"""Searching again next to a cut: how far is far enough, and where a value ends."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.redact import Finding, Redacted, Redactor, redact
from scalepan.redact import redactor as redactor_module
from scalepan.redact.again import LONG, SHORTEST
from scalepan.redact.edges import never_joined
from scalepan.redact.view import View
from tests.redact.fakes import HEX, some
from tests.redact.test_properties import PIECES

CACHE = '"redis://:pa55w0rd@cache"'
DROPLET = "dop_v1_" + some(64, HEX)
SECRET = some(40)
# the text before each number says that it is not a phone number
ROWS = [piece * LONG for piece in ("order 03-1234-5678, ", "version 1.2.3.4, ", "see x://ann@b.co, ", "bypass=a1b2c3 ")]
LINES = "lorem ipsum\n" * (2 * LONG // 12)
ALONE = [piece for piece in PIECES if never_joined(piece) and not piece.startswith("[")]


def looking_everywhere(text: str) -> tuple[Finding, ...]:
    """The findings if the whole text is searched every time."""
    with patch.object(redactor_module, "Excerpt", lambda cuts, searched: View(searched.plain, cuts)):
        return Redactor(key=b"k").findings(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        # a password contains the :// that made ann@... part of a URL
        *(
            (f'{{"secret":{CACHE},"{"x" * gap}":"ann@example.com"}}', f'"{"x" * gap}":"[pii:email]"}}')
            for gap in (0, 40, 60, 100)
        ),
        (
            f'{LINES}{{"secret":{CACHE},"{"x" * LONG}":"x","{"x" * 100}":"ann@example.com"}}\n{LINES}',
            f'":"[pii:email]"}}\n{LINES}',
        ),
        # a token that ends at an e-mail address, with its prefix at the edge of the excerpt
        *(
            (f"a@b.com{' ' * gap}{DROPLET}{'x' * 64}@example.com", f"{' ' * gap}[secret:digitalocean-token][pii:email]")
            for gap in range(50, 70)
        ),
        # with an earlier placeholder far away
        (
            f"[pii:email]{'.' * 3000} {DROPLET}{'x' * 64}@example.com",
            " [secret:digitalocean-token][pii:email]",
        ),
        # a value that ends at a distant cut
        *(
            (lines + "fm2_" + "a1" * 1000 + "ann@example.com", "[secret:fly-token][pii:email]")
            for lines in ("", LINES, LINES[:-1] + " ")
        ),
        # the same before several cuts
        (
            f"{DROPLET}{'x' * 64}@example.com, " * 3,
            "[secret:digitalocean-token][pii:email], " * 3,
        ),
        # in one long line
        *(
            (f"{row}{DROPLET}{'x' * 64}@example.com {LINES}", f"[secret:digitalocean-token][pii:email] {LINES}")
            for row in (*ROWS, "1234 " * LONG, f"{LINES}{'a b' * LONG},", f"{LINES}a@b.co {'a b' * LONG},")
        ),
        # text that a cut turns into a value, with its name on another line
        (
            f"{LINES}login ann\n\n\n\npassword\n\n\n\n%ABC_AKIA{'A' * 16}%\n{LINES}",
            f"\n[secret:password][secret:aws-key]%\n{LINES}",
        ),
        # an option at the very start
        ("-pass %ABC_AKIA" + "A" * 16 + "%", "-pass [secret:password][secret:aws-key]%"),
    ],
)
def test_it_is_found_in_the_first_redaction(text: str, clean: str) -> None:
    once = redact(text)
    assert once.text.endswith(clean)
    assert redact(once.text) == Redacted(once.text)


@pytest.mark.parametrize(
    "text",
    [
        "1 415 555 0132",
        "1 (415) 555-0132",
        "sk-lf-01234567-0123-0123-0123-0123456789ab-abcdefghijklmnopqrstuvwx0",
        *(
            f"ann{hidden}@exam{hidden}ple.com"
            for hidden in "\u00ad\u034f\u180e\u200b\u200d\u2063\u3164\ufe0f\ufdd1\U000e0041"
        ),
    ],
)
def test_all_of_it_goes(text: str) -> None:
    assert len(redact(text).findings) == 1
    assert redact(text).text.startswith("[")
    assert redact(text).text.endswith("]")


@pytest.mark.parametrize(
    "text",
    [
        "password=" + "." * 300,
        "?user=ann&password=" + "." * 300 + "&x=1",
        "IbmKey ss:w0" + "." * 251,
        "SECRET=" + "." * 62 + "-" + "." * 193,
        'password====\\\\\\"abc def"',
        "password:\nusername: ann",
        "password=abc1-xxxx",
        "password=abc1xxxx",
        "PASSWORD=abcdXXXX",
        "PASSWORD=xXxX",
        "?password=a&b=c1d2",
    ],
)
def test_nothing_of_it_goes(text: str) -> None:
    assert redact(text) == Redacted(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"token={'abc' * 100}/PASSWORD=hunter2aa99", f"token={'abc' * 100}/PASSWORD=[secret:password]"),
        ("see password=abcd&e1f now", "see password=[secret:password] now"),
        ("token=aBcDeFgHiJkLmNoPqRsTuV", "token=[secret:token]"),
        ("see password=ab&c1d now", "see password=[secret:password] now"),
        ("/?user=ann&password=hunter2&x=1", "/?user=ann&password=[secret:password]&x=1"),
        (f"/?user=ann&password={'a1' * 200}&x=1", "/?user=ann&password=[secret:password]&x=1"),
        (f"password={'a1' * 200}).", "password=[secret:password])."),
        (f"password:\n{'a1' * 200}:", "password:\n[secret:password]:"),
        ('passphrase="my dog is 4 years"', 'passphrase="[secret:password]"'),
    ],
)
def test_a_value_ends_where_it_ends(text: str, clean: str) -> None:
    assert redact(text).text == clean


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("shift", range(20))
def test_a_reason_to_reject_a_match_is_seen_wherever_the_excerpt_begins(row: str, shift: int) -> None:
    text = f"{row}{'x' * shift} ann@example.com"
    assert redact(text).text == text.replace("ann@example.com", "[pii:email]")


@pytest.mark.parametrize(
    "text",
    [
        # rows of numbers with extensions, and with a long vowel mark instead of a hyphen
        "0028 012 3456 x 0081 3 1234 5678 x " * 60 + "a@b.co",
        "pw=abc1/0028-012-3456 x " + "0081 3 1234 5678 x 0028 012 3456 x " * 100 + "z",
        f"{LINES}{'1000 123456ー5006 123456ー' * 40}1000  a@b.co",
        # the command is far before its option
        f"curl [pii:email] -u bob:abc_def_sk_{some(48, HEX)}",
        f"{LINES}curl x {LINES} -u bob:abc_def_sk_{some(48, HEX)}",
        # in one line without a space
        "{" + '"a":"b",' * LONG + f'"t":"{DROPLET}{"x" * 64}@example.com","c":"' + "d" * LONG + '"}',
    ],
)
def test_the_findings_equal_those_of_a_full_search(text: str) -> None:
    assert Redactor(key=b"k").findings(text) == looking_everywhere(text)
    once = redact(text).text
    assert redact(once) == Redacted(once)


@pytest.mark.parametrize(
    "text",
    [
        "as ann@example.com\n" + "".join(f"password swordfish{n:c}\n" for n in range(97, 109)) + "a long report",
        ("password>" + "a1" * 40) * 12 + ",8.8.8.8 and a long report",
    ],
)
def test_placeholders_do_not_turn_their_neighbors_into_matches_one_by_one(text: str) -> None:
    assert len(redact(text).findings) == 1
    assert redact(text).text.endswith("a long report")


@pytest.mark.parametrize("groups", range(150, 154))
def test_a_cut_before_a_row_of_numbers_changes_where_each_begins(groups: int) -> None:
    text = f"+81-90-1234-5678 {'1234 ' * groups}4111 1111 1111 1111\n{LINES}ann@example.com"
    found = redact(text).findings
    # without the cut the groups of four begin with 5678, with it they begin with 1234
    assert ("card" in {finding.kind for finding in found}) == (groups in (151, 152))
    assert [found.start for found in redact(text).findings] == [found.start for found in looking_everywhere(text)]


@pytest.mark.parametrize("groups", range(700, 704))
def test_a_cut_after_a_row_of_numbers_reveals_the_card_at_its_end(groups: int) -> None:
    """A card is not followed by a comma and a digit; which groups are tried depends on all groups before them."""
    text = f"{LINES}x {'1234 ' * groups}4111 1111 1111 1111,8.8.8.8"
    assert [found.kind for found in redact(text).findings] == ["card", "ip-address"][groups % 4 > 0 :]


@given(
    st.lists(
        st.one_of(
            st.sampled_from(PIECES),
            st.sampled_from(
                [LINES, *ROWS, "1234 " * LONG, "03-1234-567 " * LONG, "z" * LONG + "\n", "key=value1x\n" * LONG]
            ),
        ),
        max_size=8,
    ).map("".join)
)
def test_searching_both_ends_of_a_long_text_misses_nothing(text: str) -> None:
    assert Redactor(key=b"k").findings(text) == looking_everywhere(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("order [pii:email] 03-1234-5678", "order [pii:email] [pii:phone]"),
        ("order 03-1234-5678", "order 03-1234-5678"),
        ("card [pii:email] 501800000009", "card [pii:email] 501800000009"),
        ("card 501800000009", "card [pii:card]"),
        ("https://[pii:email]ann@b.co", "https://[pii:email][pii:email]"),
        ("https://ann@b.co", "https://ann@b.co"),
        (f'aws [pii:email] "{SECRET}"', f'aws [pii:email] "{SECRET}"'),
        (f'aws "{SECRET}"', 'aws "[secret:aws-secret-key]"'),
        ("aws [pii:email] secret_key=abcd1234abcd", "aws [pii:email] secret_key=[secret:api-key]"),
        ("aws secret_key=abcd1234abcd", "aws secret_key=[secret:aws-secret-key]"),
        ("password abcd-[pii:email]abcdefghijklmnop", "password abcd-[pii:email]abcdefghijklmnop"),
        ("password a1b2c3d4abcdefghijklmnop", "password [secret:password]"),
        ("<password>hunter2[pii:email]</password>", "<password>hunter2[pii:email]</password>"),
        ("login ann[pii:email] password swordfish", "login ann[pii:email] password swordfish"),
        (":_authToken=abc[pii:email]defghijklmn", ":_authToken=abc[pii:email]defghijklmn"),
    ],
)
def test_a_rule_may_see_a_placeholder_but_not_past_it(text: str, clean: str) -> None:
    assert redact(text).text == clean


@given(*(st.lists(st.sampled_from(ALONE), max_size=8).map("".join) for _ in range(3)))
def test_no_rule_sees_past_a_placeholder(before: str, between: str, behind: str) -> None:
    """A value that also occurs on the other side is cut there too, but not by a rule."""
    with patch.object(redactor_module, "repeats", lambda text, values: ()):
        compare_parts(before, between, behind)


def compare_parts(before: str, between: str, behind: str) -> None:
    placeholder = "[pii:email]"
    alone = redact(f"{placeholder}{between}{placeholder}").text
    assert redact(f"{before}{placeholder}{between}{placeholder}{behind}").text == (
        redact(before + placeholder).text
        + alone.removeprefix(placeholder)
        + redact(placeholder + behind).text.removeprefix(placeholder)
    )


@given(st.text(st.sampled_from("a1@.:/=-+p[]パス0") | st.characters(), max_size=SHORTEST - 1))
def test_nothing_shorter_than_the_minimum_is_found(text: str) -> None:
    assert redact(text).findings == redact(f"[pii:email]{text}[pii:email]").findings == ()


def test_the_shortest_is_found() -> None:
    assert redact("a@b.co").findings[0].end == SHORTEST


def test_a_rejected_match_may_contain_the_next() -> None:
    text = "login a password ${login b password hunter2"
    assert redact(text).text == "login a password ${login b password [secret:password]"
