"""Conditions on what is known of an episode: declared in a config, parsed once, never evaluated as code.

Knows values and how they compare; refuses to know where episodes lie or what a selection is.

    where:
      task_name: fold_clothes              # equals
      operator: [op1, op2]                 # one of these
      total_frames: {at_least: 100, at_most: 5000}
      lab: {not: {prefix: x}}              # what is not said passes a `not`, and nothing else

A text compares exactly, a number with what reads as one ("100" in a table is 100), true with "true". ``regex`` may
match anywhere in the text (`re.search`): anchor it with ``^`` and ``$``. All conditions hold together; a name whose
value is null has none.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from robotrain.episodes.schema import EMBODIMENT, FPS, canonical_embodiment, hash_of
from robotrain.errors import ConfigError, did_you_mean, nearest

__all__ = ["HASH", "Filter", "Scalar", "describe_values", "parse_filters", "read_flag", "show", "text_of"]

Scalar = str | int | float | bool | None
Operator = Literal["equals", "in", "prefix", "regex", "at_least", "at_most", "not"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)

HASH = "hash"
"""Name under which an episode's identity is filtered."""

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_FLAGS = {"true": True, "t": True, "yes": True, "y": True, "1": True}
_FLAGS |= {"false": False, "f": False, "no": False, "n": False, "0": False}
_LARGEST = sys.float_info.max
"""Beyond it a number is none: others could not be compared with it."""
_MOST_DIGITS = 300
_SHOWN = 8
"""Values that a message shows."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator and what it compares with."""

    operator: Operator
    operand: Any
    """By operator: a value, values, a text, a compiled expression, a number, or what must not all hold."""

    def holds(self, value: Scalar) -> bool:
        """Tell whether it holds for a value; None is a value that is not said."""
        if self.operator == "not":
            return not all(condition.holds(value) for condition in self.operand)
        if value is None:
            return False
        return _COMPARE[self.operator](value, self.operand)

    @property
    def words(self) -> str:
        """The condition in the words of a config."""
        if self.operator == "not":
            return f"not ({' and '.join(condition.words for condition in self.operand)})"
        if self.operator == "in":
            return f"in [{', '.join(text_of(each) for each in self.operand)}]"
        shown = self.operand.pattern if self.operator == "regex" else text_of(self.operand)
        return f"{self.operator} {shown if self.operator.startswith('at') else repr(shown)}"


@dataclass(frozen=True, slots=True)
class Filter:
    """What one attribute or column of an episode must be."""

    name: str
    conditions: tuple[Condition, ...]
    """All must hold."""

    def holds(self, value: Scalar) -> bool:
        """Tell whether an episode passes whose value this is; None where it says none."""
        return all(condition.holds(value) for condition in self.conditions)

    @property
    def words(self) -> str:
        """The filter in the words of a config: "operator in [op1, op2]"."""
        return f"{self.name} {' and '.join(condition.words for condition in self.conditions)}"

    def nearest_of(self, values: Iterable[Scalar]) -> str | None:
        """Return the value that comes nearest to what is asked for, or None when none is close."""
        wanted = [each for condition in self.conditions for each in _asked(condition)]
        there = {text_of(value) for value in values if value is not None}
        for each in wanted:
            aim = _number(each)
            numbers = {number: text for text in sorted(there) if (number := _number(text)) is not None}
            if aim is not None and numbers:
                return numbers[min(numbers, key=lambda number: abs(number - aim))]
            if close := nearest(text_of(each), there):
                return close
        return None


def parse_filters(where: Mapping[str, Any], setting: str) -> tuple[Filter, ...]:
    """Read the conditions of a config; one that is null is left out.

    Args:
        where: By attribute or column: a value (equals), a list (in), or a mapping of operators.
        setting: Name of the setting, for messages.

    Raises:
        ConfigError: for an unknown operator, an expression that is none, a range on text, or nothing to compare with.
    """
    return tuple(
        Filter(name, _conditions(told, name, f"{setting}.{name}")) for name, told in where.items() if told is not None
    )


