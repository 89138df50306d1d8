// Signs recorded requests again with the signer of the AWS SDK. Reads a JSON list from stdin:
// [{"method", "host", "path", "headers": {name: value}, "signed": [name], "body", "date"}]; prints the list
// of signatures. Path and headers are what went over the wire; `date` is that of x-amz-date.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { SignatureV4 } from "@smithy/signature-v4";

class Sha256 {
  constructor(secret) {
    this.hash = secret ? createHmac("sha256", secret) : createHash("sha256");
  }
  update(data) {
    this.hash.update(data);
  }
  async digest() {
    return new Uint8Array(this.hash.digest());
  }
}

const env = process.env;
const credentials = { accessKeyId: env.ORACLE_ACCESS, secretAccessKey: env.ORACLE_SECRET };
const signer = new SignatureV4({ credentials, region: "us-east-1", service: "bedrock", sha256: Sha256, applyChecksum: false });
const signatures = [];
for (const request of JSON.parse(readFileSync(0))) {
  const headers = Object.fromEntries(request.signed.map((name) => [name, request.headers[name]]));
  const signed = await signer.sign(
    { method: request.method, protocol: "https:", hostname: request.host, path: request.path, query: {}, headers, body: request.body },
    { signingDate: new Date(request.date), signableHeaders: new Set(request.signed) },
  );
  signatures.push(signed.headers.authorization);
}
console.log(JSON.stringify(signatures));
