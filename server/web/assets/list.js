// The list of debates, for places that have a database.

/** The server's own form: it works without scripts as well. Empty fields are left out of the address. */
const placeSearch = (place) => {
  if (!place || !app.search) return;
  place.append(app.search);
  app.search.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });
};

function List({ app, list }) {
  const older = new URLSearchParams(location.search);
  older.set("cursor", list.cursor);
  return html`<header class="head">
      <p class="eyebrow"><strong>Counterpoint</strong> <span class=${"live " + app.live.state} role="status">${app.live.words}</span> ${app.host?.hasTheme && html`<${Theme} />`}</p>
      <h1>Debates</h1>
    </header>
    <main id="main">
      ${app.host?.ask && html`<p class="buttons"><button type="button" aria-expanded=${String(ask.isOpen)} onClick=${openAsk}>Ask a question</button></p>`}
      ${ask.isOpen && html`<${Ask} app=${app} />`}
      <div ref=${placeSearch}></div>
      ${list.rows.length
        ? html`<ul class="rows card">${list.rows.map((row) => html`<${Row} key=${row.debate_id} app=${app} row=${row} />`)}</ul>`
        : html`<p class="aside">No debates${location.search ? " that match" : " yet"}.</p>`}
      ${list.cursor && html`<p><a href=${`?${older}`}>Older debates</a></p>`}
      <${Notice} app=${app} />
    </main>`;
}

function Row({ app, row }) {
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;  // in a tab or a window of its own
    event.preventDefault();
    app.open(row.debate_id);
  };
  return html`<li><a href=${app.host?.address?.(row.debate_id) ?? "#" + row.debate_id} onClick=${open}>
  <span class="q">
    <${Words} tag="b" text=${row.question} />
    ${row.forked_from && html`<small>fork of ${row.forked_from}</small>`}
    ${row.mirror_of && html`<small>mirror of ${row.mirror_of}</small>`}
    ${row.recorded && html`<small>${row.recorded}</small>`}
    ${row.tags?.length > 0 && html`<small><${Words} text=${row.tags.join(", ")} /></small>`}
  </span>
  <span class="o">
    <span class=${"chip " + (row.outcome ? "outcome" : row.status)}>${row.outcome || row.status}</span> <${Words} text=${row.winner_stance || row.position} />
  </span>
  <span class="m">${humanize(row.format)}${row.models?.length ? ", " + row.models.map(shortModel).join(", ") : ""}</span>
  <span class="n">${Number(row.cost_usd) ? formatMoney(row.cost_usd) : ""}</span>
  <time class="n" datetime=${row.opened_at}>${row.opened_at.slice(0, 16).replace("T", " ")}</time>
</a></li>`;
}
