"""Which words are each other's opposites? Written by hand: common ones only, so that an alarm means something."""

import re
from functools import cache, lru_cache

from scalepan.confidence.stand_ins.stems import stems

# A line: words of one meaning, a bar, words of the opposite one.
_ENGLISH = """
increase rise grow climb raise expand higher more | decrease fall decline drop reduce lower shrink less
improve strengthen | worsen weaken
up upward | down downward
accept approve allow permit agree | reject deny refuse forbid ban prohibit disagree decline
begin start open launch | end finish stop close cease conclude
buy purchase | sell
win victory | lose defeat
profit earnings gain | loss deficit
early before | late after delay
always | never
all every | none few
many most | few
best | worst
better | worse
good great excellent positive | bad poor terrible negative
large big huge | small tiny little
high | low
long | short
new | old existing
young | old
fast quick rapid | slow
easy simple | difficult hard complex
strong | weak
happy glad pleased excited | sad unhappy upset bored angry
love like enjoy | hate dislike
safe | dangerous risky unsafe
rich | poor
hot warm | cold cool
light bright | dark dim
true right correct | false wrong incorrect
success succeed | failure fail
alive live survive | dead die
guilty | innocent
include | exclude
add | remove delete
keep retain | lose discard remove
arrive enter join | leave exit depart quit
remember | forget
support favour favor | oppose
confirm | deny
public | private
free | paid expensive
cheap inexpensive affordable | expensive costly
male man | female woman
husband | wife
father | mother
brother | sister
son boy | daughter girl
north northern | south southern
east eastern | west western
left | right
inside internal | outside external
upper top | lower bottom
first | last
former | latter
present | absent
same similar | different
together | apart
full | empty
maximum | minimum
majority | minority
encourage | discourage
attract | repel
legal | illegal
possible | impossible
able | unable
likely | unlikely
known | unknown
necessary | unnecessary
successful | unsuccessful
optimistic | pessimistic
temporary | permanent
optional | mandatory required compulsory
manual | automatic
online | offline
summer | winter
day | night
morning | evening
love | hatred
exceed | miss
above | below
create build | destroy
hire employ | fire dismiss
accelerate | slow decelerate
tighten | loosen
borrow | lend
import | export
hide conceal | reveal show disclose
"""
_JAPANESE = """
増加 増える 増やす 増え 増加傾向 | 減少 減る 減らす 減り
上昇 上がる 上がり 値上がり | 下落 下降 低下 下がる 下がり 値下がり
増益 黒字 | 減益 赤字
増収 | 減収
拡大 | 縮小
改善 | 悪化
成功 | 失敗
賛成 | 反対
許可 可決 承認 | 禁止 否決 却下 拒否
開始 始ま 始め | 終了 終わ 停止 中止
可能 | 不可能
必要 | 不要
有効 | 無効
有料 | 無料
公開 | 非公開
合法 | 違法
安全 | 危険
肯定 | 否定
輸入 | 輸出
購入 買った 買う | 売却 販売 売った 売る
勝利 勝った 勝つ | 敗北 負けた 負ける
最大 | 最小
最高 | 最低
多数 多い | 少数 少ない
大きい 大きく | 小さい 小さく
高い 高く | 低い 低く 安い
長い | 短い
新しい | 古い
早い 速い | 遅い
強い | 弱い
良い | 悪い
簡単 容易 | 困難 難しい
以上 | 以下 未満
以前 | 以降 以後
午前 | 午後
男性 | 女性
追加 | 削除
入場 入学 入社 | 退場 卒業 退社
接続 | 切断
昇格 | 降格
延長 | 短縮
強化 | 緩和
"""
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "mis")
_PREFIX = re.compile(f"(?:{'|'.join(_PREFIXES)})(?=[a-z]{{4}})")


@lru_cache(maxsize=1 << 14)
def english_opposites(term: str) -> frozenset[str]:
    """The stems whose meaning is opposite to a stem: by the table, or by a prefix.

    >>> "decreas" in english_opposites("increas"), "success" in english_opposites("unsuccess")
    (True, True)
    """
    found = set(_english().get(term, ()))
    if prefix := _PREFIX.match(term):
        found.add(term[prefix.end() :])
    elif len(term) > 3:
        found.update(prefix + term for prefix in _PREFIXES)
    return frozenset(found)


@cache
def _english() -> dict[str, frozenset[str]]:
    return _table(_ENGLISH, stem=True)


@cache
def japanese_opposites() -> dict[str, frozenset[str]]:
    """Each Japanese word of the table with its opposites, as they are written."""
    return _table(_JAPANESE, stem=False)


@cache
def japanese_pattern() -> re.Pattern[str]:
    """Finds the words of the Japanese table; the longer one where two begin alike."""
    # 不可能 holds 可能, and 減少傾向 is no 少: the longest word at a place counts, and what it holds does not.
    return re.compile("|".join(sorted(japanese_opposites(), key=len, reverse=True)))


def _table(lines: str, *, stem: bool) -> dict[str, frozenset[str]]:
    opposites: dict[str, set[str]] = {}
    for line in lines.strip().splitlines():
        left, right = ([_stem(word) if stem else word for word in side.split()] for side in line.split("|"))
        for here, there in ((left, right), (right, left)):
            for word in here:
                opposites.setdefault(word, set()).update(there)
    # A word that stands on both sides of one line would be its own opposite.
    return {word: frozenset(others - {word}) for word, others in opposites.items()}


def _stem(word: str) -> str:
    return (stems(word) or [word])[0]
