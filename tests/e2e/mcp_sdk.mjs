// A client by the official TypeScript SDK (@modelcontextprotocol/sdk): a job as JSON on standard input, {"command" or
// "url" and "headers", "calls"}; on standard output what the server answered.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const job = JSON.parse(readFileSync(0, "utf-8"));
const [command, ...args] = job.command ?? [];
const transport = job.url
  ? new StreamableHTTPClientTransport(new URL(job.url), { requestInit: { headers: job.headers } })
  : new StdioClientTransport({ command, args, env: process.env });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const told = { tools: (await client.listTools()).tools.map((tool) => tool.name), calls: [] };
const [first, given] = Object.entries(job.calls)[0];
const stop = new AbortController();
const pending = client.callTool({ name: first, arguments: given }, undefined, { signal: stop.signal });
stop.abort();
told.cancelled = await pending.then(() => false, () => true);
for (const [name, given] of Object.entries(job.calls))
  told.calls.push((await client.callTool({ name, arguments: given })).structuredContent);
const { resources } = await client.listResources();
const source = resources.find((each) => each.name.endsWith(".py"));
told.name = source.name;
told.file = (await client.readResource({ uri: source.uri })).contents[0].text;
await client.close();
console.log(JSON.stringify(told));
