// The vectors that Python made, in JavaScript: node tests/js/check.mjs MODULE VECTORS. Every difference is told; the last line counts.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const local = await import(pathToFileURL(process.argv[2]).href);
const vectors = JSON.parse(readFileSync(process.argv[3], "utf-8"));
const { hex, unhex } = local;
let [checks, faults] = [0, 0];

function same(found, expected, what) {
  checks += 1;
  if (String(found) === String(expected)) return;
  faults += 1;
  console.log(`${what}: ${found} instead of ${expected}`);
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

function sameBytes(bytes, told, what) {
  same("hex" in told ? hex(bytes) : sha256(bytes), told.hex ?? told.sha256, what);
}

/** Bytes that anybody can make from a name, and how many were read. */
function streamOf(name) {
  let [block, left, read] = [0n, Buffer.alloc(0), 0];
  const raw = (n) => {
    const parts = [left];
    for (let have = left.length; have < n; have += 32, block++) {
      const counter = Buffer.alloc(8);
      counter.writeBigUInt64LE(block);
      parts.push(createHash("sha256").update(name).update(counter).digest());
    }
    const all = Buffer.concat(parts);
    left = all.subarray(n);
    read += n;
    return new Uint8Array(all.subarray(0, n));
  };
  return { raw, read: () => read };
}

async function codeOfRefusal(act) {
  try {
    await act();
    return "nothing";
  } catch (error) {
    return error.code ?? error;
  }
}

// Hashes

for (const { kind, parts, word } of vectors.hashes.digest_word) same(await local.digestWord(kind, ...parts.map(unhex)), word, "digest");
for (const [text, key] of vectors.hashes.item_key) same(await local.itemKey(text), key, `item ${text}`);
for (const [word, mixed] of vectors.hashes.mix) same(local.mix(BigInt(word)), mixed, `mix ${word}`);
for (const [seed, item, size, found] of vectors.hashes.symbol) same(local.symbol(BigInt(seed), item, size), found, "symbol");
for (const [seed, key, size, found] of vectors.hashes.key_symbol) same(local.keySymbol(BigInt(seed), BigInt(key), size), found, "key symbol");

// Coins

for (const told of vectors.coins) {
  const what = `${told.call} ${told.given}`;
  if (told.call === "vector") {
    const stream = streamOf(told.stream);
    sameBytes(new local.Coins(stream.raw).vector(...told.given), told, what);
    same(stream.read(), told.read, `${what} read`);
  } else {
    let left = unhex(told.entropy);
    const coins = new local.Coins((n) => {
      const taken = left.subarray(0, n);
      left = left.subarray(n);
      return taken;
    });
    same(coins[told.call](...told.given), told.gives, what);
    same(left.length, told.left, `${what} left`);
  }
}

// Permanent answers

for (const told of vectors.memos) {
  const memo = new local.Memo(unhex(told.key), unhex(told.salt));
  const label = BigInt(told.label);
  same(await memo.seed(), told.seed, "memo seed");
  same(hex((await memo.answer(label, 100)).subarray(0, 100)), told.answer, "memo answer");
  same(hex((await memo.beyond(40)).subarray(0, 40)), told.beyond, "memo beyond");
  same(hex(await memo.mark(label)), told.mark, "memo mark");
}

// Payloads

for (const told of vectors.payloads) {
  const stream = streamOf(told.stream);
  const code = /count_mean|rappor|several/.test(told.protocol.name) ? BigInt(told.code) : Number(told.code);
  const sent = local.randomized(told.protocol, code, new local.Coins(stream.raw), BigInt(told.seed));
  sameBytes(sent, told, `${JSON.stringify(told.protocol)} ${told.code}`);
  same(stream.read(), told.read, `${told.protocol.name} read`);
}

// Specifications and reports

const specs = {};
for (const [name, told] of Object.entries(vectors.surveys)) {
  specs[name] = await local.readSpec(new TextEncoder().encode(told.document));
  same(hex(specs[name].digest), told.digest, `${name} digest`);
  same(specs[name].id, told.id, `${name} id`);
}
for (const document of vectors.refused) {
  same(await codeOfRefusal(() => local.readSpec(new TextEncoder().encode(document))), "bad_spec", `refused ${document.slice(0, 99)}`);
}
for (const told of vectors.reports) {
  const [spec, stream] = [specs[told.survey], streamOf(told.stream)];
  const [token, memo] = [unhex(told.token), new local.Memo(unhex(told.key), spec.digest)];
  const coins = new local.Coins(stream.raw);
  const sent = await local.made(spec, told.answer, { tells: told.tells, token, epoch: told.epoch, coins, memo });
  sameBytes(sent, told, `report ${told.survey} ${told.answer} ${told.tells}`);
  same(stream.read(), told.read, `report ${told.survey} read`);
  same(await local.codeOf(spec, told.answer), told.code, `code ${told.answer}`);
  same(await local.seedOf(spec, token), told.seed, "seed");
}
for (const wrong of ["perhaps", "", "\ud800", 3, null]) {
  same(await codeOfRefusal(() => local.codeOf(specs.direct, wrong)), "not_an_option", "no option");
}
for (const [wrong, code] of [["yes", "no_such_question"], [null, "no_such_question"], [{ smokes: "no", hops: "no" }, "no_such_question"], [{ town: "c" }, "unanswered"], [{ smokes: "x" }, "not_an_option"]]) {
  same(await codeOfRefusal(() => local.codeOf(specs.one_of_several, wrong)), code, `no answers ${JSON.stringify(wrong)}`);
}
same(client_text(specs.shuffled).includes("shuffler") && !client_text(specs.direct).includes("shuffler"), true, "the shuffler is told");
same(client_text(specs.all_of_several, "de").includes("- Rauchst du?"), true, "every question is read");
same(await codeOfRefusal(() => local.codeOf(specs.texts, "a\udfff")), "not_an_option", "half a character");

function client_text(spec, language) {
  return new local.Client(storageOf({})).consentText(spec, language);
}

// Lives: the ledger after each event is Python's, and is stored before any coin is flipped

function storageOf(entries) {
  const kept = new Map(Object.entries(entries));
  return { kept, get: async (name) => kept.get(name) ?? null, set: async (name, text) => void kept.set(name, text) };
}

for (const told of vectors.lives) {
  const [spec, stream, storage] = [specs[told.survey], streamOf(told.stream), storageOf({ "obverse device": told.key })];
  let [armed, day, atFlip] = [false, 0, ""];
  const name = `obverse survey ${hex(spec.digest)}`;
  const random = (n) => {
    atFlip = storage.kept.get(name);
    return armed ? stream.raw(n) : local.systemRandom(n);
  };
  const client = new local.Client(storage, { random, today: () => day });
  armed = true;
  for (const event of told.events) {
    const what = `life ${told.survey} ${event.do} ${event.day ?? ""}`;
    day = event.day;
    const report = () => client.report(spec, event.answer, { token: unhex(event.token), epoch: 1 });
    if (event.do !== "report") await client[event.do](spec);
    else if (event.refused) same(await codeOfRefusal(report), event.refused, what);
    else {
      sameBytes(await report(), event, what);
      same(JSON.parse(atFlip).reports, event.record.reports, `${what} stored before`);
    }
    const record = await client.record(spec);
    for (const [field, value] of Object.entries(event.record)) {
      const text = (held) => (field === "marks" ? JSON.stringify(Object.entries(held).sort()) : held);
      same(text(record[field]), text(value), `${what} ${field}`);
    }
  }
  same(stream.read(), told.read, `life ${told.survey} read`);
}

// What only a page meets

const fresh = storageOf({});
const client = new local.Client(fresh);
same((await client.record(specs.direct)).consent, "unasked", "consent is off by default");
same(fresh.kept.size, 0, "looking stores nothing");
same(await codeOfRefusal(() => client.report(specs.direct, "a", { token: new Uint8Array(32) })), "no_consent", "off by default");
await client.consent(specs.direct);
const at_once = await Promise.all([1, 2, 3, 4].map(() => codeOfRefusal(() => client.report(specs.direct, "a", { token: new Uint8Array(32) }))));
same(at_once.sort(), ["nothing", "nothing", "too_soon", "too_soon"], "calls at once are counted one after the other");
const soon = () => new Promise((done) => setTimeout(done, 1));
const shared = storageOf({});
const slow = { get: (name) => soon().then(() => shared.get(name)), set: (name, text) => soon().then(() => shared.set(name, text)) };
const both = [new local.Client(slow), new local.Client(slow)];
await Promise.all(both.map((one) => one.consent(specs.direct)));
const by_two = await Promise.all([0, 1, 0, 1].map((i) => codeOfRefusal(() => both[i].report(specs.direct, "a", { token: new Uint8Array(32) }))));
same(by_two.sort(), ["nothing", "nothing", "too_soon", "too_soon"], "two clients of one page are one device");
same(await codeOfRefusal(() => client.report(specs.direct, "a", { token: new Uint8Array(3) })), "bad_token", "short token");
same(await codeOfRefusal(() => client.report(specs.direct, "a", { token: new Uint8Array(32), epoch: 65536 })), "bad_epoch", "epoch");
same(/^[0-9a-f]{64}$/.test(fresh.kept.get("obverse device")), true, "the key is kept");
same(client.consentText(specs.direct, "de-AT").includes("Rauchst du?") && client.consentText(specs.direct).includes("I agree."), true, "texts");
fresh.kept.delete("obverse device");
same(await codeOfRefusal(() => client.consent(specs.direct)), "ledger_damaged", "a key that is gone");
for (const kept of ["", "{", "{}", "null", '{"consent":"given","reports":-1,"spent":"0","over":false,"day":0,"today":0,"marks":{}}']) {
  const damaged = new local.Client(storageOf({ "obverse device": "00".repeat(32), [`obverse survey ${hex(specs.direct.digest)}`]: kept }));
  same(await codeOfRefusal(() => damaged.report(specs.direct, "a", { token: new Uint8Array(32) })), "ledger_damaged", `damaged ${kept}`);
}
const failing = { get: async () => null, set: async () => { throw new Error("full"); } };
same(await codeOfRefusal(() => new local.Client(failing).consent(specs.direct)), "Error: full", "a store that is full");
const sources = [(n) => new Uint8Array(n), (n) => new Uint8Array(n / 2), () => { throw new Error(); }, (n) => Uint8Array.from({ length: n }, (_, i) => i)];
for (const random of sources) same(await codeOfRefusal(async () => new local.Client(fresh, { random })), "no_entropy", "a stuck source");
same(local.systemRandom(200_000).length, 200_000, "more than one call gives");
same(new Set(local.systemRandom(200_000).subarray(-5000)).size, 256, "to the end");

console.log(`${checks - faults} of ${checks} hold`);
process.exit(faults ? 1 : 0);
