"""Who recorded a debate, in every view and list: one value that the store makes, and its words."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

KEY_LETTERS = 16  # of a key's fingerprint, in words


class Provenance(BaseModel):
    """What this installation knows about who recorded a debate. It is not part of the record and never exported."""

    model_config = ConfigDict(frozen=True)

    recorded_here: Annotated[bool, Field(description="By this installation, from its first entry on")] = True
    signed_by: Annotated[str, Field(description="Fingerprint of the key; empty: nobody")] = ""
    adopted: Annotated[bool, Field(description="Ledger and memory use what others recorded")] = False
    entries_elsewhere: Annotated[int, Field(description="The first ones, that others recorded")] = 0

    @property
    def counts(self) -> bool:
        """Whether the ledger and memory use the debate."""
        return self.recorded_here or self.adopted


RECORDED_HERE = Provenance()


def leave_out_own(provenance: Provenance) -> Provenance:
    """For results: by which key this installation signs says nothing to a caller."""
    return RECORDED_HERE if provenance.recorded_here else provenance


def describe_provenance(provenance: Provenance, entries: int = 0) -> str:
    """Who recorded a debate of so many entries, in a sentence; "" if this installation did. 0: all were elsewhere."""
    if provenance.recorded_here:
        return ""
    count = provenance.entries_elsewhere
    subject = f"Entries 1 to {count} were recorded" if count < entries else "Recorded"
    signer = name_signer(provenance.signed_by)
    return f"{subject} elsewhere, signed by {signer}; {'' if provenance.adopted else 'not '}adopted."


def name_signer(signed_by: str) -> str:
    return f"the key {signed_by[:KEY_LETTERS]}" if signed_by else "nobody"
