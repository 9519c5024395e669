"""Which words are one word? `scalepan.text.terms`, and the verbs and nouns whose forms no stemmer joins."""

from functools import cache

from scalepan.text import terms

# A form: what it is a form of.
_IRREGULAR = """
    rose:rise risen:rise fell:fall fallen:fall grew:grow grown:grow shrank:shrink shrunk:shrink bought:buy sold:sell
    won:win lost:lose began:begin begun:begin kept:keep built:build hid:hide hidden:hide forgot:forget
    forgotten:forget said:say told:tell went:go gone:go came:come became:become took:take taken:take gave:give
    given:give got:get gotten:get made:make knew:know known:know thought:think found:find met:meet paid:pay sent:send
    spent:spend lent:lend brought:bring caught:catch taught:teach held:hold heard:hear led:lead ran:run saw:see
    seen:see spoke:speak spoken:speak wrote:write written:write drove:drive driven:drive broke:break broken:break
    chose:choose chosen:choose stole:steal stolen:steal ate:eat eaten:eat drank:drink drunk:drink flew:fly flown:fly
    threw:throw thrown:throw died:die dying:die lay:lie dealt:deal felt:feel fought:fight meant:mean shot:shoot
    slept:sleep stood:stand understood:understand swam:swim wore:wear worn:wear men:man
    women:woman children:child people:person wives:wife lives:life
"""


def stems(text: str) -> list[str]:
    """The terms of a text with irregular forms joined.

    >>> stems("Prices fell, and men paid"), stems("Price falls, and the man pays")
    (['price', 'fall', 'man', 'pay'], ['price', 'fall', 'man', 'pay'])
    """
    joined = _joined()
    return [joined.get(term, term) for term in terms(text)]


@cache
def _joined() -> dict[str, str]:
    pairs = (pair.split(":") for pair in _IRREGULAR.split())
    return {terms(form, "off")[0]: terms(whole, "off")[0] for form, whole in pairs}