def text_of(value: Scalar | Fraction) -> str:
    """Return a value as a config spells it: true, 3 for 3.0, texts as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "no value" if value is None else str(value)


def show(value: Scalar) -> str:
    """Return a value for a message: as `text_of`, but for an empty text."""
    return text_of(value) or "''"


def describe_values(values: Sequence[Scalar]) -> str:
    """Return the values there are with their counts, the most frequent first, a handful of them."""
    counts = Counter(map(show, values))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], _number(item[0]) or 0, item[0]))
    shown = ", ".join(f"{text} ({number})" for text, number in ordered[:_SHOWN])
    return shown if len(ordered) <= _SHOWN else f"{shown}, and {len(ordered) - _SHOWN} more"


def read_flag(value: Scalar) -> bool | None:
    """Return what a value means as true or false, or None where it means neither; "t", "yes" and 1 are true."""
    return _FLAGS.get(text_of(value).strip().lower())


def _conditions(told: Any, name: str, place: str) -> tuple[Condition, ...]:
    if not isinstance(told, Mapping):
        return (_condition("in" if isinstance(told, list | tuple) else "equals", told, name, place),)
    if not told:
        raise ConfigError(f"{place} names no operator. There are: {', '.join(OPERATORS)}.")
    for operator in told:
        if operator not in OPERATORS:
            hint = did_you_mean(str(operator), OPERATORS)
            raise ConfigError(f"{place}: unknown operator '{operator}'.{hint} There are: {', '.join(OPERATORS)}.")
    return tuple(_condition(operator, operand, name, f"{place}.{operator}") for operator, operand in told.items())


def _condition(operator: Operator, operand: Any, name: str, place: str) -> Condition:
    match operator:
        case "not":
            return Condition(operator, _conditions(operand, name, place))
        case "in":
            if not isinstance(operand, list | tuple) or not operand:
                raise ConfigError(f"{place} must be a list of at least one value, found {operand!r}.")
            return Condition(operator, tuple(_canonical(_value(each, place), name) for each in operand))
        case "regex":
            return Condition(operator, _expression(operand, place))
        case "at_least" | "at_most":
            number = None if isinstance(operand, bool) else _number(operand)
            if number is None:
                raise ConfigError(f"{place} must be a number, found {operand!r}: a range is one of numbers.")
            return Condition(operator, number)
        case "prefix":
            text = _value(operand, place)
            if isinstance(text, float | bool):
                raise ConfigError(f"{place} must be a text, found {operand!r}; put it in quotes.")
            return Condition(operator, _canonical(str(text), name))
        case "equals":
            return Condition(operator, _canonical(_value(operand, place), name))


def _value(operand: Any, place: str) -> str | int | float | bool:
    if operand is None:
        raise ConfigError(
            f"{place} is null, which equals nothing. For any value: {{regex: .}}; for none: {{not: ...}}."
        )
    if not isinstance(operand, str | int | float) or (isinstance(operand, float) and math.isnan(operand)):
        raise ConfigError(f"{place} must be a text, a number, true or false, found {operand!r}.")
    return operand


def _expression(operand: Any, place: str) -> re.Pattern[str]:
    if not isinstance(operand, str):
        raise ConfigError(f"{place} must be a text, found {operand!r}; put it in quotes.")
    try:
        return re.compile(operand)
    except re.error as problem:
        raise ConfigError(f"{place}: '{operand}' is no regular expression: {problem}.") from None


def _canonical(operand: str | float, name: str) -> str | float:
    """Return what to compare with as episodes are known: a vendor's body as the body, a hash without its ending."""
    if name == EMBODIMENT and isinstance(operand, str):
        return canonical_embodiment(operand)
    if name == HASH and isinstance(operand, str):
        return hash_of(operand)
    rate = _number(operand) if name == FPS else None
    return operand if rate is None else float(Fraction(rate).limit_denominator(1001))  # as the reader does


def _number(value: Any) -> int | float | None:
    """Return a value as a number, or None where it is none."""
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        is_whole = value.strip().lstrip("+-").isdigit() and len(value) <= _MOST_DIGITS
        value = int(value) if is_whole else float(value)
    return value if isinstance(value, int | float) and abs(value) <= _LARGEST else None


def _same(value: str | float, wanted: str | float) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted
    if isinstance(value, bool) or isinstance(wanted, bool):
        flag = read_flag(value)
        return flag is not None and flag == read_flag(wanted)
    number = _number(value)
    return number is not None and number == _number(wanted)


def _at_least(value: str | float, bound: float) -> bool:
    number = None if isinstance(value, bool) else _number(value)
    return number is not None and number >= bound


def _at_most(value: str | float, bound: float) -> bool:
    number = None if isinstance(value, bool) else _number(value)
    return number is not None and number <= bound


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equals": _same,
    "in": lambda value, operands: any(_same(value, each) for each in operands),
    "prefix": lambda value, text: text_of(value).startswith(text),
    "regex": lambda value, expression: expression.search(text_of(value)) is not None,
    "at_least": _at_least,
    "at_most": _at_most,
}


def _asked(condition: Condition) -> tuple[Any, ...]:
    """Return the values that a condition asks for; what it forbids is none of them."""
    match condition.operator:
        case "not":
            return ()
        case "in":
            return condition.operand
        case "regex":
            return (condition.operand.pattern,)
        case _:
            return (condition.operand,)
