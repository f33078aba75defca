// Time and money: when each seat was asked, how long it took, and what it cost.

const WIDTH = 1100;
const MARGIN = 128;
const ROW = 22;

function TimeSection({ debate }) {
  const calls = debate.paid
    .filter((entry) => entry.body.usage.milliseconds > 0)
    .map((entry) => ({
      ...entry.body,
      seq: entry.seq,
      end: Date.parse(entry.at),
      begin: Date.parse(entry.at) - entry.body.usage.milliseconds,
    }));
  if (!debate.paid.length) return null;
  const seats = unique(debate.paid.map((entry) => entry.body.seat)).sort(
    (one, other) => rankSeat(debate, one) - rankSeat(debate, other) || compareSeats(one, other),
  );
  const why =
    "Each bar is one question to a model; pale bars are private votes. Long waits are left out.";
  return html`<${Section} id="time" title="Time and money" why=${why}>
    <div class="card panel">
      ${calls.length > 0 && html`<div class="scroll" tabindex="0" role="group" aria-label="When each seat was asked">
        <${Timeline} debate=${debate} calls=${calls} seats=${seats} />
      </div>`}
      <div class="scroll" tabindex="0" role="group" aria-label="Cost of each seat">
        <${Costs} debate=${debate} seats=${seats} />
      </div>
    </div>
  <//>`;
}

const rankSeat = (debate, seat) => (debate.side(seat) >= 0 ? debate.side(seat) : 1000);

/** A scale that leaves long gaps out: {place: time -> x, gaps: [{at, milliseconds}], begin, total}. */
function buildScale(calls) {
  const spans = [];
  for (const { begin, end } of [...calls].sort((one, other) => one.begin - other.begin)) {
    const last = spans.at(-1);
    if (last && begin <= last.end) last.end = Math.max(last.end, end);
    else spans.push({ begin, end });
  }
  const busy = sum(spans, (span) => span.end - span.begin);
  const longest = Math.max(1500, busy * 0.06);
  const gaps = [];
  let total = 0;
  for (const [index, span] of spans.entries()) {
    const gap = index ? span.begin - spans[index - 1].end : 0;
    if (gap > longest) gaps.push({ at: total + longest / 2, milliseconds: gap });
    total += Math.min(gap, longest);
    span.offset = total;
    total += span.end - span.begin;
  }
  const place = (time) => {
    const span = spans.findLast((one) => one.begin <= time) || spans[0];
    const inside = Math.min(Math.max(time - span.begin, 0), span.end - span.begin + longest);
    return MARGIN + ((span.offset + inside) / total) * (WIDTH - MARGIN - 6);
  };
  return { place, gaps: gaps.map((gap) => ({ ...gap, x: MARGIN + (gap.at / total) * (WIDTH - MARGIN - 6) })), total };
}

