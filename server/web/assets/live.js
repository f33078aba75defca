// A debate that goes on: what is known so far, who is being asked, and the words that are being written.

/** What stands in the place of the finding until there is one. */
function SoFar({ debate }) {
  const { done, expected, asked, work } = debate.drawing.progress;
  const turns = debate.of("spoke");
  const latest = debate.names.map((name) => turns.filter((entry) => entry.body.seat === name).at(-1)).filter(Boolean);
  return html`<h2 id="finding" class="outcome">${done ? `So far: ${done} of ${expected} calls` : "Nobody has answered yet"}</h2>
    ${debate.data.reason && html`<p class="aside"><${Words} text=${debate.data.reason} /></p>`}
    ${work && html`<p class="who" role="status"><${Words} text=${work} /></p>`}
    ${debate.status === "running" && asked.length > 0 && html`<${Writing} debate=${debate} asked=${asked} />`}
    ${latest.length > 0 && latest.length <= MANY && html`<h3>Said last</h3><ul class="sofar">
      ${latest.map((entry) => html`<li key=${entry.body.seat} data-side=${debate.side(entry.body.seat) % 26}>
        <${Badge} debate=${debate} name=${entry.body.seat} />
        <span class="gist"><${Words} text=${entry.body.text.slice(0, 300)} /></span>
      </li>`)}
    </ul>`}`;
}

/** Who is being asked now; where this process asks them, with what they are writing. */
function Writing({ debate, asked }) {
  const written = app.words[debate.id] ?? {};
  return html`<ul class="writing">
    ${asked.map((seat) => html`<li key=${seat} data-side=${Math.max(debate.side(seat), 0) % 26}>
      <${Badge} debate=${debate} name=${seat} />
      <div><b>${plain(seat)}</b> <small>${written[seat] ? "writes" : seat in written ? "writes; shown when it is done" : "was asked"}</small>
        ${written[seat] && html`<${Prose} tag="p" text=${written[seat]} />`}</div>
    </li>`)}
  </ul>`;
}

/** The form for a seat whose turn somebody writes here. */
function Seats({ app, debate }) {
  const [turn] = app.awaited;
  if (!turn || debate.end || !app.host?.actions?.includes("turn")) return null;
  const task = turn.prompt.split("\n# Your turn\n").at(-1);
  const send = (event) => {
    event.preventDefault();
    const { text } = event.target.elements;
    if (text.value.trim()) app.act("turn", { text: text.value, to: turn.speaker });
  };
  return html`<form class="card seat" onSubmit=${send} key=${[turn.speaker, turn.task, turn.reading, debate.entries.length].join(" ")} aria-label="Your turn">
    <h2>The debate waits for <${Words} text=${turn.speaker} /></h2>
    <details open><summary>What is asked: ${plain(turn.task)}</summary><${Words} tag="div" text=${task} /></details>
    <label>Your words<textarea name="text" rows="7" required dir="auto"></textarea></label>
    <div class="buttons"><button type="submit" disabled=${app.isBusy}>Send</button></div>
  </form>`;
}
