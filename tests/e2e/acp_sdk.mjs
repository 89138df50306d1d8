// The same as acp_sdk.py by the official TypeScript SDK (package @agentclientprotocol/sdk).
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const job = JSON.parse(readFileSync(0, "utf8"));
const [command, ...args] = job.command;
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const updates = {};
let asked = 0;

const editor = acp
  .client({ name: "test" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const kind = params.update.sessionUpdate;
    updates[kind] = (updates[kind] ?? 0) + 1;
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    asked++;
    const allowed = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: allowed.optionId } };
  });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const stop = await editor.connectWith(stream, async (agent) => {
  await agent.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: job.cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: job.issue }];
  return (await agent.request(acp.methods.agent.session.prompt, { sessionId, prompt })).stopReason;
});
child.stdin.end();
console.log(JSON.stringify({ stop, updates, asked }));
