"""Rows of the ledger as columns and back. Pure."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from storage.canonical import encode_json
from storage.contract.ledger import LedgerRow


def encode_judgments(rows: Sequence[LedgerRow]) -> str:
    """The rows of a stream as JSON. Raises ValueError for invalid JSON or Unicode."""
    return json.dumps(
        [
            [
                row.item,
                row.judge,
                encode_json(dict(row.body)).decode(),
                *(row.asked, row.consistent, row.right, row.percent, row.likeliest_right, row.credit),
                json.dumps(list(row.topics)),
            ]
            for row in rows
        ]
    )


def parse_judgment(row: Sequence[Any]) -> LedgerRow:
    """`row`: owner, stream, item, judge, body, then the numbers and topics in the order of `LedgerRow`."""
    owner, stream, item, judge, body, *numbers = row[:-1]
    topics = tuple(json.loads(row[-1]))
    known = LedgerRow(item, judge, json.loads(body), *numbers)
    return replace(known, topics=topics, stream=stream, owner=owner)
