"""A request that is sent again under the key of the first time is applied once, and answered as then.

The key becomes the request id of what the store does for it. The store has a digest of the request with it, so that
another request under the same key is refused. Neither key nor request can be read or guessed from what is kept.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from scalepan.errors import ConflictError, InputError
from scalepan.names import check_trace_id
from scalepan.repeat import same_request
from scalepan.serve.envelope import Caller
from scalepan.serve.operations import CLAIM_KEY, ClaimKey
from scalepan.serve.service import Service

R = TypeVar("R")


def check_key(given: object, path: str) -> str:
    """A key as a client may give it; in double quotes too, as the header's draft standard has it."""
    if not isinstance(given, str):
        raise InputError("is no text", path=path)
    quoted = len(given) > 2 and given[0] == given[-1] == '"'
    return check_trace_id(given[1:-1] if quoted else given, path)


def numbered(key: str | None, number: int) -> str | None:
    """The key of one request of a batch. A client's own key has no blank."""
    return None if key is None else f"{key} {number}"


def once(service: Service, asked: Caller, name: str, request: Any, work: Callable[[], R]) -> R:
    """Do the work of a request; if it has a key, what is written is written once.

    A key belongs to a token, or to a tenant where there is none.
    """
    if asked.key is None:
        return work()
    settings = service.settings
    id_ = "key:" + _mark(settings.tenant, asked.identity, asked.key)
    mark = _mark(asked.key, name, settings.project, settings.session, msgspec.to_builtins(request))
    if service.store.call(CLAIM_KEY, ClaimKey(mark), id=id_).mark != mark:
        raise ConflictError("this key came with another request before; a new request needs a new key")
    with same_request(f"{id_}:{mark}"):
        return work()


def _mark(*what: Any) -> str:
    return sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
