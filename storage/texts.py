"""Texts that are kept beside streams, each under a name: the receipt of a debate, the end of a wait for it."""

from collections.abc import Collection, Mapping

from storage.database import Database

KEEP_TEXT = """
insert into kept_text (stream, name, text)
select $1::text, $2::text, $3::text where exists (select 1 from stream where stream.name = $1)
on conflict (stream, name) do nothing
returning text
"""

FIND_TEXTS = "select stream, text from kept_text where stream = any($1::text[]) and name = $2"


class Texts:
    """Serves receipts, and tasks of MCP that a client asks for again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, stream: str, name: str) -> str:
        """The text that was kept beside a stream under this name; "" for none."""
        return (await self.find_many([stream], name)).get(stream, "")

    async def find_many(self, streams: Collection[str], name: str) -> Mapping[str, str]:
        """As `find` of each, in one statement. Those without one are left out."""
        return dict(await self._database.read(FIND_TEXTS, list(streams), name))

    async def read(self, stream: str) -> Mapping[str, str]:
        """All that is kept beside a stream, by name."""
        return dict(await self._database.read("select name, text from kept_text where stream = $1", stream))

    async def keep(self, stream: str, name: str, text: str) -> str:
        """Keep a text beside a stream, unless one is kept under this name.

        Returns the one that is kept now; "" where there is no such stream.
        """
        rows = await self._database.write(KEEP_TEXT, stream, name, text)
        return str(rows[0][0]) if rows else await self.find(stream, name)
