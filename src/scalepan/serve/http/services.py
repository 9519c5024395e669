"""A service for each combination of tenant, project, session and classes; all of them use one store."""

from collections import OrderedDict

import msgspec

from scalepan.policy.boundary import BoundaryClass
from scalepan.serve.service import Service, Settings
from scalepan.store import Store

MOST_KEPT = 64


class Services:
    """Made when first asked for; the one that was not asked for longest is let go. For one thread."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self._kept: OrderedDict[tuple[object, ...], Service] = OrderedDict()

    def service(
        self, tenant: str, project: str | None, session: str | None, classes: tuple[BoundaryClass, ...] | None
    ) -> Service:
        """The service for them."""
        key = (tenant, project, session, classes)
        found = self._kept.get(key)
        if found is None:
            settings = msgspec.structs.replace(
                self.settings, tenant=tenant, project=project, session=session, classes=classes
            )
            found = self._kept[key] = Service(settings, self.store)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return found

    def own(self) -> Service:
        """The service of the server's own tenant and project."""
        s = self.settings
        return self.service(s.tenant, s.project, s.session, None)
