// The list of debates, for places that have a database.

/** The server's own form: it works without scripts as well. Empty fields are left out of the address. */
const placeSearch = (place) => {
  if (!place || !app.search) return;
  place.append(app.search);
  app.search.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });
};

/** The rows are drawn by the server alone. */
function List({ app }) {
  return html`<header class="head">
      <p class="eyebrow"><strong>Counterpoint</strong> <span class=${"live " + app.live.state} role="status">${app.live.words}</span> ${app.host?.hasTheme && html`<${Theme} />`}</p>
      <h1>Debates</h1>
    </header>
    <main id="main">
      ${app.host?.ask && html`<p class="buttons"><button type="button" aria-expanded=${String(ask.isOpen)} onClick=${openAsk}>Ask a question</button></p>`}
      ${ask.isOpen && html`<${Ask} app=${app} />`}
      <div ref=${placeSearch}></div>
      <div id="list" dangerouslySetInnerHTML=${{ __html: app.list }} />
      <${Notice} app=${app} />
    </main>`;
}
