"""Calls of the library's capabilities as small models send them: nearly right.

Each is the capability, the arguments as the text that arrives, and the arguments that a person
would say are meant; None where they mean nothing that one could be sure of.
"""

from __future__ import annotations

from typing import Any, Final

NearMiss = tuple[str, str, dict[str, Any] | None]

NEAR_MISSES: Final[tuple[NearMiss, ...]] = (
    # null, and what stands for it, where nothing has to be given
    ("text-wrap", '{"text": "a b", "width": null}', {"text": "a b"}),
    (
        "currency-rates",
        '{"from": "USD", "to": "EUR", "amount": 100, "date": null}',
        {"from": "USD", "to": "EUR", "amount": 100},
    ),
    ("recall", '{"query": "cat", "kind": "", "limit": "null"}', {"query": "cat"}),
    (
        "chart-svg",
        '{"kind": "bar", "labels": ["a"], "series": [{"name": "x", "values": [1]}], "title": null}',
        {"kind": "bar", "labels": ["a"], "series": [{"name": "x", "values": [1]}]},
    ),
    # a listed value in another case or punctuation
    ("hash", '{"text": "x", "algorithm": "SHA256"}', {"text": "x", "algorithm": "sha256"}),
    ("hash", '{"text": "x", "algorithm": "sha-256"}', {"text": "x", "algorithm": "sha256"}),
    ("encode", '{"text": "x", "format": "Base64"}', {"text": "x", "format": "base64"}),
    (
        "encode",
        '{"text": "x", "format": "BASE 64", "mode": "Encode"}',
        {"text": "x", "format": "base64", "mode": "encode"},
    ),
    ("case-convert", '{"text": "a b", "to": "\'snake\'"}', {"text": "a b", "to": "snake"}),
    (
        "geo-distance",
        '{"from": "1 2", "to": "3 4", "unit": "KM"}',
        {"from": "1 2", "to": "3 4", "unit": "km"},
    ),
    (
        "date-calendar",
        '{"show": "business_days", "date": "2024-03-31", "days": 3}',
        {"show": "business-days", "date": "2024-03-31", "days": 3},
    ),
    ("crc-checksum", '{"data": "x", "algorithm": "CRC-32"}', {"data": "x", "algorithm": "crc32"}),
    # numbers
    (
        "loan-plan",
        '{"amount": "10,000", "rate": 6, "months": 12}',
        {"amount": 10000, "rate": 6, "months": 12},
    ),
    (
        "loan-plan",
        '{"amount": 10000, "rate": "6%", "months": 12}',
        {"amount": 10000, "rate": 6, "months": 12},
    ),
    (
        "loan-plan",
        '{"amount": "$250,000", "rate": "5.5 percent", "months": "360 months"}',
        {"amount": 250000, "rate": 5.5, "months": 360},
    ),
    (
        "unit-convert",
        '{"value": "26.2 miles", "from": "miles", "to": "km"}',
        {"value": 26.2, "from": "miles", "to": "km"},
    ),
    (
        "unit-convert",
        '{"value": "180 C", "from": "celsius", "to": "fahrenheit"}',
        {"value": 180, "from": "celsius", "to": "fahrenheit"},
    ),
    (
        "unit-convert",
        '{"value": "6,5", "from": "kg", "to": "lb"}',
        {"value": 6.5, "from": "kg", "to": "lb"},
    ),
    (
        "unit-convert",
        '{"value": "1 000 000", "from": "m", "to": "km"}',
        {"value": 1000000, "from": "m", "to": "km"},
    ),
    (
        "unit-convert",
        '{"value": "\u221240", "from": "C", "to": "F"}',
        {"value": -40, "from": "C", "to": "F"},
    ),
    (
        "invest-value",
        '{"calculate": "growth", "principal": "10,000 dollars", "rate": 5, "years": "10 years"}',
        {"calculate": "growth", "principal": 10000, "rate": 5, "years": 10},
    ),
    ("text-wrap", '{"text": "a b", "width": "72.0"}', {"text": "a b", "width": 72}),
    (
        "remember",
        '{"source": "user", "key": "a", "value": "b", "confidence": "90%"}',
        {"source": "user", "key": "a", "value": "b", "confidence": 0.9},
    ),
    (
        "currency-rates",
        '{"from": "USD", "to": "EUR", "amount": "100 USD"}',
        {"from": "USD", "to": "EUR", "amount": 100},
    ),
    # true and false
    (
        "levenshtein",
        '{"a": "x", "b": "X", "ignore_case": "True"}',
        {"a": "x", "b": "X", "ignore_case": True},
    ),
    (
        "levenshtein",
        '{"a": "x", "b": "X", "ignore_case": "yes"}',
        {"a": "x", "b": "X", "ignore_case": True},
    ),
    ("slugify", '{"text": "A b", "lowercase": 0}', {"text": "A b", "lowercase": False}),
    # lists
    ("statistics", '{"x": "1, 2, 3"}', {"x": [1, 2, 3]}),
    ("statistics", '{"x": "1 2 3 4"}', {"x": [1, 2, 3, 4]}),
    ("statistics", '{"x": ["1,200", "3,400"]}', {"x": [1200, 3400]}),
    (
        "random-values",
        '{"kind": "pick", "items": "pear, apple"}',
        {"kind": "pick", "items": ["pear", "apple"]},
    ),
    (
        "random-values",
        '{"kind": "shuffle", "items": "- pear\\n- apple"}',
        {"kind": "shuffle", "items": ["pear", "apple"]},
    ),
    (
        "random-values",
        '{"kind": "pick", "items": "[\'pear\', \'apple\']"}',
        {"kind": "pick", "items": ["pear", "apple"]},
    ),
    (
        "markdown-table",
        '{"rows": {"name": "Ann", "age": 7}}',
        {"rows": [{"name": "Ann", "age": 7}]},
    ),
    # texts
    (
        "validate-id",
        '{"kind": "isbn", "value": 9780306406157}',
        {"kind": "isbn", "value": "9780306406157"},
    ),
    ("hash", '{"text": ["hello"]}', {"text": "hello"}),
    (
        "encode",
        '{"text": {"type": "string", "value": "hello"}, "format": "hex"}',
        {"text": "hello", "format": "hex"},
    ),
    # names
    ("text-wrap", '{"Text": "a b", "keepLines": true}', {"text": "a b", "keep_lines": True}),
    ("hash", '{"arguments": {"text": "x"}}', {"text": "x"}),
    ("calculate", '{"input": "2+2"}', {"expression": "2+2"}),
    # the JSON itself
    ("hash", '{"text": "x",}', {"text": "x"}),
    (
        "levenshtein",
        "{'a': 'x', 'b': 'X', 'ignore_case': True}",
        {"a": "x", "b": "X", "ignore_case": True},
    ),
    ("hash", '```json\n{"text": "x"}\n```', {"text": "x"}),
    ("hash", '"{\\"text\\": \\"x\\"}"', {"text": "x"}),
    # what might mean two things, or nothing
    ("unit-convert", '{"value": "26.2 miles", "to": "km"}', None),
    ("case-convert", '{"text": "a b", "to": "snake_case"}', None),
)
"""46 near misses, written before any of them was accepted."""
