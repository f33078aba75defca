// The record: round by round, everything that was said, asked, judged and changed, in the order recorded.

const Section = ({ id, title, why, children, class: name = "" }) =>
  html`<section id=${id} class=${name} aria-labelledby=${id + "-title"}>
    <h2 id=${id + "-title"}>${title}</h2>${why && html`<p class="why">${why}</p>`}${children}
  </section>`;

function Record({ debate }) {
  const rounds = debate.rounds.length ? debate.rounds : [{ round: 1, phase: "" }];
  const why =
    "Complete and in order. A solid line under a quotation: the document holds these words; a dashed one: it does not.";
  return html`<${Section} id="record" title="The record" why=${why}>
    ${rounds.map((held) => html`<${Round} key=${held.round} debate=${debate} held=${held} />`)}
    <${Documents} debate=${debate} />
  <//>`;
}

function Round({ debate, held }) {
  const all = debate.ofRound(held.round);
  const entries = all.filter((entry) => !entry.hidden);
  const turns = entries.filter((entry) => entry.body.kind === "spoke");
  const others = entries.filter(
    (entry) => !["spoke", "phase_entered", "opened", "judged", "balloted"].includes(entry.body.kind),
  );
  const polls = groupBy(
    entries.filter((entry) => entry.body.kind === "balloted"),
    (entry) => `${entry.body.wave} ${entry.body.slot_index}`,
  );
  const before = others.filter((entry) => turns.length && entry.seq < turns[0].seq);
  const readings = entries
    .filter((entry) => entry.body.kind === "judged")
    .sort((one, other) => compareSeats(one.body.seat, other.body.seat) || one.body.slot_index - other.body.slot_index);
  if (debate.phases.get(held.phase)?.order === "together")
    sortBySide(debate, turns);
  const isBlind = ([, cast]) => cast[0].body.wave === "blind";
  const drawPoll = ([name, cast]) => html`<${Poll} key=${name} debate=${debate} cast=${cast} />`;
  const drawOther = (entry) => html`<${Other} key=${entry.seq} debate=${debate} entry=${entry} />`;
  return html`<section class="round" aria-label=${"Round " + held.round}>
    <h3><b>Round ${held.round}</b> <${Words} text=${humanize(held.phase)} /></h3>
    ${[...polls].filter(isBlind).map(drawPoll)}
    ${before.map(drawOther)}
    ${turns.length > 0 && html`<div class=${"turns" + (debate.names.length <= 3 ? " columns" : "")} data-sides=${debate.names.length}>
      ${turns.map((entry) => html`<${Turn} key=${entry.seq} debate=${debate} entry=${entry} />`)}
    </div>`}
    ${[...polls].filter((poll) => !isBlind(poll)).map(drawPoll)}
    ${readings.map(drawOther)}
    ${others.filter((entry) => !before.includes(entry)).map(drawOther)}
    ${all.filter((entry) => entry.hidden).map((entry) => html`<p class="fact-line" key=${entry.seq}>
      <small>${humanize(entry.body.kind)} <${Words} text=${entry.body.seat || ""} /></small> not shown here
    </p>`)}
  </section>`;
}

/** Sorts entries in place: by the order of positions, then as recorded. */
const sortBySide = (debate, entries) =>
  entries.sort((one, other) => debate.side(one.body.seat) - debate.side(other.body.seat) || one.seq - other.seq);

function Turn({ debate, entry }) {
  const { body } = entry;
  const { seat, usage } = body;
  const retracted = debate.isRetracted(body);
  const points = debate.points.filter((point) => point.seq === entry.seq && point.field === "text");
  const title = body.act === "argument" || !body.act ? "" : ` ${humanize(body.act)} to ${plain(body.to)}`;
  return html`<article class=${"turn" + (retracted ? " retracted" : "")}
    data-side=${debate.side(seat) % 26} aria-label=${plain(seat) + ", round " + body.round}>
    <h4><${Badge} debate=${debate} name=${seat} /> <${Words} text=${seat} />${title}${retracted && html` <span class="tag">retracted</span>`}
      <small>${usage ? `${formatSeconds((usage.milliseconds || 0) / 1000)}, ${formatMoney(usage.cost_usd || "")}` : ""}</small></h4>
    <${Fold} isFolded=${debate.names.length > MANY} text=${body.text || ""}>
    ${points.length && !retracted
      ? html`<${Points} debate=${debate} seq=${entry.seq} points=${points} />`
      : html`<p><${Recorded} debate=${debate} seq=${entry.seq} field="text" /></p>`}
    ${body.cut && html`<p class="aside">cut at the length limit</p>`}
    ${body.message && html`<${Message} debate=${debate} entry=${entry} />`}
    <//>
  </article>`;
}

