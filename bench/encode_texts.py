"""The texts of bench/encode.py: the same on every machine, in the proportions of what agents write."""

from random import Random

ENGLISH = (
    "the agent searched for flights and found two options but asked the user to confirm before booking because policy "
    "changes cost money when a tool fails again it retries then reads the error message of the database query which "
    "returned no rows since yesterday every answer names its source and how sure it may be"
)
JAPANESE = [
    "東京から大阪への列車を検索し、空席のある便を二つ見つけた。",
    "データベースの問い合わせが失敗したので、条件を変えて再試行した。",
    "利用者に確認を求める前に、料金の変更点をまとめる。",
    "モデルの回答は出典と一致しているが、日付だけが異なる。",
]
CODE = [
    "def mean(xs: list[float]) -> float:\n    return sum(xs) / len(xs)\n",
    "SELECT id, total FROM orders WHERE total > 100 ORDER BY created_at DESC LIMIT 10;",
    "for (const row of rows) { if (row.ok === false) throw new Error(`bad ${row.id}`); }",
    '{"tool": "search", "arguments": {"query": "cheap flights", "limit": 5}}',
]


def english(count: int = 150) -> list[str]:
    """Sentences of about 20 words."""
    random = Random(1)
    return [" ".join(random.choices(ENGLISH.split(), k=random.randint(14, 26))) for _ in range(count)]


def mixed() -> list[str]:
    """200 texts: English, Japanese, code, nothing, and some that are longer than MiniLM reads."""
    random = Random(2)
    japanese = ["".join(random.choices(JAPANESE, k=random.randint(1, 3))) for _ in range(20)]
    code = [random.choice(CODE) + f"# {number}" for number in range(15)]
    long = [" ".join(random.choices(ENGLISH.split(), k=random.randint(300, 600))) for _ in range(12)]
    return [*english(), *japanese, *code, "", "", "", *long]


def table() -> list[tuple[str, str, int]]:
    """The texts of the stored table: name, text, and how often it is repeated."""
    return [
        ("english", "Scalepan judges agents: each answer is one number that explains itself.", 1),
        ("english question", "How much of it is gold?", 1),
        ("japanese", "東京は今日、晴れのち曇りです。", 1),
        ("japanese kana", "これはペンです。カタカナも読みます。", 1),
        ("code", CODE[0], 1),
        ("json", CODE[3], 1),
        ("empty", "", 1),
        ("white space", " \n\t ", 1),
        ("mixed", "Error 404: ページが見つかりません (see https://example.com/docs?id=7)", 1),
        ("emoji", "Well done 👍🏽 — naïve café, ﬁne!", 1),
        ("long", "The agent read the page and wrote down what it had learned. ", 60),
        ("long japanese", "検索結果を要約する。", 80),
    ]
