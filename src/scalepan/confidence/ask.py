"""Ways to ask a person: at the terminal, or through a queue that a program answers."""

import asyncio
import threading

from scalepan.confidence.gate import Answer
from scalepan.confidence.question import Question


def terminal(question: Question) -> Answer | None:
    """Ask whoever sits at the terminal. An empty line is no; where there is no terminal, nobody answered."""
    import getpass

    try:
        said = input(f"{question} [y/N] ")
    except EOFError:
        return None
    return Answer(said.strip().lower() in ("y", "yes", "はい"), getpass.getuser())


class AskQueue:
    """Questions for a program that shows them itself: an async one takes them from `questions`, any other looks at
    `waiting`; both answer by the question or by its id, from any thread.
    """

    def __init__(self) -> None:
        self.questions: asyncio.Queue[Question] = asyncio.Queue()
        self._waiting: dict[str, tuple[Question, asyncio.Future[Answer]]] = {}
        self._lock = threading.Lock()

    async def __call__(self, question: Question) -> Answer:
        """Put the question where it will be seen, and wait."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting[question.id] = (question, future)
        try:
            await self.questions.put(question)
            return await future
        finally:
            with self._lock:
                self._waiting.pop(question.id, None)

    @property
    def waiting(self) -> list[Question]:
        """The questions that wait for an answer, oldest first."""
        with self._lock:
            return [question for question, _ in self._waiting.values()]

    def answer(self, question: Question | str, answer: Answer | bool) -> bool:
        """Answer a question, given itself or by its id; False if it waits no longer, and nothing is done."""
        id_ = question if isinstance(question, str) else question.id
        said = Answer(answer) if isinstance(answer, bool) else answer
        with self._lock:
            found = self._waiting.pop(id_, None)
        if found is None:
            return False
        _, future = found
        future.get_loop().call_soon_threadsafe(_set, future, said)
        return True


def _set(future: "asyncio.Future[Answer]", answer: Answer) -> None:
    if not future.done():
        future.set_result(answer)
