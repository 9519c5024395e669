"""Which records of a session became its end, and which did a person go back from?

Records form a tree by `parentUuid`. A person who edits an earlier prompt starts a second branch beside the first. The
branch of the last record is what happened in the end; every other one is a run of its own, so that its work counts,
and counts once. Only a prompt opens a branch: parallel calls and their results also fork the tree, and belong together.
"""


class MessageTree:
    """The messages of a session and what each follows, without the bookkeeping between them.

    >>> tree = MessageTree()
    >>> for uuid, parent in [("ask", None), ("answer", "ask"), ("ask again", None), ("done", "ask again")]:
    ...     tree.add(uuid, parent, prompt="ask" in uuid)
    >>> tree.left_branches()
    {'ask': 'ask', 'answer': 'ask'}
    """

    def __init__(self) -> None:
        self._message_at: dict[str, str | None] = {}
        self._parents: dict[str, str | None] = {}
        self._prompts: list[str] = []
        self._last: str | None = None

    def __contains__(self, uuid: str) -> bool:
        return uuid in self._message_at

    def add(self, uuid: str, parent: str | None, *, prompt: bool) -> None:
        """A message in the order of the file; of a copy only the first is part of the tree."""
        if uuid in self._message_at:
            return
        self._parents[uuid] = self._above(parent)
        self._message_at[uuid] = self._last = uuid
        if prompt:
            self._prompts.append(uuid)

    def pass_over(self, uuid: str, parent: str | None) -> None:
        """A record that is no message: what follows it follows the message before it."""
        self._message_at.setdefault(uuid, self._above(parent))

    def left_branches(self) -> dict[str, str]:
        """For every message of a branch that a person went back from, the prompt that opened the branch."""
        end = self._end()
        # The last record alone is no branch: a log without any links would be one branch per prompt.
        kept = {self._parents[prompt] for prompt in self._prompts if prompt in end and prompt != self._last}
        opened = {prompt for prompt in self._prompts if prompt not in end and self._parents[prompt] in kept}
        branch: dict[str, str] = {}
        for uuid, parent in self._parents.items() if opened else ():
            if uuid in opened:
                branch[uuid] = uuid
            elif parent in branch and uuid not in end:
                branch[uuid] = branch[parent]
        return branch

    def _above(self, parent: str | None) -> str | None:
        return self._message_at.get(parent, parent) if parent is not None else None

    def _end(self) -> set[str]:
        """The last message and all that it follows."""
        found: set[str] = set()
        uuid = self._last
        while uuid is not None and uuid in self._parents and uuid not in found:
            found.add(uuid)
            uuid = self._parents[uuid]
        return found
