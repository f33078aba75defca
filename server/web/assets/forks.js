// What if: the forks of the debate, and what it was forked from itself.

function ForkSection({ app, debate }) {
  const { relatives = [], relatives_left_out: leftOut = 0 } = debate.data;
  if (!relatives.length) return null;
  const own = {
    debate_id: debate.id,
    status: debate.status,
    forked_from: debate.setup.forked_from,
    forked_at_round: debate.setup.forked_at_round || 0,
    rounds: debate.rounds.map((held) => held.phase),
    outcome: debate.report.outcome,
    winner: debate.report.winner,
    winner_stance: debate.report.winner_stance,
    votes: debate.votes,
    names: debate.names,
    cost_usd: debate.report.cost_usd,
    differences: [],
    tags: [],
  };
  const rows = orderFamily([own, ...relatives]);
  const longest = Math.max(...rows.map((row) => row.rounds.length), 1);
  const why =
    "The same past with another future. Numbers in boxes are each judge's margin, in the colour of the side found for; " +
    "a dash is an abstention. Costs are a fork's own.";
  const drawRow = (row) =>
    html`<${Fork} key=${row.debate_id} app=${app} row=${row} longest=${longest} isOwn=${row === own} />`;
  return html`<${Section} id="forks" title="What if" why=${why}>
    <ul class="card forks">${rows.map(drawRow)}</ul>
    ${leftOut > 0 && html`<p class="aside">${count(leftOut, "more debate")} of the family ${leftOut === 1 ? "is" : "are"} not shown here.</p>`}
  <//>`;
}

/** Each debate below the one that it was forked from. */
function orderFamily(rows) {
  const ids = new Set(rows.map((row) => row.debate_id));
  const below = groupBy(rows, (row) => (ids.has(row.forked_from) ? row.forked_from : ""));
  const ordered = [];
  const add = (row, depth) => {
    if (ordered.includes(row)) return;
    row.depth = depth;
    ordered.push(row);
    for (const fork of below.get(row.debate_id) || []) add(fork, depth + 1);
  };
  for (const row of below.get("") || rows) add(row, 0);
  return ordered;
}

function Fork({ app, row, longest, isOwn }) {
  const canOpen = !isOwn && (app.debates.has(row.debate_id) || app.host?.open);
  const side = row.names.indexOf(row.winner);
  const told = row.differences.map((one) => `${humanize(one.field)}: ${one.other || "none"}`).join("; ");
  const title = row.winner_stance || (row.outcome ? "no side prevailed" : tellStanding(row.status));
  return html`<li class=${isOwn ? "own" : ""} data-side=${side < 0 ? "none" : side % 26}>
    <${Rail} row=${row} longest=${longest} isOwn=${isOwn} />
    <div>
      <b><span class="badge">${LETTERS[side] || "–"}</span> ${row.outcome && html`<span class="chip outcome">${tellStanding(row.outcome)}</span>`} <${Words} text=${title} /></b>
      <small>
        ${isOwn ? "this debate" : html`<code>${row.debate_id}</code>`}
        ${row.forked_from && html`, forked after round ${row.forked_at_round}`}
        ${told && html`: <${Words} text=${told.slice(0, 400)} />`}
        ${row.recorded && html`. ${row.recorded}`}
        ${row.tags.map((tag) => html` <span class="tag"><${Words} text=${tag} /></span>`)}
      </small>
    </div>
    <span class="votes">${row.votes.map((vote) => html`<${ForkVote} row=${row} vote=${vote} />`)}</span>
    <span class="n">${formatMoney(row.cost_usd)}</span>
    ${canOpen
      ? html`<button type="button" onClick=${() => app.open(row.debate_id)}>Show<span class="hidden"> ${row.debate_id}</span></button>`
      : html`<span></span>`}
  </li>`;
}

function ForkVote({ row, vote: { judge, winner, margin, abstains } }) {
  const side = winner && !abstains ? row.names.indexOf(winner) % 26 : "none";
  const title = plain(`${judge}: ${abstains ? "abstains, it " + abstains : winner + ", margin " + margin}`);
  return html`<i data-side=${side} class=${abstains ? "none" : ""} title=${title}>${abstains ? "–" : margin}</i>`;
}

function Rail({ row, longest, isOwn }) {
  const x = (round) => 10 + ((round - 1) * 140) / Math.max(longest - 1, 1);
  const from = row.forked_from ? row.forked_at_round : 0;
  const label = count(row.rounds.length, "round") + (from ? `, the first ${from} taken over` : "");
  return html`<svg viewBox="0 0 160 26" class=${"rail" + (isOwn ? " own" : "")} role="img" aria-label=${label}>
    ${from > 0 && html`<path d="M ${x(1)} 13 H ${x(from)}" class="past" />`}
    <path d="M ${x(Math.max(from, 1))} 13 H ${x(row.rounds.length)}" class="own" />
    ${row.rounds.map((phase, index) => html`<circle
      cx=${x(index + 1)} cy="13" r=${index < from ? 3.5 : 5} class=${index < from ? "past" : "own"}>
      <title>${index + 1}. ${humanize(phase)}</title>
    </circle>`)}
  </svg>`;
}
