"""Golden cases and outputs of any number, always the same ones: edits of help pages, English and Japanese by turns.

A page has about 12 blocks and 1 to 4 operations, and about 30 % of the outputs have a fault. Half of the patterns
occur in one case only, as people write them; the other half is shared by many.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

Json = dict[str, Any]

FAULTY = 0.3
TWO_PAGES = 0.1
BY_INDEX = 0.2
EXACT = 0.1
INTRICATE = 0.2
"""How many of a case's own patterns are more than words and `.*`."""
BLOCKS = (9, 15)

NOUNS = {
    language: words.split(", ")
    for language, words in {
        "en": "checkout page, shopping cart, invoice, refund form, order history, delivery note, price list, coupon, "
        "payment gateway, customer account, search index, product image, stock level, mail template, access token, "
        "audit log, backup job, rate limit, session cookie, webhook, import queue, report, billing address, tax table",
        "ja": "決済画面, 買い物かご, 請求書, 返金フォーム, 注文履歴, 納品書, 価格表, クーポン欄, 決済代行, 顧客口座, "
        "検索索引, 商品画像, 在庫数, メール雛形, アクセストークン, 監査ログ, バックアップ, 流量制限, セッション, 通知, "
        "取込待ち行列, 帳票, 請求先住所, 税率表",
    }.items()
}
VERBS = {
    language: words.split(", ")
    for language, words in {
        "en": "updates, replaces, validates, reads, locks, exports, refreshes, confirms, hides, archives, sorts",
        "ja": "更新する, 置き換える, 検証する, 読み込む, ロックする, 書き出す, 再取得する, 確認する, 隠す, 写す",
    }.items()
}
SENTENCE = {
    "en": "The {a} {verb} the {b} within {n} seconds, and every change is written to the log of that day.",
    "ja": "{a}は{b}を{n}秒以内に{verb}。変更はすべてその日の記録に残る。",
}
REQUEST = {"en": "Please rework the part about the {a} and the {b}.", "ja": "{a}と{b}の説明を直してください。"}


def write(folder: Path, count: int) -> tuple[Path, Path]:
    """The cases and the outputs as JSONL, line by line, so that their number costs no memory."""
    cases, outputs = folder / f"cases-{count}.jsonl", folder / f"outputs-{count}.jsonl"
    with cases.open("w", encoding="utf-8") as golden, outputs.open("w", encoding="utf-8") as actual:
        for case, output in pairs(count):
            golden.write(json.dumps(case, ensure_ascii=False) + "\n")
            actual.write(json.dumps(output, ensure_ascii=False) + "\n")
    return cases, outputs


def pairs(count: int, seed: int = 4) -> Iterator[tuple[Json, Json]]:
    """Each case with the output for it."""
    rng = Random(seed)
    for number in range(count):
        yield _pair(rng, f"help-edit-{number:06}", "ja" if number % 2 else "en")


def _pair(rng: Random, case_id: str, language: str) -> tuple[Json, Json]:
    pages = [_page(rng, f"page-{i}", language) for i in range(2 if rng.random() < TWO_PAGES else 1)]
    wanted, done = [], []
    for page in pages:
        edits = _edits(rng, page, language)
        wanted.append({"pageId": page["id"], "operations": [expected for expected, _ in edits]})
        done.append({"pageId": page["id"], "operations": [actual for _, actual in edits]})
    if rng.random() < FAULTY:
        rng.choice(FAULTS)(rng, done[0]["operations"], pages[0], language)
    words = {"a": rng.choice(NOUNS[language]), "b": rng.choice(NOUNS[language])}
    case = {
        "id": case_id,
        "name": f"{language}: {len(wanted[0]['operations'])} edits",
        "userMessage": REQUEST[language].format(**words),
        "pages": pages,
        "expected": {"operations": wanted, "totalSuccessCount": len(pages)},
        "tags": [language],
    }
    return case, {"id": case_id, "operations": done, "durationMs": rng.randrange(300, 9000)}


def _sentence(rng: Random, language: str) -> str:
    a, b = rng.sample(NOUNS[language], 2)
    return SENTENCE[language].format(a=a, b=b, verb=rng.choice(VERBS[language]), n=rng.randrange(1, 1000))


