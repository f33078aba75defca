"""Seals of heads, and texts kept beside streams, in the journal's SQLite file.

What they say is not for the journal to know.
"""

import json
from collections.abc import Collection, Mapping

from storage.sqlite.connections.database import Database

SET_SEAL = "update stream set seal = ? where name = ? and seq = ? returning seq"

KEEP_TEXT = """
insert into kept_text (stream, name, text)
select ?1, ?2, ?3 where exists (select 1 from stream where name = ?1)
on conflict (stream, name) do update set text = excluded.text where kept_text.text = ?4
returning text
"""

FIND_TEXT = "select text from kept_text where stream = ? and name = ?"


FIND_TEXTS = """
select stream, text from kept_text where stream in (select value from json_each(?1)) and name = ?2
"""


class SqliteSeals:
    _db: Database

    async def set_seal(self, stream: str, seq: int, seal: str) -> bool:
        return bool(await self._db.writer.fetch_all(SET_SEAL, seal, stream, seq))

    async def find_text(self, stream: str, name: str) -> str:
        rows = await self._db.reader.fetch_all(FIND_TEXT, stream, name)
        return str(rows[0][0]) if rows else ""

    async def find_texts(self, streams: Collection[str], name: str) -> Mapping[str, str]:
        return dict(await self._db.reader.fetch_all(FIND_TEXTS, json.dumps(list(streams)), name))

    async def read_texts(self, stream: str) -> Mapping[str, str]:
        sql = "select name, text from kept_text where stream = ?"
        return dict(await self._db.reader.fetch_all(sql, stream))

    async def keep_text(self, stream: str, name: str, text: str, *, instead_of: str = "") -> str:
        rows = await self._db.writer.fetch_all(KEEP_TEXT, stream, name, text, instead_of)
        return str(rows[0][0]) if rows else await self.find_text(stream, name)
