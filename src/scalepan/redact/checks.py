"""Check digits: they distinguish cards, accounts and My Numbers from other numbers."""

from operator import mul
from string import ascii_letters, digits

# Length of an account number in each country (ISO 13616 registry).
_IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE BI",
        18: "DK FI FO GL NL SD FK",
        19: "MK SI",
        20: "AT BA EE KZ LT LU XK MN",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ TL OM SO",
        24: "AD CZ DZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "FR GR IT MC MR SM DJ BF CM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV SN",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}


# A is 10, Z is 35; separators of groups are dropped.
_AS_NUMBERS = {character: str(int(character, 36)) for character in ascii_letters + digits} | dict.fromkeys(" -", "")


# The digit sum of twice a digit.
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
_ZERO = ord("0")
_MY_NUMBER_WEIGHTS = (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)


def luhn(number: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812).

    >>> luhn("79927398713"), luhn("79927398714")
    (True, False)
    """
    characters = number.encode()
    return (sum(characters[-1::-2]) + sum(characters[-2::-2].translate(_DOUBLED)) - _ZERO * len(characters)) % 10 == 0


def is_card(number: str) -> bool:
    """A card's length, a first digit that a network uses, and the check digit.

    >>> is_card("4" + "1" * 15), is_card("9784873117386")
    (True, False)
    """
    return _of_a_network(number) and luhn(number) and len(set(number)) > 1


def _of_a_network(number: str) -> bool:
    match number[0]:
        case "3":
            return len(number) in (14, 15, 16, 19)
        case "4":
            return len(number) in (13, 16, 19)
        case "5" | "6":
            return 12 <= len(number) <= 19
        case "2":
            # Mastercard's newer series, and JCB's oldest, which has 15 digits.
            newer = len(number) == 16 and 2200 <= int(number[:4]) <= 2720
            return newer or (len(number) == 15 and number.startswith("2131"))
        case _:
            return len(number) == 15 and number.startswith("1800")


def is_my_number(number: str) -> bool:
    """Japan's individual number: 12 digits, the last of which checks the others (Ordinance 85 of 2014, article 5).

    >>> is_my_number("123456789018"), is_my_number("123456789012")
    (True, False)
    """
    if len(number) != 12 or len(set(number)) == 1:
        return False
    rest = (sum(map(mul, _MY_NUMBER_WEIGHTS, number.encode())) - _ZERO * sum(_MY_NUMBER_WEIGHTS)) % 11
    return int(number[-1]) == (0 if rest <= 1 else 11 - rest)


def iban_length(country: str) -> int | None:
    """Length of an account number of this country; None if it has no IBAN."""
    return _IBAN_LENGTHS.get(country.upper())


def is_iban(characters: str) -> bool:
    """The remainder modulo 97 (ISO 13616), with or without separators between groups.

    >>> is_iban("GB82 WEST 1234 5698 7654 32"), is_iban("GB83WEST12345698765432")
    (True, False)
    """
    return int("".join(map(_AS_NUMBERS.__getitem__, characters[4:] + characters[:4]))) % 97 == 1
