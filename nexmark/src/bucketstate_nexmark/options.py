"""Options as people write them, checked: each error names the option and says what it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bucketstate_nexmark.errors import UsageError
from bucketstate_nexmark.queries import FORMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bucketstate_nexmark.queries.form import Form

_FACTORS = {"k": 1_000, "m": 1_000_000}
_MEBIBYTES = {"m": 1, "g": 1024}


def forms(names: str) -> list[Form]:
    """Forms of a list with commas, in their own order; `q18-*` are all forms of a query.

    Raises UsageError if one is unknown, or none is named.
    """
    found = [name.strip() for name in names.split(",") if name.strip()]
    wanted = {
        name: [form for form in FORMS.values() if name in (form.name, f"{form.query}-*")]
        for name in found
    }
    unknown = [name for name, there in wanted.items() if not there]
    if unknown or not found:
        raise UsageError(
            f"--queries: there is no {', '.join(unknown) or 'query in an empty list'}, only "
            f"{', '.join(FORMS)}; q18-* are all forms of q18."
        )
    named = {form.name for there in wanted.values() for form in there}
    return [form for form in FORMS.values() if form.name in named]


def count(option: str, text: str, least: int = 1) -> int:
    """A whole number, also as 500k or 10M.

    Raises UsageError if it is none, or too small.
    """
    digits, factor = text.strip(), 1
    if digits[-1:].lower() in _FACTORS:
        digits, factor = digits[:-1], _FACTORS[digits[-1].lower()]
    if not digits.isdecimal() or int(digits) * factor < least:
        raise UsageError(
            f"{option}: {text} is no number of at least {least:,}, such as 5000, 500k or 10M."
        )
    return int(digits) * factor


def memory(option: str, text: str) -> int:
    """Mebibytes, of a text such as 3g or 2048m.

    Raises UsageError if it is none, or less than a JVM needs.
    """
    digits, factor = text.strip()[:-1], _MEBIBYTES.get(text.strip()[-1:].lower(), 0)
    if not digits.isdecimal() or int(digits) * factor < 768:
        raise UsageError(f"{option}: {text} is no size of at least 768m, such as 3g or 2048m.")
    return int(digits) * factor


def conf(option: str, settings: Sequence[str]) -> dict[str, str]:
    """Settings of Spark's, each as KEY=VALUE.

    Raises UsageError if one is not.
    """
    wrong = [setting for setting in settings if not setting.partition("=")[1]]
    if wrong:
        raise UsageError(f"{option}: {wrong[0]} is not of the form KEY=VALUE.")
    return {key: value for key, _, value in (setting.partition("=") for setting in settings)}
