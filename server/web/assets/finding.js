// The head of the page: question, finding with what carries it and what speaks against it, facts, positions.

function Header({ app, debate }) {
  const { setup } = debate;
  return html`<header class="head">
    <p class="eyebrow">
      ${app.host?.search && html`<a href="#list" onClick=${(event) => {
        event.preventDefault();
        app.open("");
      }}>All debates</a>`}
      <strong>Counterpoint</strong>
      <span>debate <code>${debate.id}</code></span>
      <span>${formatTime(debate.entries[0].at)}</span>
      <span>${humanize(setup.format)}</span>
      <${Status} app=${app} debate=${debate} />
    </p>
    <h1 dir="auto" class=${setup.question.length > 160 ? "words long" : "words"}>${plain(setup.question)}</h1>
    ${debate.drawing.origin && html`<p class="aside">${debate.drawing.origin}</p>`}
    ${debate.data.recorded && html`<p class="aside recorded">${debate.data.recorded}</p>`}
  </header>`;
}

function Status({ app, debate }) {
  const { done, expected } = debate.drawing.progress;
  const going = !debate.end && expected > 0;
  return html`<span class="status" role="status">
    <span class=${"chip " + debate.status}>${debate.status}</span>
    ${going && html`<progress max=${expected} value=${done} aria-label="Answers so far"></progress> <span>${done} of ${expected} answers</span>`}
    ${app.live.words && html`<span class=${"live " + app.live.state}>${app.live.words}</span>`}
  </span>`;
}

function Finding({ app, debate }) {
  const { report, conclusion } = debate;
  const side = debate.side(report.winner);
  return html`<section class="card finding" data-side=${side < 0 ? "none" : side % 26} aria-labelledby="finding">
    <div class="found">
      <${Outcome} debate=${debate} />
      ${conclusion && html`<p class="verdict"><${Recorded} debate=${debate} seq=${conclusion.seq} field="verdict" /></p>`}
      ${conclusion?.body.reasoning && html`<p class="reasoning"><${Recorded} debate=${debate} seq=${conclusion.seq} field="reasoning" /></p>`}
      ${report.deliverable && html`<div class="deliverable"><h3>Result</h3><${Words} text=${report.deliverable} tag="div" /></div>`}
      ${report.deliverable_problem && html`<p>No result: <${Words} text=${report.deliverable_problem} /></p>`}
      ${report.settled && html`<p class="settled"><${Words} text=${report.settled} /></p>`}
      <${Grounds} debate=${debate} title="What it hangs on" rows=${debate.drawing.claims.hangs_on} />
      <${Against} debate=${debate} />
    </div>
    <${Facts} app=${app} debate=${debate} />
  </section>`;
}

function Outcome({ debate }) {
  const { report } = debate;
  const title =
    report.winner_stance ||
    (report.outcome === "contested" ? "no side prevailed" : report.outcome ? "" : describeNoFinding(debate));
  return html`<p class="meta">${report.outcome && html`<span class="chip outcome">${report.outcome}</span>`}
      ${report.winner && html`<span class="who">argued by <${Words} text=${report.winner} /></span>`}</p>
    <h2 id="finding" class=${"outcome" + (title.length > 110 ? " long" : "")}>
      ${report.winner && html`<${Badge} debate=${debate} name=${report.winner} />`}
      <${Words} text=${title} />
    </h2>
    ${!report.outcome && debate.data.reason && html`<p class="aside"><${Words} text=${debate.data.reason} /></p>`}`;
}

function describeNoFinding(debate) {
  if (debate.report.deliverable) return "A result, and no verdict";
  return debate.end ? "It ended without a verdict" : "No verdict yet";
}

function Grounds({ debate, title, rows, children }) {
  if (!rows.length && !children) return null;
  return html`<h3>${title}</h3>
    <ul class="grounds">
      ${rows.map((row) => html`<li>
        <${PointLink} debate=${debate} id=${row.point} />
        <span class="gist"><${PointText} debate=${debate} point=${debate.byId.get(row.point)} /></span>
        <small>${linkIds(debate, row.why)}</small>
      </li>`)}
      ${children}
    </ul>`;
}

