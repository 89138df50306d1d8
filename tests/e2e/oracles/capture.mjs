// Makes each call of calls.json with each official SDK, as its documentation says to, and prints the name
// of each ("openai/plain") before it is made. Every request goes to the SDK's own address, through the
// proxy that $ORACLE_PROXY names. Keys and the like come from the environment, as the SDKs read them.
import { readFileSync } from "node:fs";
import OpenAI, { AzureOpenAI } from "openai";
import Anthropic from "@anthropic-ai/sdk";
import AnthropicBefore1 from "anthropic-before-1";
import { GoogleGenAI } from "@google/genai";
import { BedrockRuntimeClient, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { HttpsProxyAgent } from "https-proxy-agent";
import { ProxyAgent, setGlobalDispatcher } from "undici";

const proxy = process.env.ORACLE_PROXY;
const calls = JSON.parse(readFileSync(new URL("./calls.json", import.meta.url)));
const once = { maxRetries: 0 };
const NAME = "answer"; // of a schema: free to choose

const system = (call) => call.messages.find((m) => m.role === "system")?.content;
const turns = (call) => call.messages.filter((m) => m.role !== "system");
// Options that are left out where the call has none.
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

async function drain(stream) {
  for await (const _ of stream); // the answer does not matter here
}

function openaiFormat(call) {
  if (call.schema) return { type: "json_schema", json_schema: { name: NAME, schema: call.schema, strict: true } };
  return call.json ? { type: "json_object" } : undefined;
}

const chat = (client, model) => async (call) =>
  drain(
    await client.chat.completions.create({
      model,
      messages: call.messages,
      max_completion_tokens: call.max_tokens,
      stream: true,
      stream_options: { include_usage: true },
      ...given({
        temperature: call.temperature,
        response_format: openaiFormat(call),
        reasoning_effort: call.effort,
      }),
    }),
  );

function responsesText(call) {
  if (call.schema) return { format: { type: "json_schema", name: NAME, schema: call.schema, strict: true } };
  return call.json ? { format: { type: "json_object" } } : undefined;
}

const responses = (client, model) => async (call) =>
  drain(
    await client.responses.create({
      model,
      input: turns(call),
      max_output_tokens: call.max_tokens,
      stream: true,
      store: false,
      ...given({
        instructions: system(call),
        temperature: call.temperature,
        text: responsesText(call),
        reasoning: call.effort && { effort: call.effort },
      }),
    }),
  );

function anthropicOutput(call) {
  const format = call.schema && { type: "json_schema", schema: call.schema };
  return format || call.effort ? given({ format, effort: call.effort }) : undefined;
}

// Prompt caching is asked for by marks on blocks: the system prompt, and of a conversation its first and its
// last turn.
const MARK = { cache_control: { type: "ephemeral" } };
const block = (text, marked) => [{ type: "text", text, ...(marked ? MARK : {}) }];

function anthropicTurns(call) {
  const all = turns(call);
  const last = all.length - 1;
  const marked = (at) => last > 0 && (at === 0 || at === last);
  return all.map((m, at) => ({ role: m.role, content: block(m.content, marked(at)) }));
}

const anthropic = (client, model, samples) => async (call) =>
  drain(
    await client.messages.create({
      model,
      max_tokens: call.max_tokens,
      messages: anthropicTurns(call),
      stream: true,
      ...given({
        system: system(call) && block(system(call), true),
        temperature: samples ? call.temperature : undefined,
        output_config: anthropicOutput(call),
      }),
    }),
  );

const BUDGETS = { low: 1024, medium: 8192, high: 24576 }; // as Google maps OpenAI's words for it
const budget = (effort) => ({ thinkingBudget: BUDGETS[effort] });
const level = (effort) => ({ thinkingLevel: effort.toUpperCase() });

const gemini = (client, model, thinking) => async (call) =>
  drain(
    await client.models.generateContentStream({
      model,
      contents: turns(call).map((m) => ({
        role: m.role === "assistant" ? "model" : "user",
        parts: [{ text: m.content }],
      })),
      config: given({
        systemInstruction: system(call) && { parts: [{ text: system(call) }] },
        temperature: call.temperature,
        maxOutputTokens: call.max_tokens,
        responseMimeType: call.json ? "application/json" : undefined,
        responseJsonSchema: call.schema,
        thinkingConfig: call.effort && thinking(call.effort),
      }),
    }),
  );

function bedrockOutput(call) {
  const structure = call.schema && { jsonSchema: { schema: JSON.stringify(call.schema), name: NAME } };
  const textFormat = structure && { type: "json_schema", structure };
  return textFormat || call.effort ? given({ textFormat, effort: call.effort }) : undefined;
}

const bedrock = (client, modelId) => async (call) => {
  const answer = await client.send(
    new ConverseStreamCommand({
      modelId,
      messages: turns(call).map((m) => ({ role: m.role, content: [{ text: m.content }] })),
      inferenceConfig: given({ maxTokens: call.max_tokens, temperature: call.temperature }),
      ...given({
        system: system(call) && [{ text: system(call) }],
        outputConfig: bedrockOutput(call),
      }),
    }),
  );
  await drain(answer.stream);
};

const bedrockClient = (options) =>
  new BedrockRuntimeClient({
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler({ httpsAgent: new HttpsProxyAgent(proxy) }),
    ...options,
  });

// Which client makes which calls. Anthropic and Bedrock have no JSON mode without a schema.
function clients() {
  const env = process.env;
  const azure = { endpoint: env.ORACLE_AZURE_ENDPOINT, apiVersion: env.ORACLE_AZURE_VERSION, ...once };
  const azureV1 = { baseURL: `${env.ORACLE_AZURE_ENDPOINT}/openai/v1/`, apiKey: env.ORACLE_KEY, ...once };
  const key = { apiKey: env.ORACLE_KEY, ...once };
  const all = Object.keys(calls);
  const noMode = all.filter((name) => name !== "json");
  const keys = { credentials: { accessKeyId: env.ORACLE_ACCESS, secretAccessKey: env.ORACLE_SECRET } };
  keys.credentials.sessionToken = env.ORACLE_SESSION;
  const claude = "anthropic.claude-3-5-sonnet-20241022-v2:0";
  return [
    ["openai", all, chat(new OpenAI(key), "gpt-4.1")],
    ["openai-responses", all, responses(new OpenAI(key), "gpt-4.1")],
    ["azure", all, chat(new AzureOpenAI({ apiKey: env.ORACLE_KEY, ...azure }), "my-deployment")],
    ["azure-token", ["plain"], chat(new AzureOpenAI({ azureADTokenProvider: async () => env.ORACLE_KEY, ...azure }), "my-deployment")],
    ["azure-v1", ["plain"], chat(new OpenAI(azureV1), "my-deployment")],
    ["anthropic", noMode, anthropic(new AnthropicBefore1(key), "claude-sonnet-4-5", true)],
    ["anthropic-2026", noMode, anthropic(new Anthropic(key), "claude-sonnet-4-5", false)],
    ["gemini", all, gemini(new GoogleGenAI({ apiKey: env.ORACLE_KEY }), "gemini-2.5-pro", budget)],
    ["gemini-3", ["effort"], gemini(new GoogleGenAI({ apiKey: env.ORACLE_KEY }), "gemini-3-pro-preview", level)],
    ["bedrock", noMode, bedrock(bedrockClient({ region: "us-east-1", ...keys }), claude)],
    ["bedrock-bearer", ["plain"], bedrock(bedrockClient({ region: "us-east-1", token: { token: env.ORACLE_KEY }, authSchemePreference: ["httpBearerAuth"] }), claude)],
  ];
}

setGlobalDispatcher(new ProxyAgent(proxy));
for (const [client, names, make] of clients())
  for (const name of names) {
    console.log(`${client}/${name}`);
    await make(calls[name]);
  }
