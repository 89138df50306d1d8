// The same as acp_sdk.py by the official TypeScript SDK (package @agentclientprotocol/sdk).
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const job = JSON.parse(readFileSync(0, "utf8"));
const [command, ...args] = job.command;
const { initialize, session } = acp.methods.agent;
const where = { cwd: job.cwd, mcpServers: [] };
const prompt = [{ type: "text", text: job.issue }];
const told = { updates: {}, asked: 0 };
let called, cancelled, mayWrite = false;
const firstCall = new Promise((resolve) => (called = resolve));
const isCancelled = new Promise((resolve) => (cancelled = resolve));

const editor = acp
  .client({ name: "test" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const kind = params.update.sessionUpdate;
    told.updates[kind] = (told.updates[kind] ?? 0) + 1;
    if (kind === "tool_call") called();
  })
  .onRequest(acp.methods.client.session.requestPermission, async ({ params }) => {
    if (!mayWrite) {
      await isCancelled;
      return { outcome: { outcome: "cancelled" } };
    }
    told.asked++;
    const allowed = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: allowed.optionId } };
  });

async function connected(talk) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const result = await editor.connectWith(stream, async (agent) => {
    await agent.request(initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
    return talk(agent);
  });
  child.stdin.end();
  return result;
}

const sessionId = await connected(async (agent) => {
  const { sessionId } = await agent.request(session.new, where);
  const working = agent.request(session.prompt, { sessionId, prompt });
  await firstCall;
  await agent.notify(session.cancel, { sessionId });
  cancelled();
  told.cancelled = (await working).stopReason;
  return sessionId;
});
mayWrite = true;
await connected(async (agent) => {
  const { sessions } = await agent.request(session.list, { cwd: job.cwd });
  told.listed = sessions.length === 1 && sessions[0].sessionId === sessionId;
  await agent.request(session.load, { sessionId, ...where });
  told.stop = (await agent.request(session.prompt, { sessionId, prompt })).stopReason;
});
console.log(JSON.stringify(told));
