// What the page shows now, and how its place feeds it and takes its buttons: `counterpoint` (docs/page.md).

const app = {
  debates: new Map(),  // id -> data as given
  main: "",  // the debate that was given first
  shown: "",
  list: "",  // as the server drew it, in the page of the list
  search: null,  // the form that narrows the list, as the server wrote it
  host: null,
  live: { state: "", words: "" },
  chain: { state: "checking", words: "checking", detail: "" },
  isFile: false,
  notice: "",
  isBusy: false,
  words: {},  // that are being written, by debate and seat
  awaited: [],  // turns that somebody has to write here
  form: "",  // the action whose text is being written
  models: new Map(),
};

const root = document.getElementById("page");

let clock = 0;

/** Whether news of the debate come here: else its time stands still. */
const isFollowed = () => Boolean(app.host) && app.live.state !== "lost";

function redraw() {
  document.documentElement.dataset.chain = app.chain.state;
  clearTimeout(clock);
  if (isFollowed() && app.debates.get(app.shown)?.status === "running") clock = setTimeout(redraw, 1_000);
  try {
    preact.render(app.list ? html`<${List} app=${app} />` : html`<${Page} app=${app} />`, root);
  } catch {
    // a record that was altered need not be one that can be drawn
    preact.render(null, root);
    root.textContent = `This record cannot be drawn: ${app.chain.words}. ${app.chain.detail}`;
  }
}

function findModel(id) {
  const data = app.debates.get(id);
  if (!data) return null;
  if (app.models.get(id)?.data !== data) app.models.set(id, new Debate(data));
  return app.models.get(id);
}

function Page({ app }) {
  const debate = findModel(app.shown);
  if (!debate)
    return html`<main id="main" class="empty">
      <p role="status">${plain(app.notice || app.live.words) || "Waiting for a debate."}</p>
    </main>`;
  return html`<a class="skip" href="#main">Skip to the finding</a>
    <${Header} app=${app} debate=${debate} />
    <main id="main" tabindex="-1">
      <${Finding} app=${app} debate=${debate} />
      <${Seats} app=${app} debate=${debate} />
      <${Answers} debate=${debate} />
      <${Positions} debate=${debate} />
      ${debate.drawing.lines.length > 0 ? html`<${Folded} app=${app} debate=${debate} />` : html`<${Rest} app=${app} debate=${debate} />`}
    </main>
    <${Actions} app=${app} debate=${debate} />
    <footer><p>Made by Counterpoint from the debate's record.</p></footer>`;
}

function Rest({ app, debate }) {
  return html`<${Contents} debate=${debate} />
    <${Panel} debate=${debate} />
    <${MapSection} debate=${debate} />
    <${TimeSection} debate=${debate} />
    <${ForkSection} app=${app} debate=${debate} />
    <${Record} debate=${debate} />`;
}

/** All that is not the answer: what speaks against it, figures, and the record. */
const Folded = ({ app, debate }) => html`<details class="rest">
  <summary>Everything else: the reviews, votes, time and money, ${debate.data.relatives?.length > 0 && "forks, "}and the record</summary>
  <div class="card"><${Facts} debate=${debate} /></div>
  <${Grounds} debate=${debate} title="What it hangs on" rows=${debate.drawing.claims.hangs_on} />
  <${Against} debate=${debate} />
  <${Rest} app=${app} debate=${debate} />
</details>`;

function Contents({ debate }) {
  const parts = [
    ["sure", "How sure", debate.readings.length],
    ["map", "Points", debate.links.length],
    ["time", "Time and money", debate.paid.length],
    ["forks", "What if", debate.data.relatives?.length],
    ["record", "The record", 1],
  ];
  return html`<nav class="contents" aria-label="On this page">
    ${parts.filter((part) => part[2]).map(([id, name]) => html`<a href=${"#" + id}>${name}</a>`)}
  </nav>`;
}

// Buttons --------------------------------------------------------------------------------------------------------
const ACTIONS = ["step", "pause", "note", "challenge", "conclude"];

function Actions({ app, debate }) {
  const offered = ACTIONS.filter((action) => app.host?.actions?.includes(action));
  if (!offered.length) return null;
  if (debate.end && app.host.actions.includes("settle")) return html`<${Settle} app=${app} debate=${debate} />`;
  const isPaused = debate.status === "paused";
  const press = (action) => (event) => {
    if (event.detail > 1) return;  // the second click of a double click: by then the button may mean something else
    if (action === "note" || action === "challenge") app.openForm(action);
    else app.act(action === "pause" && isPaused ? "resume" : action);
  };
  return html`<aside class="actions" aria-label="Steer the debate">
    ${app.form && html`<${TextForm} app=${app} debate=${debate} />`}
    <div class="buttons">
      ${offered.map((action) => html`<button type="button" key=${action}
        disabled=${app.isBusy || Boolean(debate.end)}
        aria-expanded=${["note", "challenge"].includes(action) ? String(app.form === action) : undefined}
        onClick=${press(action)}>${nameAction(action, isPaused)}</button>`)}
      <${Notice} app=${app} />
    </div>
  </aside>`;
}

/** What turned out, for the ledger of those who judge and advise. */
function Settle({ app, debate }) {
  const settle = (to) => (event) => {
    const { form } = event.target;
    app.act("settle", { to, text: form.elements.why.value });
  };
  const known = debate.last("outcome_recorded")?.body;
  return html`<aside class="actions at-end" aria-label="What turned out">
    <form class="buttons" onSubmit=${(event) => event.preventDefault()}>
      <span>${known ? `It turned out ${known.wrong ? "wrong" : `right for ${plain(known.truth || "nobody")}`}.` : "How did it turn out?"}</span>
      <button type="button" disabled=${app.isBusy} onClick=${settle("right")}>This turned out right</button>
      <button type="button" disabled=${app.isBusy} onClick=${settle("wrong")}>This turned out wrong</button>
      <input name="why" aria-label="How it is known" placeholder="How it is known" maxlength="1000" />
      <${Notice} app=${app} />
    </form>
  </aside>`;
}

