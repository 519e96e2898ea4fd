"""The queries of Nexmark, in the forms in which PySpark can ask them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bucketstate_nexmark.queries import (
    columns,
    joins,
    processors,
    stateless,
    statistics,
    typed,
    windows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bucketstate_nexmark.queries.form import Form


def _by_number(form: Form) -> int:
    return int(form.query.removeprefix("q"))


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in sorted(
        (
            *stateless.FORMS,
            *joins.FORMS,
            *windows.FORMS,
            *statistics.FORMS,
            *typed.FORMS,
            *columns.FORMS,
            *processors.FORMS,
        ),
        # Those of one query stay in the order above.
        key=_by_number,
    )
}
"""By name, in the order of their queries."""
