// Feeds the page in a host of MCP Apps: JSON-RPC over postMessage, with the host and nobody else (SEP-1865).
"use strict";
(() => {
  const POLL = { running: 1000, other: 3000, failed: 30000 };  // milliseconds from an answer to the next question
  const PATIENCE = 20000;  // milliseconds for an answer of the host
  const ACTIONS = ["step", "pause", "note", "challenge", "conclude"];
  const host = window.parent;

  let origin = "*";  // of the host, from its first answer on
  let number = 0;
  const pending = new Map();  // requests by id: {settle, fail}
  let context = {};
  let debateId = "";
  let question = "";  // of the call under way, until its debate is known
  let timer = 0;
  let isPolling = false;
  let isAskedAgain = false;
  let isSteering = false;
  let isOver = false;

  // Messages ------------------------------------------------------------------------------------------------------
  const post = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, origin === "null" ? "*" : origin);
  const notify = (method, params = {}) => post({ method, params });

  function request(method, params) {
    const id = ++number;
    return new Promise((resolve, reject) => {
      const clock = setTimeout(() => answer({ id, error: { message: "The host does not answer." } }), PATIENCE);
      pending.set(id, { resolve, reject, clock });
      post({ id, method, params });
    });
  }

  function answer({ id, result, error }) {
    const asked = pending.get(id);
    if (!asked) return;  // a second answer, or one to nobody
    pending.delete(id);
    clearTimeout(asked.clock);
    if (error) asked.reject(new Error(error.message || "The host refuses."));
    else asked.resolve(result ?? {});
  }

  window.addEventListener("message", ({ source, origin: from, data }) => {
    if (source !== host || (origin !== "*" && from !== origin)) return;
    if (data?.jsonrpc !== "2.0") return;
    if (typeof data.method === "string") receive(data);
    else if (pending.has(data.id)) {
      origin = from;
      answer(data);
    }
  });

  function receive({ id, method, params }) {
    const handle = Object.hasOwn(HANDLERS, method) ? HANDLERS[method] : null;
    handle?.(params ?? {});
    if (id === undefined || id === null) return;
    post(handle ? { id, result: {} } : { id, error: { code: -32601, message: "Method not found" } });
  }

  const HANDLERS = {
    "ping": () => {},
    "ui/notifications/tool-input": ({ arguments: given }) => {
      follow(given?.debate_id);
      seek(given?.question);
    },
    "ui/notifications/tool-result": takeResult,
    "ui/notifications/tool-cancelled": () => {
      question = "";
      if (!debateId) counterpoint.live("lost", "The call was cancelled.");
    },
    "ui/notifications/host-context-changed": takeContext,
    "ui/resource-teardown": () => {
      isOver = true;
      clearTimeout(timer);
    },
  };

  // The look of the host ------------------------------------------------------------------------------------------
  const darkRules = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule instanceof CSSMediaRule && rule.conditionText.includes("prefers-color-scheme: dark"));

  function takeContext(changed) {
    context = { ...context, ...changed };
    const { theme, displayMode, safeAreaInsets: insets } = context;
    if (theme === "dark" || theme === "light") {
      for (const rule of darkRules) rule.media.mediaText = theme === "dark" ? "all" : "not all";
      document.documentElement.style.colorScheme = theme;
    }
    if (typeof displayMode === "string") document.documentElement.dataset.display = displayMode;
    const font = context.styles?.variables?.["--font-sans"];
    if (typeof font === "string") document.documentElement.style.setProperty("--sans", font);
    if (insets)
      document.body.style.padding = ["top", "right", "bottom", "left"]
        .map((side) => `${Number(insets[side]) || 0}px`)
        .join(" ");
  }

  let size = "";
  function tellSize() {
    const { width } = document.documentElement.getBoundingClientRect();
    const height = document.getElementById("page").getBoundingClientRect().height;
    const now = { width: Math.ceil(width), height: Math.max(Math.ceil(height), 1) };
    if (size === (size = JSON.stringify(now))) return;
    notify("ui/notifications/size-changed", now);
  }

  // The debate ----------------------------------------------------------------------------------------------------
  async function call(name, given) {
    const result = await request("tools/call", { name, arguments: given });
    if (result.isError)
      throw new Error(result.content?.find((part) => part.type === "text")?.text || "The server refuses.");
    return result.structuredContent || {};
  }

  function takeResult(result) {
    const found = result?.structuredContent;
    question = "";
    if (found?.debate_id) follow(found.debate_id);
    else if (!debateId) counterpoint.live("lost", result?.content?.find((part) => part.type === "text")?.text || "");
  }

  function follow(id) {
    if (typeof id !== "string" || !id) return;
    debateId = id;
    poll();
  }

  /** Before the first result there is no id: the debate is found by what was asked. */
  function seek(asked) {
    if (debateId || typeof asked !== "string" || !asked.trim()) return;
    question = asked;
    poll();
  }

  async function poll() {
    clearTimeout(timer);
    isAskedAgain = isPolling;
    if (isPolling || isOver || document.hidden || !(debateId || question)) return;
    isPolling = true;
    let wait = POLL.other;
    try {
      if (!debateId && !(await find())) throw new Error("not there yet");
      const status = await update();
      if (!isSteering) counterpoint.connect({ actions: ACTIONS, act, open: follow });  // the host lets us call tools
      isSteering = true;
      counterpoint.live("connected", "live");
      if (status === "concluded" || status === "truncated") {
        counterpoint.live("", "");
        wait = 0;
      } else if (status === "running") wait = POLL.running;
    } catch (error) {
      if (debateId) counterpoint.live("lost", error.message);
      wait = debateId ? POLL.failed : POLL.running;
    }
    isPolling = false;
    if (isAskedAgain) wait = 1;  // what was done meanwhile may be missing
    if (wait && !isOver) timer = setTimeout(poll, wait);
  }

  /** Whether the debate of the call under way is there. */
  async function find() {
    const found = await call("watch_debate", { question });
    if (question && !debateId) debateId = found.debate_id || "";
    return debateId;
  }

  /** Show what is new of the debate. Returns its status. */
  async function update() {
    const id = debateId;
    const shown = counterpoint.position();
    const entries = [];
    let from = shown.debate_id === id ? shown.seq : 0;
    let found;
    let debate;
    do {
      found = await call("watch_debate", { debate_id: id, since_seq: from + entries.length });
      [debate] = found.debates;
      if (debate && !entries.length) from = debate.since_seq;
      entries.push(...(debate?.entries || []));
    } while (found.more && debate?.entries.length);
    const isNew = entries.length || from === 0 || debate?.status !== shown.status;
    if (debate && isNew && id === debateId && !isOver)
      counterpoint.show({ ...found, debates: [{ ...debate, entries, since_seq: from }] });
    return found.status;
  }

  // Buttons -------------------------------------------------------------------------------------------------------
  async function act(action, { text = "", to = "" } = {}) {
    const about = { debate_id: debateId };
    const found =
      action === "step"
        ? await call("step_round", { ...about, wait_seconds: 0 })
        : await call("intervene", { ...about, action: action === "note" ? "inject" : action, text, to, request_id: nonce() });
    poll();
    return found.effect || found.reason || "";
  }

  const nonce = () =>
    [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  // Begin ---------------------------------------------------------------------------------------------------------
  async function begin() {
    const answered = await request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "counterpoint", version: "1" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    takeContext(answered.hostContext || {});
    notify("ui/notifications/initialized");
    new ResizeObserver(tellSize).observe(document.getElementById("page"));
    document.addEventListener("visibilitychange", poll);
  }

  if (host !== window) begin().catch((error) => counterpoint.live("lost", error.message));
})();
