"""Personal data: e-mail, phones, cards, My Number, accounts, IP addresses, and lookalikes."""

import pytest

from scalepan.redact import redact

CARD = "4" + "1" * 15


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("email", "taro.yamada@example.co.jp"),
        ("email", "ann+tag@mail.example.com"),
        ("email", "O'Neil_1@example-host.io".replace("O'", "o.")),
        ("email", "müller@bücher.example"),
        ("email", "ｔａｒｏ＠ｅｘａｍｐｌｅ．ｊｐ"),
        # Japan
        ("phone", "03-1234-5678"),
        ("phone", "０３－１２３４－５６７８"),
        ("phone", "03ー1234ー5678"),
        ("phone", "090-1234-5678"),
        ("phone", "09012345678"),
        ("phone", "080 1234 5678"),
        ("phone", "045-123-4567"),
        ("phone", "0467-12-3456"),
        ("phone", "01267-1-2345"),
        ("phone", "(03)1234-5678"),
        ("phone", "03(1234)5678"),
        ("phone", "0120-123-456"),
        ("phone", "+81-90-1234-5678"),
        ("phone", "+81 3 1234 5678"),
        ("phone", "＋８１９０１２３４５６７８"),
        # elsewhere
        ("phone", "+1 (415) 555-2671"),
        ("phone", "+14155552671"),
        ("phone", "(415) 555-2671"),
        ("phone", "415-555-2671"),
        ("phone", "415.555.2671 x123"),
        ("phone", "+44 20 7946 0958"),
        ("phone", "+41 (0)44 668 18 00"),
        ("phone", "0033 1 42 68 53 00"),
        ("phone", "01 42 68 53 00"),
        ("phone", "020 7946 0958"),
        ("card", CARD),
        ("card", "4111 1111 1111 1111"),
        ("card", "4111-1111-1111-1111"),
        ("card", "４１１１　１１１１　１１１１　１１１１"),
        ("card", "3782 822463 10005"),
        ("card", "5555555555554444"),
        ("card", "2223003122003222"),
        ("card", "3530111333300000"),
        ("my-number", "123456789018"),
        ("my-number", "1234-5678-9018"),
        ("my-number", "1234 5678 9018"),
        ("my-number", "１２３４５６７８９０１８"),
        ("iban", "GB82 WEST 1234 5698 7654 32"),
        ("iban", "GB82WEST12345698765432"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "NO9386011117947"),
        ("us-ssn", "457-55-5462"),
        ("ip-address", "8.8.8.8"),
        ("ip-address", "192.168.10.27"),
        ("ip-address", "2001:db8:85a3::8a2e:370:7334"),
        ("ip-address", "2001:0db8:0000:0000:0000:ff00:0042:8329"),
        ("ip-address", "fe80::1ff:fe23:4567:890a"),
    ],
)
def test_personal_data_is_cut(kind: str, value: str) -> None:
    for frame in ("{}", "it is {}, yes", "番号は{}です", '{{"a": "{}"}}', "a\t{}\nb", "({})"):
        assert redact(frame.format(value)).text == frame.format(f"[pii:{kind}]")


@pytest.mark.parametrize(
    "text",
    [
        "Phone: 467 3395",
        "phone:\n60-56-85-91",
        "Tel. 9498777106",
        "FAX (212) 717-3298",
        "電話番号：12-3456",
        "call me at 699 956 915 please",
        "携帯は 12345678 です",
    ],
)
def test_a_number_that_is_called_a_phone_is_one(text: str) -> None:
    found = [finding.kind for finding in redact(text).findings]
    assert found == ([] if "12-3456" in text else ["phone"])  # six digits are not a phone number


@pytest.mark.parametrize("text", ["card 501864667909 is lost", "Maestro: 6759 6498 2643"])
def test_a_card_of_twelve_digits_must_be_called_a_card(text: str) -> None:
    number = text.replace("card ", "order ").replace("Maestro", "order")
    assert [finding.kind for finding in redact(text).findings] in (["card"], [])
    assert "card" not in [finding.kind for finding in redact(number).findings]


@pytest.mark.parametrize(
    "text",
    [
        # check digits that do not fit
        "4111 1111 1111 1112",
        "マイナンバー: 123456789012",
        "GB83 WEST 1234 5698 7654 32",
        "0000 0000 0000 0000",
        # versions, dates, times
        "version 1.2.3.4",
        "v10.0.0.1",
        "Chrome/120.0.0.0",
        "section 3.1.4.1",
        "10.0.19041.1",
        "2024-01-31 12:30:45",
        "31.12.2024",
        "2024/01/31 09:00:00.123456",
        "20240131123045",
        "12:30:45:99",
        "10:20:30",
        "00:1B:44:11:3A:B7",
        "std::vector<int>::iterator",
        "abc::def",
        "1706659200000",
        # numbers of other things
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "ISBN 978-3-16-148410-0",
        "ISBN 0-306-40615-2",
        "ISSN 0028-0836",
        "¥1,234,567",
        "$1,234,567.89",
        "1234567890",
        "order 123-456-7890",
        "Order no. 415-555-2671",
        "注文番号 03-1234-5678",
        "#415-555-2671",
        "123-45-678",
        "3.14159265358979",
        "0.123456789012",
        "p < 0.001, n = 12 345, 95% CI 1.02-1.98",
        "1 000 000 000",
        "〒123-4567",
        "pages 1234-5678",
        "+100000",
        "127.0.0.1 and 0.0.0.0, mask 255.255.255.0",
        "256.1.1.1",
        "1.2.3",
        # code
        "@media (max-width: 600px)",
        "@pytest.fixture",
        "user@host",
        "icon@2x.png",
        "git@github.com:org/repo.git",
        "react@18.2.0",
        "https://ann@x.io/",
        "range(0, 1234567)",
        "https://x.io/post=163091042130",
    ],
)
def test_lookalikes_stay(text: str) -> None:
    assert redact(text).findings == ()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see https://x.io\nann@example.com", "see https://x.io\n[pii:email]"),
        ("last order\n03-1234-5678", "last order\n[pii:phone]"),
        ('get\npassword("hunter22x")', 'get\npassword("[secret:password]")'),
    ],
)
def test_the_previous_line_is_not_a_reason_to_reject(text: str, clean: str) -> None:
    assert redact(text).text == clean


def test_two_numbers_beside_each_other_are_two() -> None:
    assert redact("03-1234-5678 / 090-1234-5678").text == "[pii:phone] / [pii:phone]"
    assert redact("03-1234-5678 090-1234-5678").text == "[pii:phone] [pii:phone]"


def test_positions_are_those_of_the_original() -> None:
    text = "電話　０９０－１２３４－５６７８。"
    (found,) = redact(text).findings
    assert text[found.start : found.end] == "０９０－１２３４－５６７８"


def test_a_longer_number_close_after_another_is_not_cut_in_part() -> None:
    text = "457-55-5462a 004111111111111111457-55-5"
    assert redact(text).text == text
