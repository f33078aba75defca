// The form for a new debate, for places that can ask models. Nothing is asked before its estimate was shown.

const ask = {
  isOpen: false,
  choices: null,
  format: "",
  documents: [],
  forecast: null,  // the estimate of what the form holds now
  problem: "",
  fileLine: "",  // what became of the files that were chosen
  keyLine: "",
  isBusy: false,
  number: 0,  // of the last change: an estimate of an earlier one is not shown
  timer: 0,
};

const ESTIMATE_DELAY = 400;  // milliseconds without a change
const MOST_CHARACTERS = 2_000_000;  // of a document
const READING = "Reading.";
const READ_ELSEWHERE = /\.(pdf|x?html?)$/i;  // by the server, as the terminal does

async function openAsk() {
  ask.isOpen = !ask.isOpen;
  redraw();
  if (!ask.isOpen) return;
  await loadChoices();
  root.querySelector(".ask textarea")?.focus();
}

// A file that is dropped beside the form would be opened in place of the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => ask.isOpen && event.preventDefault());

async function loadChoices() {
  try {
    ask.choices = await app.host.ask.choices();
    ask.problem = "";
  } catch (error) {
    ask.problem = error.message;
  }
  redraw();
}

/** The request that the form holds, as the tool start_debate takes it. */
function readAsk(form) {
  const read = (name) => form.elements[name]?.value.trim() ?? "";
  const list = (text, by) => text.split(by).map((part) => part.trim()).filter(Boolean);
  const checked = [...form.querySelectorAll("input[name=model]:checked")].map((box) => box.value);
  const limits = {};
  for (const name of ["max_cost_usd", "max_calls"]) if (read(name)) limits[name] = Number(read(name));
  const debaters = list(read("sides"), "\n").map((line, index) => {
    const [name, ...stance] = line.split(":");
    const own = index === 0 && form.elements.mine?.checked ? { model: "human" } : {};
    return { name: name.trim(), stance: stance.join(":").trim(), ...own };
  });
  const options = { effort: read("effort"), my_answer: read("my_answer"), limits, tags: list(read("tags"), ",") };
  return {
    question: read("question"),
    format: read("format"),
    models: [...checked, ...list(read("others"), ",")],
    documents: ask.documents,
    debaters,
    options,
    run: true,
  };
}

function revise(form) {
  const number = ++ask.number;
  ask.forecast = null;
  ask.problem = "";
  ask.format = form.elements.format?.value ?? "";
  clearTimeout(ask.timer);
  ask.timer = setTimeout(() => estimateAsk(form, number), ESTIMATE_DELAY);
  redraw();
}

async function estimateAsk(form, number) {
  const request = readAsk(form);
  if (!request.question || number !== ask.number) return;
  try {
    const found = await app.host.ask.estimate(request);
    if (number === ask.number) ask.forecast = found;
  } catch (error) {
    if (number === ask.number) ask.problem = error.message;
  }
  redraw();
}

async function sendAsk(event) {
  event.preventDefault();
  if (ask.isBusy || !ask.forecast) return;
  ask.isBusy = true;
  redraw();
  try {
    app.open(await app.host.ask.start(readAsk(event.target)));
  } catch (error) {
    ask.problem = error.message;
    ask.isBusy = false;
    redraw();
  }
}

async function takeFiles(files, form) {
  ask.fileLine = READING;
  redraw();
  const problems = [];
  for (const file of files) {
    try {
      ask.documents = [...ask.documents, { title: file.name, text: await readFile(file) }];
    } catch (error) {
      problems.push(error.message);
    }
  }
  ask.fileLine = problems.join(" ");
  revise(form);
}

async function readFile(file) {
  const name = plain(file.name);
  let text = await file.text().catch(() => {
    throw new Error(`${name} cannot be read. If it is a folder, choose the files in it.`);
  });
  if (READ_ELSEWHERE.test(name) || text.startsWith("%PDF-")) text = await app.host.ask.read(file);
  if (/[\u0000\ufffd]/.test(text)) throw new Error(`${name} is neither plain text (UTF-8) nor a PDF. Save it as one of these, and choose that.`);
  if (text.length > MOST_CHARACTERS) throw new Error(`${name} is too long: 2,000,000 characters are allowed. Keep only the part that matters.`);
  if (!text.trim()) throw new Error(`${name} is empty.`);
  return text;
}

