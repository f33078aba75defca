// The chain of hashes, computed again in the reader's browser. As storage/canonical.py and storage/chain.py have it.
const TAG = "counterpoint/entry/1\n";
const utf8 = new TextEncoder();

/** Canonical JSON (RFC 8785): what JSON.stringify writes, with keys in the order of UTF-16. */
function encodeCanonical(value) {
  if (Array.isArray(value)) return "[" + value.map(encodeCanonical).join(",") + "]";
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const parts = Object.keys(value)
    .sort()
    .map((key) => JSON.stringify(key) + ":" + encodeCanonical(value[key]));
  return "{" + parts.join(",") + "}";
}

async function digest(...parts) {
  const bytes = parts.map((part) => (typeof part === "string" ? utf8.encode(part) : part));
  const whole = new Uint8Array(bytes.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of bytes) {
    whole.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
}

const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** The hash before each entry that was found to be right: newer entries alone are computed when they come. */
const rightAfter = new WeakMap();

/** {problem: "" or what is wrong, checked: entries whose hash was computed, hidden: those whose words are not here}. */
async function checkChain(debate) {
  const { entries, receipt } = debate;
  let previous = await digest(TAG, debate.debate_id);
  let checked = 0;
  for (const [index, entry] of entries.entries()) {
    if (entry.seq !== index + 1) return { problem: `entry ${index + 1} is missing` };
    if (entry.hidden) {
      if (!/^[0-9a-f]{64}$/.test(entry.hash)) return { problem: `entry ${entry.seq} was altered` };
      previous = fromHex(entry.hash);
      continue;
    }
    const before = toHex(previous);
    if (rightAfter.get(entry) === before) previous = fromHex(entry.hash);
    else {
      const { actor, at, body, seq } = entry;
      previous = await digest(TAG, previous, encodeCanonical({ actor, at, body, seq }));
      if (toHex(previous) !== entry.hash) return { problem: `entry ${entry.seq} was altered` };
      rightAfter.set(entry, before);
    }
    checked += 1;
  }
  const last = entries[entries.length - 1];
  if (receipt.entries === entries.length ? receipt.head !== last.hash : receipt.entries < entries.length)
    return { problem: "the end is not the one of the receipt" };
  return { problem: "", checked, hidden: entries.length - checked, missing: receipt.entries - entries.length };
}

/** What the receipt of the host comes to: {problem, key} of a signed one, null where there is none. */
async function checkReceipt(debate) {
  const envelope = debate.receipt.envelope;
  if (!envelope) return null;
  const wrong = { problem: "the signed receipt was altered, or is of another record" };
  try {
    const payload = fromBase64(envelope.payload);
    const statement = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
    const { name, digest: hashed } = statement.subject[0];
    const ended = debate.entries[statement.predicate.ended_seq - 1];
    if (name !== "debate:" + debate.debate_id || !ended || hashed.sha256 !== ended.hash) return wrong;
    const raw = fromBase64(statement.predicate.signer.public_key);
    const key = toHex(await digest(raw));
    if (envelope.signatures.length !== 1 || envelope.signatures[0].keyid !== key) return wrong;
    const kind = envelope.payloadType;
    const head = utf8.encode(`DSSEv1 ${utf8.encode(kind).length} ${kind} ${payload.length} `);
    const signed = new Uint8Array(head.length + payload.length);
    signed.set(head);
    signed.set(payload, head.length);
    const imported = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]).catch(() => null);
    if (!imported) return { problem: "", key, unchecked: true };
    const mark = fromBase64(envelope.signatures[0].sig);
    return (await crypto.subtle.verify("Ed25519", imported, mark, signed)) ? { problem: "", key } : wrong;
  } catch {
    return wrong;
  }
}

let fileChecked = null;

/** Whether the data of this file are those that it was written with. */
function checkFile() {
  const element = document.getElementById("counterpoint-data");
  fileChecked ??= digest(element.textContent).then((found) => toHex(found) === element.dataset.sha256);
  return fileChecked;
}

/** {state: "checking" | "intact" | "altered", words, detail} of a debate. `isFile`: its data stand in this document. */
async function checkDebate(debate, isFile) {
  if (!globalThis.crypto?.subtle)
    return { state: "checking", words: "not checked", detail: "This browser cannot check it here." };
  const found = await checkChain(debate).catch(() => ({ problem: "the record cannot be read" }));
  const receipt = found.problem ? null : await checkReceipt(debate);
  let problem = found.problem || receipt?.problem;
  if (!problem && isFile && !(await checkFile())) problem = "what is drawn beside the entries was altered";
  if (problem) return { state: "altered", words: "altered", detail: `Do not rely on this page: ${problem}.` };
  const parts = [`${found.checked} entries checked by your browser just now`];
  if (found.hidden) parts.push(`${found.hidden} without their words, which are hidden here`);
  if (found.missing) parts.push(`${found.missing} not shown yet`);
  const seal = !receipt
    ? "No receipt was signed."
    : `${receipt.unchecked ? "Said to be signed" : "Signed"} by the key ${receipt.key.slice(0, 16)}….`;
  return {
    state: "intact",
    words: "intact",
    detail: `${parts.join(", ")}. ${seal}`,
    head: debate.entries[debate.entries.length - 1].hash,
  };
}
