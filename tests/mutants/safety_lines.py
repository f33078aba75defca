"""Lines that safety hangs on, each with a change that breaks it and the tests that then have to fail."""

from dataclasses import dataclass
from pathlib import Path

from tests.mutants.trees import Change

JOURNAL = "tests/storage/test_journal.py::TestEveryDatabase"
PRESENCE = "tests/storage/test_presence.py"
LEASES = "tests/engine/test_leases_and_conflicts.py"
LIMITS = "tests/debate/rules/test_limits.py"
LEASE_LOSS = f"{LEASES}::test_a_lease_passes_to_another_process_only_when_it_has_expired"
DAILY = "tests/engine/budgets/test_daily_budget.py"
SHARED_DAY = f"{DAILY}::test_debates_at_once_do_not_spend_the_same_call_twice"
REDACTION = "tests/models/providers/test_litellm_errors.py::test_secrets_are_taken_out_of_texts"
ECHO = "tests/mcp/test_secrets.py"
FOREIGN = "tests/engine/test_foreign_records.py"
ADOPTION = "tests/engine/test_adoption.py"
RECEIPTS = "tests/tools/test_receipts.py"
VERIFICATION = "tests/engine/test_verification.py"
ADDRESSES = "tests/hooks/test_webhooks.py::test_only_addresses_of_the_internet_are_public"

ACCESS = "tests/web/site/test_access.py"
PRESSES = "tests/web/site/test_presses.py"


