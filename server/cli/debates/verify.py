"""`counterpoint verify` and `counterpoint receipt`: print receipts, and check records offline."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from server.cli import session
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean_line
from server.engine.database.errors import DebateArchivedError, DebateDeletedError
from server.settings import Settings
from server.signing import MAX_KEY_FILE_BYTES, Signer, format_public_key, parse_public_key

if TYPE_CHECKING:
    from server.engine.verification import Finding

WRONG, INCOMPLETE = 1, 3  # exit codes
MARKS: "dict[Finding, str]" = {"holds": "ok", "wrong": "WRONG", "unknown": "not checked"}


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--key", metavar="PUBKEY", help="The signer's public key, or a file with it.")
@click.option("--receipt", "kept_receipt", type=click.File("rb"), help="A receipt that was kept elsewhere.")
@session.json_option
@click.pass_obj
def verify(
    settings: Settings, file: BinaryIO, key: str | None, kept_receipt: BinaryIO | None, as_json: bool
) -> None:
    """Check an exported debate, or a receipt, offline. FILE may be - for stdin.

    It checks the chain of hashes, that everything follows from the entries, the verdict, the signature and the
    signer; with --receipt also that the end was not cut off. Exit codes: 0 all holds; 1 something does not; 3 nothing
    is wrong, but not everything could be checked, such as the signer without --key.

    Example: counterpoint verify debate.json --key counterpoint.pub
    """
    # Imported here: they load the rules of debates, which `--help` does not need.
    from server.engine.debates import utc_now  # noqa: PLC0415
    from server.engine.transfer import MAX_FILE_BYTES, parse_export  # noqa: PLC0415
    from server.engine.verification import Check, Keys, verify_file  # noqa: PLC0415

    signer = Signer(settings.signing_key, settings.signing_key_file)
    keys = Keys(read_public_key(key) if key else None, signer.find_public_key())
    try:
        data = parse_export(file.read(MAX_FILE_BYTES + 1))
        known_receipt = parse_export(kept_receipt.read(MAX_FILE_BYTES + 1)) if kept_receipt else None
        checks = verify_file(data, keys, known_receipt, utc_now())
    except InvalidRequestError as error:  # an unreadable file is a finding, not a wrong command line
        checks = [Check("file", "wrong", str(error))]
    findings = {check.finding for check in checks}
    code = WRONG if "wrong" in findings else INCOMPLETE if "unknown" in findings else 0
    if as_json:
        click.echo(session.format_json({"exit_code": code, "checks": [asdict(check) for check in checks]}))
    for check in () if as_json else checks:
        click.echo(clean_line(f"{MARKS[check.finding]}: {check.text}"))
    sys.exit(code)


def read_public_key(text: str) -> bytes:
    path = Path(text)
    try:
        with path.open("rb") as file:
            text = file.read(MAX_KEY_FILE_BYTES).decode("ascii", "replace")
    except (OSError, ValueError):  # it is the key itself
        pass
    return parse_public_key(text)


@click.command()
@click.argument("debate_id", metavar="[ID]", required=False, shell_complete=session.complete_id)
@click.option("--public-key", is_flag=True, help="Print the public key of this installation instead.")
@click.pass_obj
def receipt(settings: Settings, debate_id: str | None, public_key: bool) -> None:
    """Print the signed receipt of a debate that has ended.

    It is a DSSE envelope with an in-toto statement. `counterpoint show ID --view receipt` shows what it says.

    Example: counterpoint receipt k3x9w2m4p7qr > receipt.json
    """
    if public_key == bool(debate_id):
        raise click.UsageError("Give the ID of a debate, or --public-key.")
    if not debate_id:
        signer = Signer(settings.signing_key, settings.signing_key_file)
        key = signer.key.public_key
        if signer.problem:
            raise click.ClickException(signer.problem)
        click.echo(format_public_key(key), nl=False)
        return
    from server.engine.queries import find_debate_id  # noqa: PLC0415
    from server.engine.receipts import Receipt, find_kept_receipt, find_receipt  # noqa: PLC0415

    async def find(manager: Any) -> Receipt:
        try:
            snapshot = await manager.load(await find_debate_id(manager, debate_id))
        except (DebateArchivedError, DebateDeletedError) as error:
            stored_receipt = find_kept_receipt(error.tombstone)
            if stored_receipt.envelope is None:
                raise
            return stored_receipt
        return await find_receipt(manager, snapshot)

    stored_receipt = session.run_with_manager(settings, find)
    if stored_receipt.problem:
        raise click.ClickException(clean_line(stored_receipt.problem))
    click.echo(json.dumps(stored_receipt.envelope, indent=1))