function Against({ debate }) {
  const { report, drawing } = debate;
  const rows = [...groupBy(drawing.claims.against, (row) => row.point)].map(([point, found]) => ({
    point,
    why: found.map((row) => row.why).join("; "),
  }));
  const lines = [
    ...report.dissent.map((line) => html`<li class="line"><small>found otherwise</small><${Words} text=${line} /></li>`),
    ...report.cautions.map((line) => html`<li class="line"><small>caution</small><${Words} text=${line} /></li>`),
  ];
  if (!lines.length && !rows.length) return null;
  return html`<div class="against"><${Grounds} debate=${debate} title="What speaks against it" rows=${rows}>${lines}<//></div>`;
}

const Fact = ({ name, value, children }) =>
  html`<div class="fact"><dt>${name}</dt><dd><b>${value}</b>${children && html`<small>${children}</small>`}</dd></div>`;

function Facts({ debate }) {
  const { report, votes } = debate;
  const asked = report.panel.asked;
  const forIt = votes.filter((vote) => !vote.abstains && vote.winner === report.winner && report.winner);
  const abstaining = votes.filter((vote) => vote.abstains).map((vote) => `${vote.judge} abstains: it ${vote.abstains}`);
  const before = debate.countBallots(0);
  const after = debate.countBallots(-1);
  const margins = forIt.map((vote) => vote.margin);
  const isJudged = debate.readings.length > 0;
  return html`<dl class="facts">
    ${asked > 0 && html`<${Fact}
      name=${(isJudged ? "judges" : "votes") + (report.winner ? " for it" : "")}
      value=${report.winner ? `${forIt.length} of ${asked}` : String(asked)}>${plain(abstaining.join("; "))}<//>`}
    ${isJudged && margins.length > 0 && html`<${Fact} name="smallest margin" value=${`${Math.min(...margins)} of 3`} />`}
    ${report.confidence.value > 0 && html`<${Fact} name="confidence" value=${`${Math.round(report.confidence.value * 100)} %`}>
      ${plain(report.confidence.basis)}
    <//>`}
    ${before && html`<${Fact}
      name="private votes"
      value=${`${listVotes(debate, before)} → ${listVotes(debate, after)}`}>first and last<//>`}
    <${Fact} name="cost" value=${formatMoney(report.cost_usd)}>${plain(report.cost)}<//>
    <${Fact} name="time" value=${formatSeconds(debate.seconds)}>
      ${count(report.rounds_of_talk, "round")} of talk, ${count(report.turn_count, "turn")}
    <//>
    <${ChainFact} />
  </dl>`;
}

/** Votes of each side that has any, such as "A 2, C 1": a count of all sides has no room for twelve. */
const listVotes = (debate, counts) =>
  debate.names.flatMap((name, index) => (counts[index] ? `${debate.letter(name)} ${counts[index]}` : [])).join(", ") || "none";

function ChainFact() {
  const { state, words, detail, head } = app.chain;
  const sign = { intact: "✓ ", altered: "✗ ", checking: "" }[state];
  return html`<div class=${"fact chain " + state}><dt>record</dt>
    <dd><b role="status">${sign}${words}</b><small>${detail} ${head && html`Head <code>${head.slice(0, 12)}…</code>`}</small></dd></div>`;
}

const Positions = ({ debate }) => html`<ul class="positions" aria-label="Positions">
  ${debate.positions.map((position) => html`<li data-side=${debate.side(position.name) % 26}>
    <${Badge} debate=${debate} name=${position.name} />
    <div>
      <${Words} tag="b" text=${position.stance} />
      <small><${Words} text=${position.name} />, <${Words} text=${shortModel(position.model)} /></small>
    </div>
  </li>`)}
</ul>
${debate.drawing.framing && html`<p class="aside"><${Words} text=${debate.drawing.framing} /></p>`}`;