@dataclass(frozen=True)
class SafetyLine:
    """`old` becomes `new`, which makes one of `tests` (a file or a test) fail."""

    file: str
    old: str
    new: str
    tests: str

    def make_change(self, project: Path) -> Change | None:
        """None: the line is not there, or more than once."""
        text = (project / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            return None
        return Change(self.file, text.replace(self.old, self.new).encode())


SAFETY_LINES = {
    "accept answers to closed slots": SafetyLine(
        "server/engine/runner.py",
        "if event and (call.round, call.slot_key) in open_keys]",
        "if event and (open_keys or True)]",
        f"{LEASES}::test_an_answer_that_another_process_recorded_first_is_dropped",
    ),
    "call models without a lease": SafetyLine(
        "server/engine/runner.py",
        "if not await self.may_call(snapshot.id):",
        "if await self.may_call(snapshot.id) is None:",
        f"{LEASES}::test_without_the_lease_no_model_is_called",
    ),
    "exceed the daily budget": SafetyLine(
        "server/engine/runner.py",
        "remaining = min(limit, allowed)",
        "remaining = limit",
        f"{DAILY}::test_a_retry_is_not_made_on_a_call_that_the_day_does_not_have",
    ),
    "forget what is reserved of the daily budget": SafetyLine(
        "storage/spending.py",
        """from lease where requests > 0 and (until > {TIME.format("$2")} or stream = $3)""",
        "from lease where requests > 0 and stream = $3",
        SHARED_DAY,
    ),
    "say that a lost file holds what it took": SafetyLine(
        "storage/sqlite/connections/connection.py",
        "self._check_file(0)  # what a file took that nobody can find any more is not stored",
        "pass",
        f"{PRESENCE}::test_what_a_lost_file_took_is_not_said_to_be_stored",
    ),
    "play the log of a lost file into a new one": SafetyLine(
        "storage/sqlite/connections/database.py",
        "self._file.set_remains_aside()",
        "pass",
        f"{PRESENCE}::test_an_old_log_gets_into_no_new_file_and_is_kept",
    ),
    "spend what the verdict needs": SafetyLine(
        "server/debate/rules/budget.py",
        "return Remaining(max(int((maximum - used) / per_call) - reserved_calls, 0), ",
        "return Remaining(max(int((maximum - used) / per_call), 0), ",
        LIMITS,
    ),
    "take an unknown price for zero": SafetyLine(
        "server/debate/facts/setup/limits.py",
        "not (limits.max_cost_usd and unknown),",
        "True,",
        LIMITS,
    ),
    "trust an expired lease": SafetyLine(
        "server/engine/database/leases.py",
        "return is_valid or debate_id in await self.renew([debate_id])",
        "return True",
        LEASE_LOSS,
    ),
    "take over the lease of a live process": SafetyLine(
        "server/engine/database/leases.py", "if not is_gone(holder):", "if holder is None:", LEASE_LOSS
    ),
    "let two processes have one lease": SafetyLine(
        "storage/leases.py",
        "where lease.holder = excluded.holder or lease.until",
        "where true or lease.until",
        f"{JOURNAL}::test_a_stream_has_one_holder_until_its_lease_runs_out",
    ),
    "append after another entry": SafetyLine(
        "storage/chain.py",
        "if append.after != head.seq:",
        "if append.after > head.seq:",
        f"{JOURNAL}::test_an_append_that_does_not_follow_is_a_conflict",
    ),
    "accept a changed entry": SafetyLine(
        "storage/chain.py",
        "if stored_hash != digest.hex():\n"
        "            raise DamagedStreamError(stream, number, CHANGED)\n        entries.append(entry)",
        "entries.append(entry)",
        "tests/storage/test_tampering.py",
    ),
    "retry recoveries without longer pauses": SafetyLine(
        "server/engine/recovery.py",
        "retry_interval * 2.0**failures",
        "retry_interval * 2.0**0",
        "tests/engine/crashes/test_recovery.py"
        "::test_a_debate_that_cannot_be_resumed_is_left_alone_for_longer_each_time",
    ),
    "retry a request that is too large": SafetyLine(
        "server/models/providers/errors.py",
        "(400, 404, 413, 422)",
        "(400, 404, 422)",
        "tests/models/providers/test_litellm_errors.py::test_an_error_without_its_own_class_means_its_status",
    ),
    "show keys of Groq": SafetyLine("server/redaction.py", "|gsk_|", "|", REDACTION),
    "show secret values": SafetyLine("server/redaction.py", "text.replace(form, MASK)", "text", REDACTION),
    "record secret values": SafetyLine(
        "server/engine/model_calls.py",
        "event = redact_model(event, ",
        "event = event or redact_model(event, ",
        ECHO,
    ),
    "post to private addresses": SafetyLine(
        "server/hooks/address_policy.py", "        and each.is_global\n", "", ADDRESSES
    ),
    "post to multicast addresses": SafetyLine(
        "server/hooks/address_policy.py", "        and not each.is_multicast\n", "", ADDRESSES
    ),
    "post through NAT64 to private addresses": SafetyLine(
        "server/hooks/address_policy.py", "if address in NAT64_PREFIX", "if False", ADDRESSES
    ),
    "post to metadata services at public addresses": SafetyLine(
        "server/hooks/address_policy.py",
        "not any(each in network",
        "True or not any(each in network",
        ADDRESSES,
    ),
    "post through 6to4 to private addresses": SafetyLine(
        "server/hooks/address_policy.py", ", address.sixtofour,", ",", ADDRESSES
    ),
    "post to a name with one private address": SafetyLine(
        "server/hooks/webhook.py",
        "all(map(is_public, addresses))",
        "any(map(is_public, addresses))",
        "tests/hooks/test_webhooks.py::test_a_name_with_one_private_address_is_not_called",
    ),
    "intervene twice for one delivery": SafetyLine(
        "server/engine/database/repeats.py",
        "and entry.event.request_id == request.request_id",
        "and False",
        "tests/hooks/test_hooks.py::test_an_intervention_that_was_not_noted_is_made_once",
    ),
    "run what was not recorded here": SafetyLine(
        "server/engine/database/snapshots.py",
        "return self.is_own and super",
        "return super",
        FOREIGN,
    ),
    "go on with a debate that something else writes to": SafetyLine(
        "server/engine/runner.py", "and snapshot.is_own and not (is_held", "and not (is_held", FOREIGN
    ),
    "seal what was not recorded here": SafetyLine(
        "server/engine/database/snapshots.py",
        "return Origin(provenance.entries_elsewhere, provenance.adopted, self.is_foreign)",
        "return Origin(provenance.entries_elsewhere, provenance.adopted)",
        FOREIGN,
    ),
    "learn from what others recorded": SafetyLine(
        "server/engine/database/store.py",
        "counts = snapshot.provenance.counts and not snapshot.is_foreign",
        "counts = True",
        ADOPTION,
    ),
    "tell debates what others recorded": SafetyLine(
        "server/engine/database/memory.py",
        "if store.counts(listing) else None",
        "",
        ADOPTION,
    ),
    "show everybody's debates to everybody": SafetyLine(
        "server/engine/database/store.py",
        "if self.owner in (None, head.owner):",
        "if self.owner != 1:",
        "tests/access/test_two_owners.py::test_no_method_of_a_manager_takes_the_id_of_another_owners_debate",
    ),
    "let tokens in for ever": SafetyLine(
        "server/access/tokens.py",
        "(not token.expires_at or find_end(token) > now)",
        "True",
        "tests/access/test_tokens.py::test_a_token_lets_its_owner_in_until_it_ends_or_is_revoked",
    ),
    "leave open what a revoked token has opened": SafetyLine(
        "server/http_server/open_requests.py",
        "request.scope.cancel()",
        "pass",
        "tests/http_server/test_revocation.py::test_a_stream_without_a_token_ends_when_there_are_tokens",
    ),
    "serve who comes through a proxy without a token": SafetyLine(
        "server/http_server/authentication.py",
        "elif not verified and is_forwarded(headers):",
        "elif False:",
        "tests/http_server/test_tokens.py::test_what_a_proxy_passes_on_is_served_only_with_a_token",
    ),
    "let those who read spend": SafetyLine(
        "server/caller.py",
        "return scope in self.scopes or",
        "return True or",
        "tests/access/test_two_owners.py::test_a_token_that_may_only_read_spends_and_changes_nothing",
    ),
    "seal every head alike": SafetyLine(
        "server/signing.py",
        "% (stream.encode(), seq, digest, origin_text.encode())",
        '% (b"", seq, b"", b"")',
        FOREIGN,
    ),
    "sign what was not recorded here": SafetyLine(
        "server/engine/receipts.py",
        "if signer is None or not has_own_end(snapshot):",
        "if signer is None:",
        RECEIPTS,
    ),
    "believe every signature": SafetyLine(
        "server/signing.py",
        "except (InvalidSignature, ValueError):\n        return False",
        "except (InvalidSignature, ValueError):\n        return True",
        "tests/test_signing.py::test_a_signature_is_of_its_payload_and_its_key",
    ),
    "believe every statement": SafetyLine(
        "server/engine/receipts.py",
        "require(not place,",
        "require(True or place,",
        f"{VERIFICATION}::test_a_receipt_that_says_something_else_is_found_though_the_key_is_right",
    ),
    "take every key for the one given": SafetyLine(
        "server/engine/verification.py",
        "if public_key == keys.given:",
        "if public_key:",
        f"{VERIFICATION}::test_a_record_that_was_rewritten_hashed_and_signed_again_is_found",
    ),
    "close a breaker on every failure": SafetyLine(
        "server/models/resilience.py",
        'if error.cause not in ("unavailable", "timeout", "crashed"):',
        "if error.cause:",
        "tests/models/resilience/test_breaker.py",
    ),
    "tell of the forks of other owners": SafetyLine(
        "server/engine/database/store.py",
        "return await self.storage.lists.find_family(root, owner=self.owner)",
        "return await self.storage.lists.find_family(root)",
        "tests/engine/test_families.py::test_to_each_owner_the_forks_of_another_are_not_there",
    ),
    "let revoked tokens live on in a copy": SafetyLine(
        "server/upkeep/copy.py",
        "elif token_in_target and token.revoked_at and not token_in_target.revoked_at:",
        "elif token_in_target and token.revoked_at and token_in_target.revoked_at == token:",
        "tests/upkeep/test_copy.py::test_tokens_are_good_in_the_copy_until_they_are_revoked_in_one_of_the_two",
    ),
    "find debates by tags that were taken away": SafetyLine(
        "server/debate/interventions/tags.py",
        "return (tag for tag in fact.tags if tag in debate.tags)",
        "return fact.tags",
        "tests/upkeep/test_copy.py::test_a_tag_that_was_taken_away_finds_the_debate_in_neither",
    ),
    "let in to the pages who has no token": SafetyLine(
        "server/web/site/serving.py",
        'if not compare_digest(token.encode(errors="replace"), self.token.encode()):',
        "if not self.token:",
        f"{ACCESS}::test_no_address_answers_without_the_token",
    ),
    "answer for another host": SafetyLine(
        "server/web/site/serving.py",
        'if headers.getlist("host") != [self.host]:',
        'if not headers.getlist("host"):',
        f"{ACCESS}::test_another_host_is_refused_even_with_the_token",
    ),
    "take what another page presses": SafetyLine(
        "server/web/site/serving.py",
        'if origins != [self.origin] and (origins or scope["method"] not in READING):',
        "if not self.origin:",
        f"{ACCESS}::test_a_press_from_another_page_is_refused_and_does_nothing",
    ),
    "read a press of any length": SafetyLine(
        "server/web/site/routes.py",
        "if len(body) > limit:",
        "if not limit:",
        f"{PRESSES}::test_a_body_that_is_too_long_is_refused_as_it_arrives",
    ),
    "do the same press twice": SafetyLine(
        "server/web/site/presses.py",
        "request_id=press.request_id)",
        'request_id="")',
        f"{PRESSES}::test_the_same_press_that_arrives_twice_does_one_thing",
    ),
}