/** A number as debaters write it before a point, with its brackets and kind: "[2 value]", "3.", "**[4]**:". */
const POINT_MARK =
  /^[\s*_#>•+.:()[\]［］【】〔〕-]*[\d一二三四五六七八九十百]{0,6}[\s,;:|/*_.()[\]［］【】〔〕–-]*(?:facts?|values?|forecasts?)?[\s*_.:()[\]［］【】〔〕-]*$/u;

/** The points of a turn, with all that stands before, between and after them. */
function Points({ debate, seq, points }) {
  const { field } = points[0];
  const text = buildSlicer(String(readField(debate.entries[seq - 1].body, field)));
  const parts = [];
  const fill = (start, end) => {
    if (start < end && !POINT_MARK.test(text.slice(start, end)))
      parts.push(html`<p><${Recorded} debate=${debate} seq=${seq} field=${field} start=${start} end=${end} /></p>`);
  };
  let at = 0;
  for (const point of [...points].sort((one, other) => one.start - other.start)) {
    fill(at, point.start);
    parts.push(html`<${Point} key=${point.id} debate=${debate} point=${point} />`);
    at = Math.max(at, point.end);
  }
  fill(at, text.length);
  return parts;
}

function Point({ debate, point }) {
  return html`<div class="point" id=${debate.address(point)}>
    <p class="pointhead">
      <${PointLink} debate=${debate} id=${point.id} />
      <${PointTags} debate=${debate} point=${point} />
    </p>
    <p><${PointText} debate=${debate} point=${point} /></p>
  </div>`;
}

/** What is known of a point, in words. */
function PointTags({ debate, point, short = false }) {
  const [whole, parts, lost] = point.quotes;
  const attacks = (debate.cites.get(point.id) || []).filter((link) => link.answer);
  return html`<span class="tags">
    ${point.cited > 0 && html`<span class="tag judge">in ${count(point.cited, "reading")}</span>`}
    ${attacks.some((link) => link.answer === "never") && html`<span class="tag bad">never answered</span>`}
    ${attacks.some((link) => link.answer === "late") && html`<span class="tag">too late to answer</span>`}
    ${whole > 0 && html`<span class="tag good">quote checked</span>`}
    ${parts > 0 && html`<span class="tag">quote checked, words left out</span>`}
    ${lost > 0 && html`<span class="tag bad">quote not found</span>`}
    ${!short && point.status === "conceded" && html`<span class="tag">conceded</span>`}
    ${!short && point.kind && point.kind !== "fact" && html`<span class="tag">${point.kind}</span>`}
  </span>`;
}

const Message = ({ debate, entry }) => {
  const { act, to } = entry.body.message;
  const point = debate.points.find((one) => one.seq === entry.seq && one.field === "message.text");
  return html`<div class="message" id=${point && debate.address(point)}><small>${humanize(act)} to <${Words} text=${to} /></small>
    <p><${Recorded} debate=${debate} seq=${entry.seq} field="message.text" /></p></div>`;
};

// Everything but turns ------------------------------------------------------------------------------------------
const OTHERS = new Map(
  Object.entries({
    judged: Reading,
    note_added: Note,
    challenged: Note,
    concluded: Conclusion,
    failed: Failure,
    observed: Observation,
    extracted: Extraction,
    researched: Research,
    advised: Advice,
    reviewed: Advice,
    exchanged: Advice,
    reported: Advice,
    checked: Advice,
  }),
);

/** Fields of other facts that hold words, in the order in which they are shown. */
const TEXTS = [
  "briefing",
  "new_angle",
  "summary",
  "decision",
  "text",
  "reason",
  "detail",
  "query",
  "assumption",
  "stance",
  "model",
  "truth",
];

function Other({ debate, entry }) {
  return preact.h(OTHERS.get(entry.body.kind) || Plain, { debate, entry });
}

/** What is told of an entry in its place, or is of no use to readers. */
const UNTOLD = new Set(["kind", "seat", "round", "usage", "seen", "slot_index", "request_id", "informative", ...TEXTS]);

function Plain({ debate, entry }) {
  const { body, seq, actor } = entry;
  const told = TEXTS.filter((field) => typeof body[field] === "string" && body[field]);
  const others = Object.keys(body).filter((field) => !UNTOLD.has(field) && !isEmpty(body[field]));
  return html`<p class="fact-line" id=${"e" + seq}><small>${humanize(body.kind)} <${Words} text=${body.seat || ""} /></small>
    ${told.map((field) => html` <${Recorded} debate=${debate} seq=${seq} field=${field} />`)}
    ${others.map((field) => html` <small>${humanize(field)}: <${Words} text=${describeValue(body[field])} /></small>`)}
    ${actor && actor !== "counterpoint" && !body.seat && html`<small> by <${Words} text=${actor} /></small>`}</p>`;
}

const isEmpty = (value) =>
  value === "" ||
  value === null ||
  value === false ||
  value === 0 ||
  (typeof value === "object" && !Object.keys(value).length);

function describeValue(value) {
  if (Array.isArray(value)) return value.map(describeValue).join("; ").slice(0, 600);
  if (typeof value !== "object" || value === null) return String(value).slice(0, 600);
  const told = Object.entries(value).filter(([, part]) => !isEmpty(part));
  return told.map(([name, part]) => `${humanize(name)} ${describeValue(part)}`).join(", ").slice(0, 600);
}

/** The parts of an officer's answer: what each is about, and its own fields that hold words (`texts`). */
function Parts({ debate, entry, field, describe, texts }) {
  const parts = entry.body[field] || [];
  const draw = (path) => html` <${Recorded} debate=${debate} seq=${entry.seq} field=${path} />`;
  return html`<div class="fact-line" id=${"e" + entry.seq}>
    <small>${humanize(entry.body.kind)} <${Words} text=${entry.body.seat} /></small>
    ${!parts.length && "nothing"}
    <ul>${parts.map((part, index) => html`<li>
      <small>${describe(part)}</small>
      ${texts(part).map((name) => draw(`${field}.${index}.${name}`))}
    </li>`)}</ul>
  </div>`;
}

/** What an advisor, the writer or the checker wrote, as one text. */
function Advice({ debate, entry }) {
  const [title, text] = debate.drawing.advice[entry.seq] || ["", ""];
  const retracted = debate.isRetracted(entry.body);
  return html`<article class=${"turn" + (retracted ? " retracted" : "")} id=${"e" + entry.seq}
    data-side=${debate.side(entry.body.seat) % 26} aria-label=${plain(title)}>
    <h4><${Words} text=${title} /></h4>
    <${Fold} isFolded=${debate.names.length > MANY} text=${text}><p><${Words} text=${text} /></p><//>
  </article>`;
}

function Observation({ debate, entry }) {
  const describe = (mark) => `alleged: ${humanize(mark.pattern)}, ${plain(mark.said.seat)}`;
  const texts = () => ["said.quote", "why"];
  return html`<${Parts} debate=${debate} entry=${entry} field="marks" describe=${describe} texts=${texts} />`;
}

function Extraction({ debate, entry }) {
  const describe = (claim) => `${claim.kind || "claim"} of ${plain(claim.said.seat)}`;
  const texts = () => ["wording"];
  return html`<${Parts} debate=${debate} entry=${entry} field="claims" describe=${describe} texts=${texts} />`;
}

function Research({ debate, entry }) {
  const describe = (lookup) => plain(lookup.tool);
  const texts = (lookup) => ["arguments", lookup.failed ? "failed" : "result"];
  return html`<${Parts} debate=${debate} entry=${entry} field="lookups" describe=${describe} texts=${texts} />`;
}

const WAVES = new Map(
  Object.entries({
    blind: "Private votes before the talk",
    round: "Private votes after this round",
    final: "Private votes after the talk",
    vote: "The vote",
    sample: "Blind votes of the baseline",
  }),
);

const Poll = ({ debate, cast }) => html`<div class="poll"><h4>${WAVES.get(cast[0].body.wave) || "Votes"}</h4>
  <${Fold} isFolded=${cast.length > MANY} text=${count(cast.length, "vote")}><div class="ballots">
    ${sortBySide(debate, cast).map((entry) => html`<${Ballot} key=${entry.seq} debate=${debate} entry=${entry} />`)}
  </div><//>
</div>`;

function Ballot({ debate, entry }) {
  const { seat, wave, position, moved_by: moved } = entry.body;
  const choice = findChoice(entry.body);
  const share = Math.max(...entry.body.beliefs.map((belief) => Number(belief.share)));
  const cited = moved?.point ? `${moved.seat} ${moved.round}.${moved.point}` : "";
  return html`<div class="ballot" id=${"e" + entry.seq}>
    <${Badge} debate=${debate} name=${seat} />
    <span><${Words} text=${seat} /><span class="hidden"> ${wave === "vote" ? "votes for" : "is privately for"}</span> →</span>
    ${choice
      ? html`<${Badge} debate=${debate} name=${choice} /><span><${Words} text=${choice} /> (${Math.round(share * 100)}%)</span>`
      : html`<span>no side</span>`}
    ${cited && html`<span>moved by <${PointLink} debate=${debate} id=${cited} /></span>`}
    ${position && html`<span class="said"><${Recorded} debate=${debate} seq=${entry.seq} field="position" /></span>`}
  </div>`;
}

function Reading({ debate, entry }) {
  const { seat, slot_index: reading, winner, margin, usage, cited = [] } = entry.body;
  return html`<article class="reading" id=${"e" + entry.seq} aria-label=${`${seat}, reading ${reading}`}>
    <div><b>${plain(seat)}</b>, reading ${reading}<br /><small>${plain(shortModel(usage?.model || ""))}</small><br />
      ${winner ? html`<${Badge} debate=${debate} name=${winner} /> <small>margin ${margin} of 3</small>` : html`<small>no side</small>`}
      ${cited.length > 0 && html`<p class="cited">
        ${cited.map((one) => html`<${PointLink} debate=${debate} id=${`${one.seat} ${one.round}.${one.point}`} /> `)}
      </p>`}</div>
    <div>
      <p><${Recorded} debate=${debate} seq=${entry.seq} field="verdict" /></p>
      <p class="reasoning"><${Recorded} debate=${debate} seq=${entry.seq} field="reasoning" /></p>
    </div>
  </article>`;
}

function Note({ debate, entry }) {
  const { to, kind, reason } = entry.body;
  const title = kind === "challenged" ? "Challenge" : "Note";
  return html`<div class="note" id=${"e" + entry.seq}>
    <small>
      ${title} to <${Words} text=${to || "everybody"} />, by <${Words} text=${entry.actor} />
      ${reason && html`: <${Words} text=${reason} />`}
    </small>
    <p><${Recorded} debate=${debate} seq=${entry.seq} field="text" /></p></div>`;
}

function Conclusion({ debate, entry }) {
  return html`<p class="fact-line" id=${"e" + entry.seq}>
    <small>verdict</small> <b>${tellStanding(entry.body.outcome)}</b> <${Recorded} debate=${debate} seq=${entry.seq} field="verdict" />
  </p>`;
}

function Failure({ debate, entry }) {
  return html`<p class="fact-line failed" id=${"e" + entry.seq}>
    <small><${Words} text=${entry.body.seat} /> failed</small> <${Recorded} debate=${debate} seq=${entry.seq} field="detail" />
  </p>`;
}

function Documents({ debate }) {
  const documents = debate.setup.documents || [];
  if (!documents.length) return null;
  return html`<section class="round" aria-label="Documents"><h3><b>Documents</b></h3>
    ${documents.map((document, index) => html`<details class="document">
      <summary>doc ${index + 1}: <${Words} text=${document.title} /> <small>${count(document.text.length, "character")}</small></summary>
      <${Words} tag="div" text=${document.text} />
    </details>`)}
  </section>`;
}
