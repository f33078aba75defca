// The head of the page: question, finding with what carries it and what speaks against it, facts, positions.

function Header({ app, debate }) {
  const { setup } = debate;
  return html`<header class="head">
    <p class="eyebrow">
      ${app.host?.address && html`<a href="#list" onClick=${(event) => {
        event.preventDefault();
        app.open("");
      }}>All debates</a>`}
      <strong>Counterpoint</strong>
      <span>debate <code>${debate.id}</code></span>
      <span>${formatTime(debate.entries[0].at)}</span>
      <span>${humanize(setup.format)}</span>
      ${app.chain.state === "altered" && html`<b class="failed">✗ record ${app.chain.words}</b>`}
      <${Status} app=${app} debate=${debate} />
      ${app.host?.hasTheme && html`<${Theme} />`}
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
    <span class=${"chip " + debate.status}>${tellStanding(debate.status)}</span>
    ${going && html`<progress max=${expected} value=${done} aria-label="Answers so far"></progress>`}
    ${app.live.words && html`<span class=${"live " + app.live.state}>${app.live.words}</span>`}
  </span>`;
}

function Finding({ app, debate }) {
  const { report } = debate;
  const side = debate.side(report.winner);
  const isAnswer = debate.drawing.lines.length > 0;
  return html`<section class=${"card finding" + (isAnswer ? " whole" : "")} data-side=${side < 0 ? "none" : side % 26} aria-labelledby="finding">
    <div class="found">
      ${isAnswer ? html`<${AnswerLines} debate=${debate} />` : debate.end ? html`<${NoVerdict} debate=${debate} />` : html`<${SoFar} debate=${debate} />`}
      ${report.deliverable && html`<div class="deliverable"><h3>Result</h3><${Words} text=${report.deliverable} tag="div" /></div>`}
      ${report.deliverable_problem && html`<p>No result: <${Words} text=${report.deliverable_problem} /></p>`}
    </div>
    ${!isAnswer && html`<${Facts} app=${app} debate=${debate} />`}
    ${app.host?.download && html`<${Take} app=${app} debate=${debate} />`}
    <dl class="facts"><${ChainFact} /></dl>
  </section>`;
}

/** The answer as text, to be pasted elsewhere. */
function tellAnswer(debate) {
  const { report } = debate;
  const { lines } = debate.drawing;
  const told = lines.length ? lines.map((line) => (line.head ? `${line.head}: ${line.text}` : line.text).trim()) : [report.headline, report.verdict, report.reasoning];
  return plain([debate.setup.question, "", ...told.filter(Boolean)].join("\n"));
}

function Take({ app, debate }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(tellAnswer(debate));
      app.notice = "The answer is copied.";
    } catch {
      app.notice = "This browser does not let pages copy. Select the text and copy it.";
    }
    redraw();
  };
  return html`<p class="take buttons">
    ${debate.end && html`<button type="button" onClick=${copy}>Copy the answer</button>`}
    <a href=${app.host.download(debate.id)} download>Download the page</a>
  </p>`;
}

/** The lines that every client shows of an answer: what to do first. */
function AnswerLines({ debate }) {
  const { lines } = debate.drawing;
  const at = Math.max(lines.findIndex((line) => line.is_lead), 0);
  const { head, text } = lines[at];  // before it: whether the caller's own answer stands
  return html`${at > 0 && html`<${ToldLines} lines=${lines.slice(0, at)} />`}
    <p class="meta"><span class="chip outcome"><${Words} text=${head} /></span></p>
    <h2 id="finding" class=${"outcome" + (text.length > 110 ? " long" : "")}><${Prose} text=${text} /></h2>
    ${lines.filter((line) => !line.head).map((line) => html`<${Prose} text=${line.text} tag="div" class="written" />`)}
    <${ToldLines} lines=${lines.slice(at + 1).filter((line) => line.head)} />`;
}

const ToldLines = ({ lines }) => html`<dl class="told">
  ${lines.map((line) => html`<dt><${Words} text=${line.head} /></dt>${line.text && html`<dd><${Prose} text=${line.text} /></dd>`}`)}
</dl>`;

/** The answers that were given apart, side by side; what reviews refuted in them is a link to what is right. */
function Answers({ debate }) {
  const { answers } = debate.drawing;
  if (!answers.length) return null;
  const why = "Written before anybody had read another. What a review refuted is struck through, and leads to what is right.";
  return html`<${Section} id="answers" title="First answers" why=${why}>
    <div class="answers">
      ${answers.map((answer, index) => html`<${ApartAnswer} key=${answer.title} answer=${answer} place=${index + 1} isFolded=${answers.length > MANY} />`)}
    </div>
  <//>`;
}

function ApartAnswer({ answer, place, isFolded }) {
  const address = (number) => `wrong-${place}-${number}`;
  return html`<article class="card apart" aria-label=${plain(answer.title)}>
    <h3><${Words} text=${answer.title} /> <small><${Words} text=${answer.model} /></small></h3>
    <${Fold} isFolded=${isFolded} text=${answer.parts.map(([text]) => text).join("")}><p>${answer.parts.map(([text, number]) =>
      number
        ? html`<a class="refuted" href=${"#" + address(number)}><del><${Words} text=${text} /></del></a>`
        : html`<${Words} text=${text} />`)}</p><//>
    ${answer.corrections.length > 0 && html`<ul class="wrong">
      ${answer.corrections.map((one, index) => html`<li id=${address(index + 1)} tabindex="-1">
        ${one.words && html`<del><${Words} text=${one.words} /></del> `}<${Words} text=${one.right} /> <small><${Words} text=${one.by} /></small>
      </li>`)}
    </ul>`}
  </article>`;
}

const NoVerdict = ({ debate }) => html`<h2 id="finding" class="outcome">It ended without a verdict</h2>
  ${debate.data.reason && html`<p class="aside"><${Words} text=${debate.data.reason} /></p>`}`;

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
  const { drawing } = debate;
  const rows = [...groupBy(drawing.claims.against, (row) => row.point)].map(([point, found]) => ({
    point,
    why: found.map((row) => row.why).join("; "),
  }));
  const lines = debate.report.answer.findings.map(
    (one) => html`<li class="line"><small><${Words} text=${`${one.seat}, ${one.stand}`} /></small><${Words} text=${one.text} /></li>`,
  );
  if (!lines.length && !rows.length) return null;
  return html`<div class="against"><${Grounds} debate=${debate} title="What speaks against it" rows=${rows}>${lines}<//></div>`;
}

const Fact = ({ name, value, children }) =>
  html`<div class="fact"><dt>${name}</dt><dd><b>${value}</b>${children && html`<small>${children}</small>`}</dd></div>`;

function Facts({ debate }) {
  const { report } = debate;
  return html`<dl class="facts">
    <${Fact} name="cost" value=${debate.paid.length ? formatMoney(report.cost_usd) : "none"}>${plain(report.cost)}<//>
    <${Fact} name="time" value=${formatSeconds(debate.seconds)}>
      ${report.turn_count > 0 && `${count(report.rounds_of_talk, "round")} of talk, ${count(report.turn_count, "turn")}`}
    <//>
  </dl>`;
}

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
