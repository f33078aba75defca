// Plays a whole debate through the TypeScript SDK and prints what it saw as one line of JSON.
// Usage: node client.mjs COMMAND [ARGUMENT...]   (the server to start; its environment is this one's)
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "node-client", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));

const call = async (name, input) => {
  const reports = [];
  const result = await client.callTool({ name, arguments: input }, undefined, {
    onprogress: ({ progress }) => reports.push(progress),
  });
  return { ...result, reports };
};
const { tools } = await client.listTools();
const started = await call("start_debate", { question: "Should penguins fly?" });
const debate_id = started.structuredContent.debate_id;
const rounds = [];
let step = started;
let reports = 0;
while (["ready", "running"].includes(step.structuredContent.status)) {
  step = await call("step_round", { debate_id });
  reports += step.reports.length;
  rounds.push(step.structuredContent.round);
}
const verdict = await call("get_verdict", { debate_id });
const read = await call("read_debate", { debate_id });
const { contents } = await client.readResource({ uri: `debate://${debate_id}/transcript` });
const { resources } = await client.listResources();
const found = await call("find_debates", { query: "penguins" });
const wrong = await call("step_round", { debate_id: "nobody" });
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name),
  rounds,
  reports,
  outcome: verdict.structuredContent.outcome,
  same: contents[0].text === read.content[0].text,
  resources: resources.map((resource) => resource.uri),
  found: found.structuredContent.debates.length,
  wrong: wrong.isError && wrong.content[0].text,
}));
await client.close();
