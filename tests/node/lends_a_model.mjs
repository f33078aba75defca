// Lends a model and answers forms through the TypeScript SDK, and prints what came of it as one line of JSON.
// Usage: node lends_a_model.mjs COMMAND [ARGUMENT...]   (the server to start; its environment is this one's)
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema, ElicitRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const capabilities = { sampling: {}, elicitation: {} };
const client = new Client({ name: "node-client", version: "1.0.0" }, { capabilities });
const asked = [];
let refused = false;
client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
  const prompt = params.messages.at(-1).content.text;
  asked.push({ system: params.systemPrompt.length > 0, tokens: params.maxTokens });
  if (!refused && prompt.includes("Your position: later")) {
    refused = true;
    throw new McpError(-1, "User rejected sampling request");
  }
  let text = "1. It holds, no source.";
  if (prompt.includes("Answer with JSON only")) {
    const names = [...prompt.matchAll(/"([^"]+)": percent/g)].map((found) => found[1]).sort();
    const beliefs = Object.fromEntries(names.map((name, index) => [name, index ? 10 : 100 - 10 * (names.length - 1)]));
    text = JSON.stringify({ verdict: "It holds.", reasoning: "So it is.", winner: names[0], margin: 2, beliefs });
  }
  return { role: "assistant", model: "ts-model", stopReason: "endTurn", content: { type: "text", text } };
});
let forms = 0;
client.setRequestHandler(ElicitRequestSchema, async () => {
  forms += 1;
  return { action: "accept", content: { text: `By a person, ${forms}.` } };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));

const call = async (name, input) => (await client.callTool({ name, arguments: input })).structuredContent;
const stances = { Ada: "now", Ben: "later", Cleo: "never" };
const debaters = Object.entries(stances).map(([name, stance]) => ({ name, stance, model: "client" }));
const options = { ballots: "none", quorum: 1, judges: { models: ["client"] } };
let step = await call("start_debate", { question: "When?", debaters, options, run: true });
const debate_id = step.debate_id;
const reason = step.reason;
if (step.status === "paused") await call("intervene", { debate_id, action: "resume" });
do step = await call("get_verdict", { debate_id }); while (["running", "waiting"].includes(step.status));
const mine = [{ ...debaters[0], model: "human" }, { ...debaters[1], model: "scripted" }];
const person = { question: "Who?", debaters: mine, run: true, options: { ballots: "none", judges: { models: ["scripted"] } } };
const second = await call("start_debate", person);
const { data } = await call("read_debate", { debate_id: second.debate_id, view: "events" });
console.log(JSON.stringify({
  reason,
  status: step.status,
  failures: step.failures.filter((line) => line.includes("refused")),
  cost: step.answer.cost,
  asked: asked.length,
  systems: asked.every((one) => one.system && one.tokens > 0),
  forms,
  person: second.status,
  written: data.events.filter((event) => event.text?.startsWith("By a person")).length,
}));
await client.close();