function Timeline({ debate, calls, seats }) {
  const { place, gaps, total } = buildScale(calls);
  const top = 30;
  const height = top + seats.length * ROW + 24;
  const rounds = debate.rounds
    .map((held) => ({ ...held, x: place(Date.parse(held.at)) }))
    .filter((held) => held.round > debate.drawing.inherited);
  const notes = debate.shown.filter((entry) => ["note_added", "challenged"].includes(entry.body.kind));
  const bottom = top + seats.length * ROW;
  const label = `${count(calls.length, "question")} in ${formatSeconds(total / 1000)}`;
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label=${label} class="timeline">
    ${rounds.map((held, index) => {
      const end = rounds[index + 1]?.x ?? WIDTH - 6;
      const isAtEdge = held.x > WIDTH - MARGIN;  // its name ends where the drawing does
      return html`<g>
        <rect x=${held.x} y=${top - 4} width=${Math.max(1, end - held.x - 2)} height=${bottom - top + 6} rx="4"
          class=${index % 2 ? "stripe odd" : "stripe"} />
        <text x=${isAtEdge ? WIDTH - 6 : held.x + 3} y=${index % 2 ? 10 : 21} class="dim" text-anchor=${isAtEdge ? "end" : "start"}>${held.round}. ${humanize(held.phase)}</text>
      </g>`;
    })}
    ${seats.map((seat, index) => html`<g data-side=${debate.side(seat) < 0 ? "none" : debate.side(seat) % 26}>
      <text x="0" y=${top + index * ROW + 13}>${plain(seat).slice(0, 18)}</text>
      ${calls.filter((call) => call.seat === seat).map((call) => html`<rect key=${call.seq}
        x=${place(call.begin)} y=${top + index * ROW + 3}
        width=${Math.max(2, place(call.end) - place(call.begin) - 1)} height="13" rx="3"
        class=${"call" + (call.kind === "balloted" ? " pale" : "")}>
        <title>${describeCall(call)}</title>
      </rect>`)}
    </g>`)}
    ${notes.map((entry) => {
      const x = place(Date.parse(entry.at));
      return html`<line x1=${x} x2=${x} y1=${top - 4} y2=${bottom + 4} class="noteline">
        <title>${humanize(entry.body.kind)}</title>
      </line>`;
    })}
    ${gaps.map((gap) => html`<text x=${gap.x} y=${height - 4} text-anchor="middle" class="dim">⫽ ${formatSeconds(gap.milliseconds / 1000)}</text>`)}
    <text x=${WIDTH - 6} y=${height - 4} text-anchor="end" class="dim">${formatSeconds(total / 1000)}</text>
  </svg>`;
}

const describeCall = ({ seat, kind, usage }) =>
  `${plain(seat)}: ${humanize(kind)}, ${formatSeconds(usage.milliseconds / 1000)}, ${formatMoney(usage.cost_usd || "")}`;

const formatOutput = (written, thought) =>
  written.toLocaleString("en") + (thought ? ` (${thought.toLocaleString("en")} thinking)` : "");

function Costs({ debate, seats }) {
  const rows = seats.map((seat) => {
    const used = debate.paid.filter((entry) => entry.body.seat === seat).map((entry) => entry.body.usage);
    const known = used.filter((usage) => usage.cost_usd);
    return {
      seat,
      used,
      cost: known.length ? sum(known, (usage) => Number(usage.cost_usd)) : "",
      models: unique(used.map((usage) => usage.model)),
    };
  });
  const most = Math.max(...rows.map((row) => Number(row.cost)), 1e-9);
  const total = (used, field) => sum(used, (usage) => usage[field] || 0);
  return html`<table class="costs">
    <thead><tr>
      <th scope="col">seat</th>
      <th scope="col">calls</th>
      <th scope="col">tokens in</th>
      <th scope="col">cached</th>
      <th scope="col">out</th>
      <th scope="col">seconds</th>
      <th scope="col" class="money">cost</th>
    </tr></thead>
    <tbody>${rows.map(({ seat, used, cost, models }) => html`<tr key=${seat} data-side=${debate.side(seat) < 0 ? "none" : debate.side(seat) % 26}>
      <th scope="row">
        <${Badge} debate=${debate} name=${seat} /> <${Words} text=${seat} /> <small><${Words} text=${models.map(shortModel).join(", ")} /></small>
      </th>
      <td>${used.length}</td>
      <td>${total(used, "input_tokens").toLocaleString("en")}</td>
      <td>${share(total(used, "cached_tokens"), total(used, "input_tokens"))}</td>
      <td>${formatOutput(total(used, "output_tokens"), total(used, "thinking_tokens"))}</td>
      <td>${(total(used, "milliseconds") / 1000).toFixed(1)}</td>
      <td class="money">
        <span>${formatMoney(cost)}</span>
        <i style=${{ width: `${Math.round((Number(cost) / most) * 100)}px` }}></i>
      </td>
    </tr>`)}</tbody>
  </table>`;
}

const share = (part, whole) => (whole ? `${Math.round((100 * part) / whole)}%` : "–");
