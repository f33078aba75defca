"""Every requirement by its id, and how far it is built.

`tests/test_requirements.py` holds the suite to this: what is built, or partly built, is carried by a
test marked with `@pytest.mark.requirement`; what is planned, by none; and every test carries something.
"""

BUILT: dict[str, str] = {
    "D15": (
        "evidence quality: source reliability, recency, relevance, corroboration, specificity, each honest about "
        "how it was obtained; HIGH, MEDIUM, LOW and coverage; exact quotes checked against the given documents"
    ),
    "D28": (
        "long documents: whole where they fit every seat's context window, otherwise as recorded digests with "
        "exact quotes; a seat that could not read everything is named"
    ),
    "D11": (
        "consensus proof: votes, counts, confidence, signatures, time; verify; JSON export; any changed "
        "byte of any turn, vote, verdict or order is detected"
    ),
    "N26": (
        "counterpoint verify: offline, chain, replay, recomputed verdict, signature; importing recomputes too"
    ),
    "N27": (
        "a database that vanishes, is replaced or half copied is noticed; backup and check; read-only media "
        "can be read"
    ),
    "M1": (
        "MCP server (SDK mcp 2.3, both protocol eras) with the tools start_debate, step_round, intervene, "
        "get_verdict"
    ),
    "M2": "transcripts are MCP resources (debate://{debate_id}/transcript and the others)",
    "M3": "the engine's state is in SQLite through aiosqlite; a restart loses nothing that was recorded",
    "M4": (
        "works from Claude Desktop and other MCP clients: every function is reachable by tools alone, "
        "every call returns within wait_seconds"
    ),
    "M5": "an agent can ask for a second opinion in one call (start_debate(..., run=true))",
    "M6": "scriptable with an MCP client SDK; examples/ holds scripts that are run by the tests",
    "M7": (
        "layout: pyproject.toml, README.md, server/, server/tools/, server/debate/, storage/, tests/; "
        "packages mcp, pydantic, litellm, aiosqlite, anyio, pytest, pytest-asyncio"
    ),
    "M8": (
        "two commands in the README do all the set-up on a fresh machine: one runs a real debate with no "
        "key and no network (embedded model), one runs the tests"
    ),
    "A1": (
        "two or more debaters, each with name, role, system_prompt; each call sees its own prompt and the "
        "whole history"
    ),
    "A2": (
        "a moderator reviews each round and answers SUMMARY, STATUS (SETTLED or CONTINUE) and, when "
        "settled, DECISION; free text with those headings is read as well as structured output"
    ),
    "A3": (
        "the loop ends when the moderator settles it or at max_rounds (3 in this format); the result says "
        "which of the two it was"
    ),
    "A4": "one model for all, or another model for any seat, or a model object injected in code",
    "A5": (
        "the state carries topic, debaters, current and max round, an append-only history, moderator "
        "summary, final decision, settled or not"
    ),
    "A6": (
        "a runnable example of an investment decision prints rounds, moderator summaries and the final "
        "decision"
    ),
    "A7": "ten or more debaters: a warning that names the reason",
    "B1": "proponent, opponent and neutral on a proposition; each speaker chooses who speaks next",
    "B2": (
        "the choice read from text ('Transition to …', any case); an invalid or missing choice is a "
        "recorded failure with a clear message, then the policy of B5"
    ),
    "B3": (
        "the choice read from a tool call handoff(response, next_agent_name), its schema made from a "
        "typed function and docstring"
    ),
    "B4": "the choice read from structured output (a pydantic model)",
    "B5": (
        "no usable choice: a different speaker, drawn with the debate's seed; choosing oneself is not a "
        "hand-off"
    ),
    "B6": "max_turns (10 in this format) and max_tokens per turn (500) bound it",
    "B7": "any litellm model, with no orchestration framework",
    "C1": ("two or more debaters with unique names and required stances; more than two sides; optional role"),
    "C2": (
        "without a moderator: every debater speaks every round in declared order, later speakers see "
        "earlier ones"
    ),
    "C3": (
        "a moderator that opens each round: next_speakers (ordered, repeats allowed), briefing, "
        "new_angle, done; a round with done still runs, then the loop ends"
    ),
    "C4": (
        "empty next_speakers with done=false is refused; an unknown name fails with the list of known names"
    ),
    "C5": "debaters see that round's briefing and angle, independently of each other",
    "C6": (
        "moderator tools: research through MCP servers named in the configuration; what they returned is "
        "recorded and summed up in briefing"
    ),
    "C7": (
        "the debater's brief forbids concession in public; debaters see a stance-tagged transcript "
        "without names"
    ),
    "C8": (
        "judge: {verdict, winner or null, reasoning}; winner must be a known stance or debater; null "
        "means a synthesis"
    ),
    "C9": (
        "anonymize (on) strips names, shuffle (on, seeded and recorded) reorders for the judge "
        "the arguments of a round that were written together"
    ),
    "C10": (
        "synthesizer: the result as JSON that satisfies the caller's output_schema; off gives the raw "
        "shape; a schema with the synthesizer off is an error"
    ),
    "C11": (
        "the raw result: rounds, question, transcript of {round, agent, stance, text}, verdict, moderator "
        "decisions (one per round, or empty)"
    ),
    "C12": (
        "termination: max_rounds (2 in this format, a warning above 4), moderator done, or a "
        "terminate_when predicate, checked in that order after each round"
    ),
    "C13": (
        "a debater, judge, moderator or synthesizer can be replaced by one's own (in code: an object "
        "behind the model seam; over MCP: prompt and model)"
    ),
    "C14": "extra instructions injected into default seats only",
    "C15": (
        "round robin: declared order, roles in place of stances, optional referee that audits arguments "
        "but never steers, a synthesized deliverable in place of a winner"
    ),
    "C16": "per-turn task records (who, round, state, duration) for a developer's view",
    "C17": (
        "visibility: which seats' output reaches the client and which enters other seats' history, by kind and by "
        "single seat"
    ),
    "C19": "a seat's prompt may add to the house's words or replace them; instructions may be a function in code",
    "C20": (
        "the result keeps the moderator's summary and decision of every round; a null winner is a synthesis, "
        "with the position that was made of the others"
    ),
    "C21": (
        "anonymity holds inside the texts: no model is shown the name of a seat, and labels that are no words "
        "stand for it in turns, briefings and hand-off phrases; people and deliverables get names, and the record "
        "has the labels"
    ),
    "C22": (
        "judges are told truly how the record they read is ordered and what is missing from it; what was said "
        "in answer to something is never shown before it"
    ),
    "D1": (
        "phases opening, argumentation, rebuttal, cross_examination, synthesis, voting, verdict, as data; "
        "own phase lists can be given"
    ),
    "D2": "a service: create, status, stream of events for a debate",
    "D3": (
        "per-agent failures (timeout, empty reply, exception) recorded, counted, shown in the verdict, "
        "never silent"
    ),
    "D5": "direct messages between debaters (questions, proposals, critiques), history bounded (100)",
    "D21": (
        "events for debate start and end, phase start and end, agent message, vote, consensus, hollow-consensus "
        "alert, rhetorical pattern, agent error, delivered live to subscribers"
    ),
    "D24": "a block of phases can repeat until consensus, convergence or the limit",
    "D29": "messages between debaters beside ordinary turns, where a phase allows them",
    "D9": "retries with backoff for failed calls; work pushed to the next stage without polling",
    "D12": (
        "convergence detection with a similarity threshold (0.85) and a minimum of rounds, on meaning and not on "
        "wording"
    ),
    "D13": (
        "hollow-consensus detection (quick unanimity, shallow reasoning, echo chamber, groupthink) and a "
        "challenge injected into the next round; limits on challenges; every branch can fire, and a test "
        "shows each firing"
    ),
    "D14": (
        "rhetorical observer: concession, rebuttal, synthesis, appeal to authority, appeal to evidence, "
        "straw man, ad hominem, emotional appeal, each with the span it was seen in; a report over the "
        "debate"
    ),
    "D19": "prompt construction by phase, agent, context and history, in one place",
    "N2": (
        "a panel of judges, each in both orders; an inconsistent judge abstains; outcome decided, "
        "leaning, contested or undecided, never a forced winner"
    ),
    "N8": (
        "a request only watches; work belongs to the server: timeouts, cancels, double calls and kills "
        "lose no recorded turn and pay no turn twice beyond the calls in flight"
    ),
    "N11": ("prompts laid out so that all seats on one model share one growing prefix (provider caches hit)"),
    "D4": (
        "interventions pause, resume, inject, weights, threshold, on a running debate; state and log "
        "readable; audited with actor and reason; they survive a restart"
    ),
    "D6": "declarative hooks in YAML on events: log, webhook, intervene",
    "D7": (
        "crash recovery: unfinished debates are found at start and continued, within max_recovery_age_hours"
    ),
    "N13": (
        "progress, resource updates, completions, prompts, elicitation, paging, tasks extension, structured results"
    ),
    "N7": (
        "four sources of turns: litellm models, the client's own model (sampling, both eras), the caller "
        "(submit_turn), the embedded model"
    ),
    "N10": (
        "hard budgets on calls, tokens, money and time; what it cost so far is always visible; estimate "
        "before the start"
    ),
    "D16": "chaos: seeded latency, failure, timeout and corrupt replies around any model",
    "D8": "checkpoint: export and import of a whole debate mid-way",
    "N9": "fork a debate at any round with changes; compare the verdicts",
    "C18": (
        "judges, referee and synthesizer can be given research tools as moderators and debaters can; an "
        "opener is told what tools there are, to fold what it finds into the briefing, and that round 1 wants "
        "the whole roster"
    ),
    "N24": (
        "a question that is not yes or no gets positions of its own, proposed by a model and recorded, or "
        "named by the caller"
    ),
    "N18": (
        "a repeated request does not do its work twice: identical starts and forks join their twin, "
        "interventions carry a key"
    ),
    "D23": (
        "breakpoints: options.pause_when, conditions over facts (before the verdict, a failure, a contested "
        "vote, a budget share …) that pause a debate before what they wait for happens"
    ),
    "D26": (
        "an event stream with payload and cursor: over MCP (since_seq), in code (an async iterator), in the "
        "terminal (watch)"
    ),
    "N17": (
        "everything a result says stands in the text and in the structured result, each enough by itself, "
        "both bounded; published schemas are complete and typed"
    ),
    "N3": (
        "pooled, calibrated confidence; judge weights learnt from settled debates; the effective number "
        "of independent voices"
    ),
    "N21": (
        "a judge ledger: outcomes recorded later, weights and calibration learnt from them, labelled "
        "judgments imported"
    ),
    "D17": ("team selection by rating, calibration and diversity of the set, by topic, seeded and recorded"),
    "D20": ("batch loading of ratings and statistics: a debate of any size needs a fixed number of queries"),
    "N23": (
        "model servers on this machine (Ollama, LM Studio, llama.cpp, vLLM) are found and offered; context "
        "windows are known and kept; a truncated reading is never counted"
    ),
    "N20": (
        "counterpoint evaluate: on the user's own questions, does debate beat one model, a blind vote and an "
        "equal budget, with intervals and cost"
    ),
    "N22": "OpenAI-compatible providers are asked without importing litellm; everything else through litellm",
    "N1": (
        "blind private ballots before any talk and after each round; the verdict says what the blind vote "
        "said and whether the debate changed it"
    ),
    "N4": "skip the debate when the blind vote is unanimous across model families and sure enough",
    "D10": (
        "consensus unanimous, supermajority (2/3), majority, plurality, none; weights and thresholds as "
        "exact fractions; abstentions and unreadable votes never count as agreement"
    ),
    "N5": "mirror debate (stances swapped) separates merit of the position from skill of the debater",
    "N6": "equal-budget baseline: blind samples and a vote for the same tokens, reported beside the debate",
    "N25": "a model's text can never pass for the server's: in tool results, transcripts, exports, terminal",
    "N32": (
        "the default second opinion: models answer independently, check each other's answers, argue only where they "
        "differ; one answer in ten lines; no finding of a seat is dropped"
    ),
    "N34": (
        "what others recorded is marked wherever it is shown, and influences ledger and memory only when adopted"
    ),
    "N28": "a debate can be watched and steered from the terminal",
    "N29": (
        "installed, the program owns one top-level name and meets no other project's server or storage; own "
        "models come by entry point"
    ),
    "N31": (
        "ready to publish: uvx counterpoint-mcp, server.json, MCP bundle, container image, install for every "
        "common client, deep links"
    ),
    "N30": (
        "a documentation site: guide, cookbook, 'how good are the verdicts', costs, local models, privacy and "
        "threat model, troubleshooting by error text"
    ),
    "N16": "one-line install for the common clients, MCP bundle, registry manifest",
    "N19": "one page for looking at a debate: self-contained HTML export, counterpoint view, MCP App",
    "N12": (
        "MCP App: the debate live inside the chat, with step and intervene buttons; the same page as an "
        "HTML export"
    ),
    "D25": "common ground: what all sides accept, drawn from claims and ballots, in the verdict",
    "D18": (
        "memory: what past debates concluded, recalled by relevance with its source, limited, recorded in "
        "the debate that used it"
    ),
    "D22": "similarity and response caching",
    "D27": (
        "cross-proposal analysis: contradictions between the positions, sources they share, what would settle "
        "the difference"
    ),
    "N15": "OpenTelemetry spans and metrics for calls, tokens, cost",
    "N14": "HTTP with bearer tokens, owners who see only their own, several replicas on PostgreSQL",
}

PARTLY: dict[str, str] = {
    "N35": (
        "no upkeep task and no client can end a server; owners are served in turns; a planned end of a server pays no "
        "request twice. Missing: turns of owners, and a planned end"
    ),
    "N37": (
        "one object is the answer in text, structure, terminal, page, export, receipt. Missing: the heads of its "
        "lines in the question's language"
    ),
    "N38": (
        "the README's test command takes under 100 s on two idle cores and passes on a busy machine; the full suite "
        "runs in CI, and nothing there passes by being skipped. Missing: the full suite on a busy machine"
    ),
}
"""What of it works, and what is missing."""

PLANNED: dict[str, str] = {}