function Ask({ app }) {
  const { choices } = ask;
  const format = choices?.formats.find((row) => row.name === (ask.format || choices.format));
  const drop = (event) => {
    event.preventDefault();
    takeFiles([...event.dataTransfer.files], event.currentTarget);
  };
  return html`<section class="card ask" aria-label="A new question">
    ${!choices && html`<p role="status">${ask.problem || "Looking for models."}</p>`}
    ${choices && html`<form onSubmit=${sendAsk} onInput=${(event) => revise(event.currentTarget)}
      onDrop=${drop}>
      <label>Question<textarea name="question" rows="3" required dir="auto"></textarea></label>
      <${AskModels} choices=${choices} />
      <div class="fields">
        <label>Format<select name="format">
          ${choices.formats.map((row) => html`<option value=${row.name} selected=${row.name === format.name}>${humanize(row.name)}</option>`)}
        </select></label>
        <label>Effort<select name="effort">
          ${choices.efforts.map((name) => html`<option value=${name} selected=${name === choices.effort}>${name}</option>`)}
        </select></label>
      </div>
      <p class="aside">${humanize(format.name)}: ${format.hint}.</p>
      ${format.has_sides && html`<${AskSides} />`}
      <${AskDocuments} />
      <details><summary>Your own answer, limits, tags</summary>
        <label>Your own answer, to have it checked<textarea name="my_answer" rows="3" dir="auto"></textarea></label>
        <div class="fields">
          <label>Spend at most, in dollars<input name="max_cost_usd" type="number" min="0.000001" step="any" /></label>
          <label>Make at most so many calls<input name="max_calls" type="number" min="1" step="1" /></label>
          <label>Tags, separated by commas<input name="tags" /></label>
        </div>
      </details>
      <p class="estimate" role="status">${ask.problem ? html`<span class="failed">${plain(ask.problem)}</span>` : ask.forecast ? plain(ask.forecast.line) : "The estimate appears here. Nothing is asked before you start."}</p>
      <div class="buttons"><button type="submit" disabled=${ask.isBusy || !ask.forecast}>Start</button></div>
    </form>`}
    ${choices?.keys.length > 0 && html`<${AskKeys} keys=${choices.keys} />`}
  </section>`;
}

const AskModels = ({ choices }) => html`<fieldset><legend>Models</legend>
  ${!choices.usual.length && html`<p class="aside">No model is set up yet: ${choices.keys.length > 0 && "store a key below, or "}choose one.</p>`}
  <div class="options">${choices.models.map((name) => html`<label key=${name} class="option">
    <input type="checkbox" name="model" value=${name} defaultChecked=${choices.usual.includes(name)} /> ${name === "human" ? "you (the page asks you)" : plain(name)}
  </label>`)}</div>
  <label>Other models, separated by commas<input name="others" placeholder="provider/model" /></label>
</fieldset>`;

const AskSides = () => html`<fieldset><legend>Sides</legend>
  <label>Sides, one a line (name: what it defends). Leave it empty, and a model names them<textarea name="sides" rows="3" dir="auto"></textarea></label>
  <label class="option"><input type="checkbox" name="mine" /> I speak for the first of them</label>
</fieldset>`;

function AskDocuments() {
  const remove = (index) => (event) => {
    ask.documents = ask.documents.filter((_, place) => place !== index);
    revise(event.currentTarget.form);
  };
  const pick = (event) => {
    event.stopPropagation();
    takeFiles([...event.target.files], event.target.form);
    event.target.value = "";
  };
  return html`<fieldset class="drop"><legend>Documents</legend>
    <label>Texts, PDFs or web pages for every model to read: choose files, or drop them here<input type="file" multiple onInput=${pick} /></label>
    <ul>${ask.documents.map((document, index) => html`<li key=${index + document.title}>
      <${Words} text=${document.title} /> <small>${count(document.text.length, "character")}</small>
      <button type="button" onClick=${remove(index)} aria-label=${`Remove ${plain(document.title)}`}>Remove</button>
    </li>`)}</ul>
    <p role="status" class=${ask.fileLine === READING ? "aside" : "failed"}>${plain(ask.fileLine)}</p>
  </fieldset>`;
}

function AskKeys({ keys }) {
  const send = async (event) => {
    event.preventDefault();
    const form = event.target;
    try {
      ask.keyLine = await app.host.ask.storeKey(form.elements.provider.value, form.elements.key.value);
      form.reset();
      await loadChoices();
    } catch (error) {
      ask.keyLine = error.message;
    }
    redraw();
  };
  return html`<details open=${!ask.choices.usual.length}><summary>Keys of providers</summary>
    <form class="fields" onSubmit=${send}>
      <label>Provider<select name="provider">
        ${keys.map((row) => html`<option value=${row.provider}>${row.provider}${row.is_set ? " (has a key)" : ""}</option>`)}
      </select></label>
      <label>Key<input name="key" type="password" autocomplete="off" required /></label>
      <button type="submit">Store</button>
    </form>
    <p class="aside">Keys are stored on this machine, as counterpoint keys set does, and are never shown.</p>
    <p role="status">${plain(ask.keyLine)}</p>
  </details>`;
}
