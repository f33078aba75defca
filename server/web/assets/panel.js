// How sure the finding is: each judge's readings, and the private votes over the rounds.

const MOST_COLUMNS = 4;

function Panel({ debate }) {
  const hasJudges = debate.readings.length > 0;
  const polls = listPolls(debate);
  if (!hasJudges && polls.length < 2) return null;
  return html`<div class=${"panels" + (hasJudges && polls.length > 1 ? " two" : "")} id="sure">
    ${hasJudges && html`<${Judges} debate=${debate} />`}
    ${polls.length > 1 && html`<${Minds} debate=${debate} polls=${polls} />`}
  </div>`;
}

function Judges({ debate }) {
  const seats = unique(debate.readings.map((entry) => entry.body.seat)).sort(compareSeats);
  const isWide = debate.names.length <= MOST_COLUMNS;
  const why =
    "Judges read the positions in different orders and under different labels; a second time where that leaves a doubt. A " +
    "bar is a margin, from 0 to 3. Hatched: the judge found otherwise when the order changed, so its vote does not count.";
  return html`<section class="card panel" aria-labelledby="judges-title">
    <h2 id="judges-title">Did the judges stay with it?</h2>
    <p class="why">${why}</p>
    <table class=${"judges" + (isWide ? "" : " narrow")}>
      <caption class="hidden">Margins of each judge, by reading</caption>
      <thead><tr>
        <th scope="col">judge</th>
        ${isWide
          ? debate.names.map((name) => html`<th scope="col">
            <${Badge} debate=${debate} name=${name} /><span class="hidden">${plain(name)}</span>
          </th>`)
          : html`<th scope="col">as recorded</th><th scope="col">turned</th>`}
      </tr></thead>
      <tbody>${seats.map((seat) => html`<${JudgeRow} key=${seat} debate=${debate} seat=${seat} isWide=${isWide} />`)}</tbody>
    </table>
  </section>`;
}

const compareSeats = (one, other) => one.localeCompare(other, "en", { numeric: true });

function JudgeRow({ debate, seat, isWide }) {
  const readings = debate.readings
    .filter((entry) => entry.body.seat === seat)
    .sort((one, other) => one.body.slot_index - other.body.slot_index);
  const vote = debate.votes.find((one) => one.judge === seat);
  const model = readings[0].body.usage?.model || "";
  const isOut = Boolean(vote?.abstains);
  const bar = (entry) => html`<${Bar} debate=${debate} entry=${entry} isOut=${isOut} />`;
  const barFor = (name) => (entry) => (entry.body.winner === name ? bar(entry) : html`<span class="track"></span>`);
  const pick = (entry) => html`<span class="pick">
    ${entry.body.winner ? html`<${Badge} debate=${debate} name=${entry.body.winner} />` : "no side"}
    ${bar(entry)}
  </span>`;
  const ofReading = (number) => readings.filter((entry) => entry.body.slot_index === number);
  return html`<tr>
    <th scope="row">
      <b>${plain(seat)}</b>
      <small><${Words} text=${shortModel(model)} /></small>
      ${isOut && html`<small class="warn">abstains</small>`}
    </th>
    ${isWide
      ? debate.names.map((name) => html`<td>${readings.map(barFor(name))}</td>`)
      : [1, 2].map((number) => html`<td>${ofReading(number).map(pick)}</td>`)}
  </tr>`;
}

function Bar({ debate, entry, isOut }) {
  const { winner, margin, slot_index: reading } = entry.body;
  const told = `reading ${reading}: ${winner ? `${plain(winner)}, margin ${margin} of 3` : "no side"}${isOut ? ", not counted" : ""}`;
  const side = winner ? debate.side(winner) % 26 : "none";
  return html`<a class="track" href=${"#e" + entry.seq} title=${told}>
    <span class=${"bar" + (isOut ? " out" : "")} data-side=${side} style=${{ width: `${8 + margin * 30.6}%` }}></span>
    <span class="hidden">${told}</span>
  </a>`;
}

// Private votes --------------------------------------------------------------------------------------------------

