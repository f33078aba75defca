// What the page knows of a debate, worked out from its recorded entries and from what is drawn upon them.
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const unique = (items) => [...new Set(items)];
const sum = (items, value) => items.reduce((total, item) => total + value(item), 0);
const groupBy = (items, key) => {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (groups.has(name)) groups.get(name).push(item);
    else groups.set(name, [item]);
  }
  return groups;
};

class Debate {
  constructor(data) {
    this.data = data;
    this.id = data.debate_id;
    this.drawing = data.drawing;
    this.status = data.status;
    this.positions = data.drawing.positions;
    this.names = this.positions.map((position) => position.name);
    this.entries = data.entries;
    this.shown = data.entries.filter((entry) => !entry.hidden);
    this.setup = data.entries[0].body;
    this.end = this.last("ended");
    this.conclusion = this.last("concluded");
    const { outcome = "", winner = "", votes = [] } = this.conclusion?.body || {};  // as recorded, and not as drawn
    this.report = { ...data.drawing.report, outcome, winner, winner_stance: this.stance(winner) };
    this.votes = votes;
    this.rounds = this.of("phase_entered").map((entry) => ({ ...entry.body, at: entry.at }));
    this.points = data.drawing.points;
    this.byId = new Map(this.points.map((point) => [point.id, point]));
    this.links = data.drawing.links;
    this.answers = groupBy(this.links, (link) => link.to);
    this.cites = groupBy(this.links, (link) => link.from);
    this.ids = compileIds(this.names);
    this.readings = this.latest("judged");
    this.ballots = this.of("balloted").filter((entry) => entry.body.wave !== "sample");
    this.phases = new Map((this.setup.phases || []).map((phase) => [phase.name, phase]));
  }

  of(kind) {
    return this.shown.filter((entry) => entry.body.kind === kind);
  }

  last(kind) {
    return this.of(kind).at(-1);
  }

  /** The last answer of each slot: a retraction has votes asked again. */
  latest(kind) {
    const slots = groupBy(this.of(kind), (entry) => `${entry.body.seat}\n${entry.body.slot_index}`);
    return [...slots.values()].map((entries) => entries.at(-1));
  }

  /** A name's place among the positions; -1 for judges, officers and nobody. */
  side(name) {
    return this.names.indexOf(name);
  }

  letter(name) {
    return LETTERS[this.side(name)] || "–";
  }

  stance(name) {
    return this.positions[this.side(name)]?.stance || "";
  }

  /** The fragment of a point's address. */
  address(point) {
    return `${this.letter(point.debater)}${point.round}.${point.number}`;
  }

  /** The entries of a round; those from before the first belong to it. */
  ofRound(number) {
    const starts = this.of("phase_entered").map((entry) => entry.seq);
    const from = number === 1 ? 0 : starts[number - 1];
    return this.entries.filter((entry) => entry.seq >= from && entry.seq < (starts[number] ?? Infinity));
  }

  /** Answers that this debate paid for itself. */
  get paid() {
    const taken = this.drawing.inherited;
    return this.entries.filter((entry) => entry.body.usage && entry.body.round > (taken ? taken : -1));
  }

  isRetracted({ seat, round, slot_index: slot }) {
    return this.drawing.retracted.some((one) => one[0] === seat && one[1] === round && one[2] === slot);
  }

  /** From its first entry to the last; to this moment where it runs and its news come here. */
  get seconds() {
    const own = this.entries.filter((entry) => !this.drawing.inherited || entry.body.round > this.drawing.inherited);
    const times = (own.length ? own : this.entries).map((entry) => Date.parse(entry.at));
    if (this.status === "running" && isFollowed()) times.push(Date.now());
    return (Math.max(...times) - Math.min(...times)) / 1000;
  }
}

/** The position that a ballot holds to be the likeliest; "" where that is none, or two are alike. */
function findChoice(ballot) {
  const shares = ballot.beliefs || [];
  const highest = shares
    .map((share) => share.share)
    .sort()
    .at(-1);
  const leaders = shares.filter((share) => share.share === highest);
  return leaders.length === 1 ? leaders[0].name : "";
}

/** A pattern that finds ids of points in a text, with what is said that they do: "[attacks Ada 2.1]". */
function compileIds(names) {
  if (!names.length) return /(?!)/g;
  const escaped = [...names]
    .sort((one, other) => other.length - one.length)
    .map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return new RegExp(
    `(?:\\[([a-z]{4,10}(?: by)? |))?(?<![\\p{L}\\p{N}])((?:${escaped.join("|")}) \\d{1,6}\\.\\d{1,6})(?![\\p{L}\\p{N}]|\\.\\d)\\]?`,
    "gu",
  );
}

// Figures as people read them ----------------------------------------------------------------------------------
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const humanize = (word) => String(word).replaceAll("_", " ");
const shortModel = (name) => String(name).split("/").at(-1);

function formatMoney(dollars) {
  const amount = Number(dollars);
  if (dollars === "" || !Number.isFinite(amount)) return "price unknown";
  if (amount === 0) return "$0";
  const figures = amount >= 1 ? amount.toFixed(2) : amount.toPrecision(3).replace(/e.*/, "");
  return "$" + figures.replace(/(\.\d\d\d*?)0+$/, "$1");
}

function formatSeconds(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

function formatTime(at) {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return String(at);
  const part = (options) => time.toLocaleString("en-GB", { timeZone: "UTC", ...options });
  return `${part({ day: "numeric", month: "long", year: "numeric" })}, ${part({ hour: "2-digit", minute: "2-digit" })} UTC`;
}
