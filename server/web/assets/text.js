// Words of models and callers: always as text, never as markup, in a box of their own.
const html = htm.bind(preact.h);

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** A text without what would turn the reading direction of what stands around it. */
const plain = (text) => String(text ?? "").replace(CONTROLS, "");

/** Slices of a text by characters as Python counts them. */
function buildSlicer(text) {
  if (!/[\ud800-\udfff]/.test(text)) return { length: text.length, slice: (from, to) => text.slice(from, to) };
  const characters = Array.from(text);
  return { length: characters.length, slice: (from, to) => characters.slice(from, to).join("") };
}

/** A status or an outcome in the words that people read. */
const tellStanding = (value) => STANDINGS[value] ?? value;

const Words = ({ text, tag = "span", class: name = "" }) =>
  preact.h(tag, { dir: "auto", class: `words ${name}` }, plain(text));

const EMPHASIS = /(?<![A-Za-z0-9_*)\]}\/\\`])\*\*(?=[^\s*,;:.)\]}\/])((?:[^*\n]|\*(?!\*))+?)(?<=[^\s*,;([{\/])\*\*(?![A-Za-z0-9_*([{\/])|(?<![*\w])\*(?=[\p{L}\p{N}])([^*\n]+?)(?<=\S)\*(?![*\w])|`([^`\n]+)`/gu;

/** Words with the emphasis that a model wrote as Markdown. All of it stays text: there are no links and no HTML. */
function emphasize(text) {
  const parts = [];
  let at = 0;
  for (const { 0: whole, 1: strong, 2: slanted, 3: code, index } of text.matchAll(EMPHASIS)) {
    parts.push(text.slice(at, index), strong ? html`<strong>${strong}</strong>` : slanted ? html`<em>${slanted}</em>` : html`<code>${code}</code>`);
    at = index + whole.length;
  }
  return [...parts, text.slice(at)];
}

/** A heading of a plain text is a short line without an end of a sentence, first or after an empty line, with words below. */
const isPlainHeading = (lines, index) =>
  !lines[index - 1]?.trim() && Boolean(lines[index + 1]?.trim()) && /^\p{L}.{0,48}[\p{L}\p{N}:?)]$/u.test(lines[index]);

/** A text that was asked for as plain text, and may be simple Markdown: headings, lists and emphasis. */
const Prose = ({ text, tag = "span", class: name = "" }) =>
  preact.h(tag, { dir: "auto", class: `words ${name}` }, plain(text).split("\n").map((line, index, lines) => {
    const heading = /^#{1,6}\s+(.*?)[\s#]*$/.exec(line) ?? (isPlainHeading(lines, index) && ["", line]);
    const shown = heading ? html`<strong>${emphasize(heading[1])}</strong>` : emphasize(line.replace(/^(\s*)[*+-]\s+/, "$1• "));
    return [index ? "\n" : "", shown];
  }));

const MANY = 6;  // debaters, from which on their words are folded

/** Words that are folded to their beginning where there are many others; a link into them unfolds them. */
const Fold = ({ isFolded, text, children }) =>
  isFolded
    ? html`<details class="fold"><summary><${Words} text=${text.length > 140 ? `${text.slice(0, 140)}…` : text} /></summary>${children}</details>`
    : children;

/** A debater's colour and letter. */
const Badge = ({ debate, name }) => {
  const side = debate.side(name);
  return html`<span class="badge" data-side=${side < 0 ? "none" : side % 26} aria-hidden="true">${debate.letter(name)}</span>`;
};

/** The id of a point, as a link to where it stands. */
function PointLink({ debate, id, text }) {
  const point = debate.byId.get(id);
  if (!point) return html`<span>${plain(text || id)}</span>`;
  return html`<a class="ref" data-side=${debate.side(point.debater) % 26} href=${"#" + debate.address(point)}>${plain(text || id)}</a>`;
}

/** A text in which the ids of points are links to them. */
function linkIds(debate, text) {
  const shown = plain(text);
  const parts = [];
  let at = 0;
  for (const found of shown.matchAll(debate.ids)) {
    const [whole, relation, id] = found;
    if (!debate.byId.has(id)) continue;
    parts.push(shown.slice(at, found.index));
    if (relation) parts.push(html`<span class="relation">${relation}</span>`);
    parts.push(html`<${PointLink} debate=${debate} id=${id} />`);
    at = found.index + whole.length;
  }
  return [...parts, shown.slice(at)];
}

function readField(body, field) {
  return field.split(".").reduce((value, key) => value?.[key], body) ?? "";
}

/** A recorded text, or a part of it, with names in place of labels and its quotes marked. */
function Recorded({ debate, seq, field, start = 0, end = Infinity }) {
  const entry = debate.entries[seq - 1];
  const text = buildSlicer(String(readField(entry.body, field)));
  const marks = (debate.drawing.marks[seq]?.[field] || []).filter((mark) => mark[0] >= start && mark[1] <= end);
  return html`<span dir="auto" class="words">${drawMarks(debate, text, marks, start, Math.min(end, text.length))}</span>`;
}

function drawMarks(debate, text, marks, start, end) {
  const parts = [];
  let at = start;
  let flowing = "";  // words and names, in which ids of points are looked for together
  const flush = () => {
    if (flowing) parts.push(...linkIds(debate, flowing));
    flowing = "";
  };
  for (const mark of marks) {
    const [from, to, kind] = mark;
    if (from < at) continue;
    flowing += text.slice(at, from);
    if (kind === "name") flowing += mark[3];
    else {
      flush();
      const inner = marks.filter((one) => one[2] === "name" && one[0] >= from && one[1] <= to);
      parts.push(
        html`<span class=${"quote " + (mark[4] ? "held" : "lost")}>${drawMarks(debate, text, inner, from, to)}</span>`,
      );
      parts.push(html`<${QuoteTag} found=${mark[4]} document=${mark[3]} />`);
    }
    at = to;
  }
  flowing += text.slice(at, end);
  flush();
  return parts;
}

const QuoteTag = ({ found, document }) =>
  found
    ? html`<span class=${found === "checked" ? "tag good" : "tag"} title=${`Document ${document} holds these words`}>quote ${found}</span>`
    : html`<span class="tag bad" title=${`Document ${document} does not hold these words`}>not found in doc ${document}</span>`;

/** The words of a point without marks and links. */
const PlainText = ({ debate, point }) => {
  const text = buildSlicer(String(readField(debate.entries[point.seq - 1].body, point.field)));
  const names = (debate.drawing.marks[point.seq]?.[point.field] || []).filter(
    (mark) => mark[2] === "name" && mark[0] >= point.start && mark[1] <= point.end,
  );
  let shown = "";
  let at = point.start;
  for (const [from, to, , name] of names) {
    shown += text.slice(at, from) + name;
    at = to;
  }
  const cited = new RegExp(`^(?:${debate.ids.source}[\\s,;:]*)+(?=\\p{Lu})`, "u");  // what it cites stands below it
  return html`<${Words} text=${(shown + text.slice(at, point.end)).replace(cited, "").slice(0, 600)} />`;
};

/** A part of a recorded text, shortened to a few lines by its style. */
const PointText = ({ debate, point }) =>
  html`<${Recorded} debate=${debate} seq=${point.seq} field=${point.field} start=${point.start} end=${point.end} />`;
