"""Seals of heads, and receipts, in the journal's SQLite file. What they say is not for the journal to know."""

from storage.database import Database

SET_SEAL = "update stream set seal = ? where name = ? and seq = ? returning seq"

KEEP_RECEIPT = """
insert into receipt (stream, text) select ?1, ?2 where exists (select 1 from stream where name = ?1)
on conflict (stream) do update set text = excluded.text where receipt.text = ?3
returning text
"""


class SqliteSeals:
    _db: Database

    async def set_seal(self, stream: str, seq: int, seal: str) -> bool:
        return bool(await self._db.writer.fetch_all(SET_SEAL, seal, stream, seq))

    async def find_receipt(self, stream: str) -> str:
        rows = await self._db.reader.fetch_all("select text from receipt where stream = ?", stream)
        return str(rows[0][0]) if rows else ""

    async def keep_receipt(self, stream: str, text: str, *, instead_of: str = "") -> str:
        rows = await self._db.writer.fetch_all(KEEP_RECEIPT, stream, text, instead_of)
        return str(rows[0][0]) if rows else await self.find_receipt(stream)
