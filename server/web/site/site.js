// What the page of a site does beside drawing: it follows changes, sends presses and goes from page to page.
"use strict";
(() => {
  const path = location.pathname;
  const root = new URL(path.replace(/debates\/[^/]+$/, ""), location.origin);
  const debate = /debates\/([^/]+)$/.exec(path)?.[1] ?? "";
  const here = new URL(debate ? `debates/${debate}/` : "", root);

  const send = (path, type, body) =>
    ask(new URL(path, root), { method: "POST", headers: { "Content-Type": type }, body });
  const post = (path, content) => send(path, "application/json", JSON.stringify(content));

  async function ask(url, options = {}) {
    let response;
    try {
      response = await fetch(url, { ...options, cache: "no-store", referrerPolicy: "no-referrer" });
    } catch {
      throw new Error("The server does not answer. It may have ended: start counterpoint view again.");
    }
    if (response.status === 304) return { tag: response.headers.get("etag") };
    const data = await response.json().catch(() => ({}));
    if (!response.ok)
      throw new Error(
        data.error || `The server refused this (${response.status}). Open the address that counterpoint view printed.`,
      );
    return { data, tag: response.headers.get("etag") };
  }

  // ---- a debate: what is new in it ------------------------------------------------------------------------------
  let nextRound = 0;
  let note = "";
  const tags = new Map();  // of the last answers: with its family, and without
  let wasOpen = false;
  let isFamilyStale = false;
  const seen = new Set([debate]);  // debates that were told to have changed

  /** Whether a change may be one of a relative: a new fork is told as a debate that nobody has heard of. */
  function touchesFamily(ids) {
    const known = seen.size;
    for (const id of ids) seen.add(id);
    const { family } = counterpoint.position();
    return seen.size > known || ids.some((id) => family.includes(id));
  }

  async function refreshDebate() {
    const { seq, status } = counterpoint.position();
    const wantsFamily = isFamilyStale;
    const isOver = (s) => s === "concluded" || s === "truncated";
    wasOpen ||= !isOver(status);
    const since = (n) => new URL(`record?since=${n}${wantsFamily ? "&family=1" : ""}`, here);
    const tag = tags.get(wantsFamily);
    let found = await ask(since(seq), { headers: tag ? { "If-None-Match": tag } : {} });
    if (wantsFamily) isFamilyStale = false;
    if (!found.data) return;
    if (wasOpen && isOver(found.data.data.debates[0].status)) {
      // what was hidden until the end is shown now
      found = await ask(since(0));
      wasOpen = false;
    }
    ({ next_round: nextRound, note } = found.data);
    tags.clear();
    counterpoint.show(found.data.data, found.data.awaited);
    if (seq === counterpoint.position().seq) tags.set(wantsFamily, found.tag);
  }

  // ---- the list, as its address narrows it -------------------------------------------------------------------------
  const refreshList = async () => counterpoint.list((await ask(new URL(`list${location.search}`, root))).data.list.html);

  const tellState = () => (note ? counterpoint.live("lost", note) : counterpoint.live("connected", "live"));

  // ---- refreshing: one at a time, and once more if something changed meanwhile ------------------------------------
  let isBusy = false;
  let isStale = false;
  let trouble = "";

  async function refresh() {
    isStale = true;
    if (isBusy) return;
    isBusy = true;
    while (isStale) {
      isStale = false;
      try {
        await (debate ? refreshDebate() : refreshList());
        if (!trouble) tellState();
      } catch (error) {
        counterpoint.live("lost", error.message);
      }
      if (!debate) await new Promise((done) => setTimeout(done, 500));
    }
    isBusy = false;
  }

  function take(change) {
    if (change.words) {
      counterpoint.write(change.words);
      return;
    }
    trouble = change.trouble;
    if (trouble) counterpoint.live("lost", trouble);
    else {
      isFamilyStale ||= !change.debates || touchesFamily(change.debates);
      if (!debate || isFamilyStale || change.debates.includes(debate)) refresh();
      else tellState();
    }
  }

  // ---- one stream for all tabs: a browser opens six connections to a server ---------------------------------------
  const channel = new BroadcastChannel(root.pathname);
  channel.onmessage = ({ data }) => take(data);

  function tell(change) {
    channel.postMessage(change);
    take(change);
  }

  function follow() {
    const source = new EventSource(new URL("events", root));
    source.onmessage = ({ data }) => tell(JSON.parse(data));
    source.addEventListener("words", ({ data }) => tell({ words: JSON.parse(data) }));
    source.onerror = () =>
      tell({
        debates: [],
        trouble:
          source.readyState === EventSource.CLOSED
            ? "The server of this page has ended. Start counterpoint view again, and open the address that it prints."
            : "The server does not answer. This page connects again by itself.",
      });
    return new Promise(() => {});  // until the tab is closed: then another one follows
  }

  if (navigator.locks) navigator.locks.request(root.href, follow);
  else follow();
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) location.reload();
  });

  // ---- presses ----------------------------------------------------------------------------------------------------
  let last = { key: "", id: "" };  // the same press again, after a lost answer, has the same id

  async function act(action, given = {}) {
    const press = { action, text: given.text ?? "", to: given.to ?? "", round: action === "step" ? nextRound : 0 };
    const key = JSON.stringify([press, counterpoint.position().seq]);
    if (last.key !== key)
      last = {
        key,
        id: [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join(""),
      };
    const { data } = await post(`debates/${debate}/presses`, { ...press, request_id: last.id });
    last = { key: "", id: "" };
    refresh();
    return data.line;
  }

  const address = (id) => new URL(id ? `debates/${encodeURIComponent(id)}` : "", root).href;
  counterpoint.connect({
    actions: ["step", "pause", "note", "challenge", "conclude", "turn", "settle"],
    hasTheme: true,
    download: (id) => new URL(`debates/${encodeURIComponent(id)}/page.html`, root).href,
    ask: {
      choices: async () => (await ask(new URL("choices", root))).data,
      estimate: async (request) => (await post("estimate", request)).data,
      start: async (request) => (await post("debates", request)).data.debate_id,
      read: async (file) =>
        (await send(`documents?${new URLSearchParams({ name: file.name })}`, "application/octet-stream", file)).data.text,
      storeKey: async (provider, key) => (await post("keys", { provider, key })).data.line,
    },
    act,
    address,
    open: (id) => {
      location.href = address(id);
    },
  });
  refresh();
})();