/** The polls of the debaters in order: {name, votes: debater -> {choice, share}}. */
function listPolls(debate) {
  const cast = debate.ballots.filter((entry) => debate.side(entry.body.seat) >= 0);
  const polls = groupBy(cast, (entry) => `${entry.body.round} ${entry.body.wave} ${entry.body.slot_index}`);
  return [...polls.values()].map((entries) => {
    const { wave, round } = entries[0].body;
    const names = new Map([["blind", "before the talk"], ["round", `after round ${round}`], ["vote", `vote, round ${round}`]]);
    const name = names.get(wave) ?? "after the talk";
    const votes = new Map(entries.map((entry) => [entry.body.seat, findChoice(entry.body)]));
    return { name, votes };
  });
}

function Minds({ debate, polls }) {
  const { report } = debate;
  return html`<section class="card panel" aria-labelledby="minds-title">
    <h2 id="minds-title">Did the talk change minds?</h2>
    <p class="why">Debaters argue their side in public, and say in private what they hold to be likeliest. Each line is a debater, each lane a position.</p>
    <div class="scroll" tabindex="0" role="group" aria-label="Private votes over the rounds"><${Lanes} debate=${debate} polls=${polls} /></div>
    ${report.beliefs.moved.length > 0 && html`<ul class="moves">
      ${report.beliefs.moved.map((line) => html`<li class="words" dir="auto">${linkIds(debate, line)}</li>`)}
    </ul>`}
    ${report.beliefs.changed && html`<p class="aside">The talk changed what they hold likeliest: ${report.beliefs.changed}.</p>`}
  </section>`;
}

function Lanes({ debate, polls }) {
  const chosen = polls.flatMap((poll) => [...poll.votes.values()]);
  const lanes = [
    ...debate.names.filter((name) => debate.names.length <= 6 || chosen.includes(name)),
    ...(chosen.includes("") ? [""] : []),
  ];
  const [left, top, width] = [34, 22, 520];
  const spread = Math.max(7, Math.min(13, 90 / debate.names.length));
  const height = Math.max(46, spread * (debate.names.length + 1));
  const x = (index) => left + 26 + (index * (width - left - 52)) / (polls.length - 1);
  const y = (choice, side) =>
    top +
    (lanes.indexOf(choice) + 0.5) * height +
    (side - (debate.names.length - 1) / 2) * Math.min(spread, (height - 16) / debate.names.length);
  const anchor = (index) => (index === 0 ? "start" : index === polls.length - 1 ? "end" : "middle");
  const label = `Private votes of ${debate.names.length} debaters in ${polls.length} polls`;
  return html`<svg viewBox="0 0 ${width} ${top + lanes.length * height + 4}" role="img" aria-label=${label} class="lanes">
    ${polls.map((poll, index) => html`<text x=${x(index)} y="13" text-anchor=${anchor(index)} class="dim">${poll.name}</text>`)}
    ${lanes.map((name, index) => html`<g data-side=${name ? debate.side(name) % 26 : "none"}>
      <rect x=${left} y=${top + index * height + 3} width=${width - left} height=${height - 6} rx="8" class="lane" />
      <circle cx="13" cy=${top + (index + 0.5) * height} r="11" class="fill" />
      <text x="13" y=${top + (index + 0.5) * height + 4} text-anchor="middle" class="letter">${name ? debate.letter(name) : "–"}</text>
    </g>`)}
    ${debate.names.map((name, side) => {
      const spots = polls
        .map((poll, index) => (poll.votes.has(name) ? [x(index), y(poll.votes.get(name), side)] : null))
        .filter(Boolean);
      return html`<g data-side=${side % 26}>
        <path d=${drawCurve(spots)} class="stroke" />
        <title>${plain(name)}</title>
        ${spots.map(([px, py], index) => html`<circle cx=${px} cy=${py} r=${index ? 5 : 4.5} class=${index ? "fill" : "ring"} />`)}
      </g>`;
    })}
  </svg>`;
}

/** A path through these places, level at each. */
function drawCurve(spots) {
  const parts = spots.map(([x, y], index) => {
    if (index === 0) return `M ${x} ${y}`;
    const [beforeX, beforeY] = spots[index - 1];
    const middle = (beforeX + x) / 2;
    return `C ${middle} ${beforeY} ${middle} ${y} ${x} ${y}`;
  });
  return parts.join(" ");
}
