"""Words by which facts are recognized: numbers, months, weekdays, names; and words that only look like names."""


def _words(text: str) -> list[str]:
    return text.split()


NUMBERS = {
    **{
        word: value
        for value, word in enumerate(_words("two three four five six seven eight nine ten eleven twelve"), 2)
    },
    **{word: value for value, word in enumerate(_words("thirteen fourteen fifteen sixteen seventeen eighteen"), 13)},
    "nineteen": 19,
    **{
        word: value * 10
        for value, word in enumerate(_words("twenty thirty forty fifty sixty seventy eighty ninety"), 2)
    },
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
}
"""Without `one`, which is seldom meant as a number."""

DIGITS = {character: value for value, character in enumerate("〇一二三四五六七八九")}

_MONTHS = (
    "January Jan|February Feb|March Mar|April Apr|May|June Jun|"
    "July Jul|August Aug|September Sept Sep|October Oct|November Nov|December Dec"
)
MONTHS = {name: number for number, names in enumerate(_MONTHS.split("|"), 1) for name in _words(names)}
WEEKDAYS = frozenset(_words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"))

SMALL = frozenset(_words("a an and as at but by for from in into is it nor of on or over per the to up via vs with"))
"""Words that stay in lower case in a title."""

SHOUTED = frozenset(
    _words("""
    all also always am an and any are ask at be but by can caution danger do done for free get go he here how if
    important in is it me must my never new no not note now of off ok on one only or our out please pm read see so
    still stop sure that the this tip to todo up very warning was we why will with yes yet you your
    """)
)
"""Words that are sometimes written in capitals for emphasis."""

GIVEN_NAMES = _words("""
    Adam Aiko Akira Alan Albert Alex Alexander Alice Alicia Amanda Amelia Amir Amy Andrea Andrew Angela Anita Ann
    Anna Anne Anthony Antonio Ahmed Aoi Arthur Barbara Ben Benjamin Bernard Beth Bob Brandon Brenda Brian Bruce
    Carla Carlos Carol Caroline Catherine Charles Charlotte Chen Chris Christian Christina Christine Christopher
    Claire Claudia Cynthia Daniel Daniela David Deborah Dennis Diana Diego Dmitri Donald Dorothy Edward Elena
    Elizabeth Emily Emma Eric Erik Eva Evelyn Fatima Felix Fernando Francesca Fumiko Gabriel Gary George Gerald
    Giulia Greg Gregory Hana Hannah Hans Haruto Helen Henry Hiroshi Hiroko Ian Ibrahim Igor Ingrid Irene Isabella
    Ivan Jacob James Jane Janet Jason Jennifer Jeremy Jessica Joan Johan John Jonathan Jose Joseph Joshua Juan
    Judith Julia Julian Juliet Karen Karl Katherine Keiko Keith Kenji Kenneth Kevin Klaus Kyoko Larry Laura Lauren
    Leo Leon Leonard Lisa Li Liam Linda Louis Louise Lucas Lucia Luis Lukas Maria Marie Mario Martha Martin Mary
    Matthew Mei Megan Melissa Michael Michelle Miguel Mohamed Mohammed Nancy Naoko Natalia Nathan Nicholas Nicole
    Nina Noah Nora Olga Oliver Olivia Oscar Pablo Pamela Patricia Patrick Paul Paula Pedro Peter Philip Priya Rachel
    Raj Ralph Rebecca Ricardo Richard Robert Roberto Roger Ronald Rosa Ryan Sakura Samantha Samuel Sandra Sara Sarah
    Scott Sean Sergei Sharon Simon Sofia Sophia Sophie Stefan Stephanie Stephen Steve Steven Susan Tanaka Taro
    Teresa Thomas Timothy Tom Tomoko Tony Vera Veronica Victoria Vincent Vladimir Wei William Yamada Yuki Yuko Yusuf
    Zoe
""")
PLACES = _words("""
    Africa America Amsterdam Argentina Asia Athens Atlanta Australia Austria Bangkok Barcelona Beijing Belgium
    Berlin Boston Brazil Brussels Cairo California Canada Chicago Chile China Copenhagen Dallas Delhi Denmark Dublin
    Egypt England Europe Finland Florida France Frankfurt Geneva Germany Greece Hamburg Hawaii Helsinki Houston
    Hungary India Indonesia Ireland Israel Istanbul Italy Jakarta Japan Kenya Korea Kyoto Lisbon London Madrid
    Malaysia Manchester Melbourne Mexico Miami Milan Montreal Moscow Mumbai Munich Nagoya Netherlands Nigeria Norway
    Osaka Oslo Pakistan Paris Peru Philippines Poland Portugal Prague Rome Russia Sapporo Scotland Seattle Seoul
    Shanghai Singapore Spain Stockholm Sweden Switzerland Sydney Taipei Taiwan Texas Thailand Tokyo Toronto Turkey
    Ukraine Vancouver Vienna Vietnam Warsaw Washington Yokohama Zurich
""")
COMPANIES = _words("""
    Adobe Airbus Alibaba Amazon Anthropic Boeing Cisco Facebook Fujitsu Google Hitachi Honda Huawei Intel Microsoft
    Mistral Netflix Nintendo Nissan Nvidia Oracle Panasonic Salesforce Samsung Siemens Sony Spotify Stripe Tesla
    Toshiba Toyota Twitter Uber Walmart Yahoo
""")
NAMES = frozenset([*GIVEN_NAMES, *PLACES, *COMPANIES])
"""Names that are not also common English words, so that they are recognized at the start of a sentence too."""
