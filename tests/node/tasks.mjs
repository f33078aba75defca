// Runs debates as tasks through the TypeScript client of the extension, and prints what it saw as one line of JSON.
// Usage: node tasks.mjs COMMAND [ARGUMENT...]   (the server to start; its environment is this one's)
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { resultFromTaskOutcome, withTasks } from "@modelcontextprotocol/ext-tasks/client";

const META = "io.modelcontextprotocol/";
const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
const methods = [];
const forms = [];

createInterface({ input: server.stdout }).on("line", (line) => {
  const { id, result, error } = JSON.parse(line);
  waiting.get(id)?.(error ? { kind: "error", error } : { kind: "result", result });
});

/** Send what the extension's client asks for, with what the protocol wants in each request. */
function dispatch({ method, params }) {
  methods.push(method);
  const { [`${META}clientCapabilities`]: declared, ...given } = params?._meta ?? {};
  const meta = {
    ...given,
    [`${META}protocolVersion`]: "2026-07-28",
    [`${META}clientInfo`]: { name: "node-tasks", version: "1.0.0" },
    [`${META}clientCapabilities`]: { elicitation: {}, ...declared },
  };
  return new Promise((resolve) => {
    waiting.set(methods.length, resolve);
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: methods.length, method, params: { ...params, _meta: meta } })}\n`);
  });
}

const nothing = () => () => {};
const port = {
  endpointId: "counterpoint",
  taskCapabilities: { generation: "v2", capabilities: {} },
  invalidated: false,
  dispatch,
  onServerRequest: nothing,
  onNotification: nothing,
  onInvalidated: nothing,
};
const session = withTasks(port, {
  onInputRequest: async ({ params }) => {
    forms.push(params.message);
    return { action: "accept", content: { text: "Penguins fly under water." } };
  },
});
const start = (more) => session.callTool("start_debate", { question: "Should penguins fly?", run: true, options: { framing: false, ballots: "none" }, ...more });
const settle = async (execution) => resultFromTaskOutcome((await execution.settle()).outcome).structuredContent;

const run = await settle(await start({ format: "verdict" }));
const debaters = [
  { name: "Ada", stance: "yes", model: "human" },
  { name: "Ben", stance: "no", model: "scripted" },
];
const asked = await settle(await start({ debaters, max_rounds: 1 }));
const given_up = await start({ format: "verdict", again: true });
await given_up.cancel();
const [{ debate_id }] = (await session.callTool("find_debates", {}).then(settle)).debates;
const left = (await session.callTool("get_verdict", { debate_id }).then(settle)).status;

console.log(JSON.stringify({ run: run.status, asked: asked.status, forms, left, methods: [...new Set(methods)].sort() }));
server.kill();
process.exit(0);