const nameAction = (action, isPaused) =>
  action === "pause" && isPaused ? "Resume" : action[0].toUpperCase() + action.slice(1);

const Notice = ({ app }) => html`<span class="notice" role="status" dir="auto">${plain(app.notice)}</span>`;

function TextForm({ app, debate }) {
  const send = (event) => {
    const { text, to } = event.target.form;
    if (text.value.trim()) app.act(app.form, { text: text.value, to: to.value });
  };
  return html`<form class="textform" onSubmit=${(event) => event.preventDefault()} onKeyDown=${(event) => event.key === "Escape" && app.openForm("")}>
    <label>${nameAction(app.form)}<textarea name="text" rows="3" required></textarea></label>
    <label>to <select name="to" aria-label="Addressee">
      <option value="">everybody</option>
      ${debate.names.map((name) => html`<option value=${name}>${plain(name)}</option>`)}
    </select></label>
    <button type="button" disabled=${app.isBusy} onClick=${send}>Send</button> <button type="button" onClick=${() => app.openForm("")}>Cancel</button>
  </form>`;
}

// Light and dark --------------------------------------------------------------------------------------------------
const THEME = "counterpoint-theme";

/** The reader's choice; "" for what the system has, or where a place keeps nothing. */
function readTheme() {
  try {
    return localStorage.getItem(THEME) ?? "";
  } catch {
    return "";
  }
}

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  try {
    localStorage.setItem(THEME, name);
  } catch {
    // it is kept until the page is closed
  }
  redraw();
}

/** For places that have no choice of their own: a host of MCP Apps has one. */
const Theme = () => {
  const chosen = document.documentElement.dataset.theme ?? "";
  return html`<label class="theme">Theme <select onChange=${(event) => setTheme(event.target.value)}>
    ${[["", "system"], ["light", "light"], ["dark", "dark"]].map(([name, words]) => html`<option value=${name} selected=${name === chosen}>${words}</option>`)}
  </select></label>`;
};

app.openForm = (action) => {
  app.form = app.form === action ? "" : action;
  redraw();
  if (app.form) root.querySelector("textarea")?.focus();
};

app.act = async (action, fields = {}) => {
  app.isBusy = true;
  app.notice = "";
  redraw();
  try {
    app.notice = (await app.host.act(action, fields)) || "";
    app.form = "";
  } catch (error) {
    app.notice = error?.message || String(error);
  }
  app.isBusy = false;
  redraw();
};

app.open = (id) => {
  if (id && app.debates.has(id)) showDebate(id);
  else app.host?.open?.(id);
};

// Data -----------------------------------------------------------------------------------------------------------
function takeDebate(given) {
  const known = app.debates.get(given.debate_id);
  if (!given.since_seq) return app.debates.set(given.debate_id, given);
  if (!known || known.entries.length < given.since_seq) return null;  // it would leave a gap: the place asks again
  const entries = [...known.entries.slice(0, given.since_seq), ...given.entries];
  const { relatives, relatives_left_out } = given.relatives.length ? given : known;
  return app.debates.set(given.debate_id, { ...given, since_seq: 0, entries, relatives, relatives_left_out });
}

let checks = 0;
function showDebate(id) {
  const mine = ++checks;
  const isAnother = app.shown !== id;
  app.shown = id;
  if (isAnother || app.chain.state === "altered") app.chain = { state: "checking", words: "checking", detail: "" };
  const data = app.debates.get(id);
  document.title = `${plain(data.question).slice(0, 120)} - Counterpoint`;
  redraw();
  checkDebate(data, app.isFile).then((found) => {
    if (mine !== checks) return;
    app.chain = found;
    redraw();
  });
}

globalThis.counterpoint = Object.freeze({
  show(data, awaited = []) {
    app.awaited = awaited;
    for (const given of data.debates || []) takeDebate(given);
    const first = data.debates?.[0]?.debate_id;
    if (first && app.debates.has(first)) {
      app.main ||= first;
      showDebate(first);
    }
  },
  position() {
    const data = app.debates.get(app.shown);
    const family = (data?.relatives || []).map((other) => other.debate_id);
    return { debate_id: app.shown, seq: data?.entries.length || 0, status: data?.status || "", family };
  },
  list(drawn) {
    if (drawn === app.list) return;
    const at = document.activeElement?.getAttribute("href");
    app.list = drawn;
    if (app.search && drawn.includes("<li>")) app.search.hidden = false;
    redraw();
    root.querySelector(`#list a[href="${at}"]`)?.focus({ preventScroll: true });  // a link that was drawn anew
  },
  write(words) {
    app.words = words;
    if (!app.list) redraw();
  },
  connect(host) {
    app.host = host;
    if (host.hasTheme) setTheme(readTheme());
    redraw();
    if (app.search?.hidden && host.ask) openAsk();  // there is no debate yet
  },
  live(state, words = "") {
    app.live = { state, words };
    redraw();
  },
});

function start() {
  const given = JSON.parse(document.getElementById("counterpoint-data").textContent);
  app.search = root.querySelector("form.search");
  app.list = root.querySelector("#list")?.innerHTML ?? "";
  root.textContent = "";
  if (!given) return redraw();
  app.isFile = true;
  return counterpoint.show(given);
}

start();