def _block(rng: Random, block_id: str, language: str) -> Json:
    type_ = rng.choices(("paragraph", "heading", "listItem"), (6, 2, 3))[0]
    text = rng.choice(NOUNS[language]) if type_ == "heading" else _sentence(rng, language)
    return {"id": block_id, "type": type_, "content": [{"type": "text", "text": text}]}


def _page(rng: Random, page_id: str, language: str) -> Json:
    blocks = [_block(rng, f"{page_id}-b{i:02}", language) for i in range(rng.randint(*BLOCKS))]
    if rng.random() < 0.5:
        parent = rng.choice(blocks)
        parent["children"] = [_block(rng, f"{parent['id']}.{i}", language) for i in range(rng.randint(1, 3))]
    return {"id": page_id, "title": rng.choice(NOUNS[language]), "version": 1, "blocks": blocks}


def _edits(rng: Random, page: Json, language: str) -> list[tuple[Json, Json]]:
    """1 to 4 operations, each as the golden case has it and as a good output does. The first brings text."""
    places = rng.sample(range(len(page["blocks"])), rng.choices((1, 2, 3, 4), (4, 3, 2, 1))[0])
    return [_edit(rng, page, place, language, brings_text=not i) for i, place in enumerate(places)]


def _edit(rng: Random, page: Json, place: int, language: str, *, brings_text: bool) -> tuple[Json, Json]:
    type_ = rng.choice(("insert", "replace") if brings_text else ("insert", "replace", "delete"))
    shared: Json = {"type": type_}
    shared |= {"targetIndex": place} if rng.random() < BY_INDEX else {"targetBlockId": page["blocks"][place]["id"]}
    if type_ == "delete":
        return shared, dict(shared)
    if type_ == "insert":
        shared["position"] = rng.choice(("before", "after"))
    text = _sentence(rng, language)
    actual = shared | {"content": text}
    if rng.random() < EXACT:
        return shared | {"content": text}, actual
    return shared | {"expectedContentPatterns": _patterns(rng, text, language)}, actual


def _patterns(rng: Random, text: str, language: str) -> list[str]:
    """What a person would write for this sentence: how it starts, its number, with anything between, and its end."""
    number = re.search(r"\d+", text)
    assert number
    start = text[4:12] if language == "en" else text[:4]
    wanted = rf"[^\d]{number.group()}[^\d]" if rng.random() < INTRICATE else number.group()
    return [f"{start}.*{wanted}", "(log|record) of that day" if language == "en" else "(記録|ログ)に残る"]


Operations = list[Json]


def _wrong_type(rng: Random, operations: Operations, page: Json, language: str) -> None:  # noqa: ARG001
    operations[0].pop("position", None)
    operations[0] = operations[0] | {"type": "delete"}


def _wrong_target(rng: Random, operations: Operations, page: Json, language: str) -> None:  # noqa: ARG001
    operations[-1].pop("targetIndex", None)
    operations[-1]["targetBlockId"] = rng.choice(page["blocks"])["id"]


def _missing(rng: Random, operations: Operations, page: Json, language: str) -> None:  # noqa: ARG001
    del operations[rng.randrange(len(operations))]


def _extra(rng: Random, operations: Operations, page: Json, language: str) -> None:
    target = rng.choice(page["blocks"])["id"]
    operations.append(
        {"type": "insert", "targetBlockId": target, "position": "after", "content": _sentence(rng, language)}
    )


def _other_text(rng: Random, operations: Operations, page: Json, language: str) -> None:  # noqa: ARG001
    operations[0]["content"] = _sentence(rng, language)


def _invented_target(rng: Random, operations: Operations, page: Json, language: str) -> None:  # noqa: ARG001
    operations[0].pop("targetIndex", None)
    operations[0]["targetBlockId"] = f"{page['id']}-b99"


FAULTS: tuple[Callable[[Random, Operations, Json, str], None], ...] = (
    _wrong_type,
    _wrong_target,
    _missing,
    _extra,
    _other_text,
    _invented_target,
)
