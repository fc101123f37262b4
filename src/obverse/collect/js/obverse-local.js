/**
 * Obverse on a person's own device: answers are randomized here, before anything is sent. One module without dependencies, for
 * browsers (secure contexts) and Node 18 and later. The same bytes of randomness give the same reports as in Python.
 *
 *   const spec = await readSpec(bytes);               // the document of `obverse collect spec NAME`, unchanged
 *   const client = new Client(storage);               // storage.get(name), storage.set(name, text); they may return promises
 *   show(client.consentText(spec, "de"));             // then, only after a yes:
 *   await client.consent(spec);                       // or client.decline(spec); client.withdraw(spec) later
 *   const report = await client.report(spec, "yes", { token });   // bytes for the collector, along with the token
 */

const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

const BITS = 53;
const ONE = 2 ** BITS;
const WORD = (1n << 64n) - 1n;
const [STEP, FIRST, SECOND] = [0x9e3779b97f4a7c15n, 0xbf58476d1ce4e5b9n, 0x94d049bb133111ebn];
const AT_ONCE = 65536; // bytes that getRandomValues gives in one call
const [VERSION, ID_BYTES, KEY_BYTES, TOKEN_BYTES, EPOCH_MAX] = [1, 8, 32, 32, 65535];
const [TEST_BYTES, TEST_VALUES] = [64, 8];
const DAY_MS = 86_400_000;
const FIRST_DAY = 719_163; // of 1970; days count from the year 1, as in Python

/** Something that cannot be done; nothing was sent. `code` is stable. */
export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.name = "Refused";
    this.code = code;
  }
}

function ensure(holds, code, message) {
  if (!holds) throw new Refused(code, message);
}

// Bytes

const utf8 = (text) => new TextEncoder().encode(text);

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function unhex(text) {
  ensure(typeof text === "string" && /^([0-9a-f]{2})*$/i.test(text), "bad_hex", "this is not hexadecimal.");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function joined(...parts) {
  const found = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    found.set(part, place);
    place += part.length;
  }
  return found;
}

/** A number as bytes, least significant first. */
function packed(number, length) {
  let left = BigInt(number);
  return Uint8Array.from({ length }, () => {
    const byte = Number(left & 255n);
    left >>= 8n;
    return byte;
  });
}

function unpacked(bytes) {
  return bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

/** How many bytes hold every number below `values`. */
function bytesFor(values) {
  return Math.max(1, Math.ceil((BigInt(values) - 1n).toString(2).length / 8));
}

const led = (part) => joined(packed(part.length, 8), part);

async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

async function hmac(key, bytes) {
  const held = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", held, bytes));
}

// Hashes, as in hashing.py

export async function digestWord(kind, ...parts) {
  const hashed = await sha256(joined(utf8(`obverse ${kind}\0`), ...parts.map(led)));
  return unpacked(hashed.subarray(0, 8));
}

export const itemKey = (text) => digestWord("item", utf8(text.normalize("NFC")));

export function mix(word) {
  word = (word + STEP) & WORD;
  word = ((word ^ (word >> 30n)) * FIRST) & WORD;
  word = ((word ^ (word >> 27n)) * SECOND) & WORD;
  return word ^ (word >> 31n);
}

export function symbol(seed, item, symbols) {
  const factor = mix(seed);
  return Number(((((factor * BigInt(item) + mix(factor)) & WORD) >> 32n) * BigInt(symbols)) >> 32n);
}

export function keySymbol(seed, key, symbols) {
  return Number(((mix(mix(seed) ^ key) >> 32n) * BigInt(symbols)) >> 32n);
}

// Coins, as in coins.py: how much is read never depends on the answer

/** Fresh bytes of the system. */
export function systemRandom(n) {
  const found = new Uint8Array(n);
  for (let start = 0; start < n; start += AT_ONCE) crypto.getRandomValues(found.subarray(start, start + AT_ONCE));
  return found;
}

/** A device's coins, from a source of uniform bytes: raw(n) gives n of them. */
export class Coins {
  constructor(raw) {
    this.raw = (n) => {
      const bytes = raw(n);
      ensure(bytes.length === n, "no_entropy", "the source of randomness gives too little.");
      return bytes;
    };
  }

  /** 53 uniform bits: the low ones of 7 bytes, least significant first. */
  number() {
    const bytes = this.raw(7);
    let found = bytes[6] & 31;
    for (let place = 5; place >= 0; place--) found = found * 256 + bytes[place];
    return found;
  }

  /** 1 with probability odds / 2**53, else 0. */
  flip(odds) {
    return Number(this.number() < odds);
  }

  /** Exactly uniform on 0 .. bound - 1: numbers from the largest multiple of the bound on are drawn again. */
  below(bound) {
    const limit = ONE - (ONE % bound);
    for (;;) {
      const drawn = this.number();
      if (drawn < limit) return drawn % bound;
    }
  }

  /** `size` coins as packed bits, each set with probability odds / 2**53; one plane of fair coins for each bit of the odds. */
  vector(odds, size) {
    const length = Math.ceil(size / 8);
    const lowest = trailing(odds);
    const planes = this.raw(planeBytes(odds, size));
    const found = new Uint8Array(length);
    for (let place = lowest; place < BITS; place++) {
      const start = (place - lowest) * length;
      const set = Math.floor(odds / 2 ** place) % 2;
      for (let i = 0; i < length; i++) found[i] = set ? found[i] | planes[start + i] : found[i] & planes[start + i];
    }
    if (size % 8) found[length - 1] &= (1 << size % 8) - 1;
    return found;
  }
}

function trailing(odds) {
  let place = 0;
  while (odds % 2 === 0) {
    odds /= 2;
    place += 1;
  }
  return place;
}

const planeBytes = (odds, size) => Math.ceil(size / 8) * (BITS - trailing(odds));

/** Bits that are 1 come from `high`, others from `low`. */
const chosenBits = (held, high, low) => held.map((byte, i) => (low[i] & ~byte) | (high[i] & byte));

function oddParity(number) {
  for (let shift = 16; shift; shift >>= 1) number ^= number >>> shift;
  return number & 1;
}

// Protocols, as in protocols/*.py: `report` of fresh coins alone, or `permanent` and `instant` for those of permanent answers

const whole = (number, low, high) => Number.isSafeInteger(number) && low <= number && number <= high;
const isOdds = (odds) => whole(odds, 1, ONE - 1);
const ratio = (odds) => odds / (ONE - odds);

/** How much rather a bit is sent as 1 than as 0 that was 1 with these odds, of a second round with `high` for a 1 and `low` for a 0. */
function oddsAfter(odds, high, low) {
  return (odds * high + (ONE - odds) * low) / (odds * (ONE - high) + (ONE - odds) * (ONE - low));
}

const direct = {
  coded: "index",
  fields: ["size", "truth"],
  sound: (p) => whole(p.size, 2, 2 ** 20) && isOdds(p.truth) && BigInt(p.truth) * BigInt(p.size) >= BigInt(ONE),
  length: (p) => bytesFor(p.size),
  loss: (p) => Math.log(ratio(p.truth) * (p.size - 1)),
  sent(p, code, coins) {
    const truth = coins.flip(p.truth);
    const other = coins.below(p.size - 1);
    return code * truth + (other + Number(other >= code)) * (1 - truth);
  },
  report: (p, code, coins) => packed(direct.sent(p, code, coins), direct.length(p)),
};

const unary = {
  coded: "index",
  fields: ["size", "own", "other"],
  sound: (p) => whole(p.size, 2, 2 ** 16) && isOdds(p.own) && isOdds(p.other) && p.other < p.own,
  length: (p) => Math.ceil(p.size / 8),
  loss: (p) => Math.log(ratio(p.own) / ratio(p.other)),
  report(p, code, coins) {
    const found = coins.vector(p.other, p.size);
    const own = coins.flip(p.own);
    found[code >> 3] = (found[code >> 3] & ~(1 << (code & 7))) | (own << (code & 7));
    return found;
  },
};

const localHash = {
  coded: "index",
  fields: ["size", "answer"],
  sound: (p) => whole(p.size, 2, 2 ** 24) && isDirect(p.answer) && p.answer.size <= 256,
  length: () => 9,
  loss: (p) => direct.loss(p.answer),
  report(p, code, coins, seed) {
    return joined(packed(seed, 8), direct.report(p.answer, symbol(seed, code, p.answer.size), coins));
  },
};

const pooledHash = {
  coded: "index",
  fields: ["size", "pool", "answer"],
  sound: (p) => whole(p.size, 2, 2 ** 32) && whole(p.pool, 2, 2 ** 24) && isDirect(p.answer),
  length: (p) => bytesFor(p.pool * p.answer.size),
  loss: (p) => direct.loss(p.answer),
  report(p, code, coins, seed) {
    const number = seed % BigInt(p.pool);
    const sent = direct.sent(p.answer, symbol(number, code, p.answer.size), coins);
    return packed(Number(number) * p.answer.size + sent, pooledHash.length(p));
  },
};

const hadamard = {
  coded: "index",
  fields: ["size", "blocks", "odds"],
  sound: (p) => whole(p.size, 2, 2 ** 24) && whole(p.blocks, 1, 2 * p.size) && !(p.blocks & (p.blocks - 1)) && isOdds(p.odds),
  block: (p) => 2 ** Math.ceil(p.size / p.blocks).toString(2).length,
  length: (p) => bytesFor(p.blocks * hadamard.block(p)),
  loss: (p) => Math.log1p(2 * p.blocks * ratio(p.odds)),
  report(p, code, coins) {
    const size = hadamard.block(p);
    const agreeing = coins.flip(p.odds);
    const word = coins.below(p.blocks * size);
    const column = (code % (size - 1)) + 1;
    const drawn = word % size;
    const inside = drawn ^ ((column & -column) * oddParity(drawn & column)); // words that disagree turn to those that agree
    const own = Math.floor(code / (size - 1)) * size + inside;
    return packed(own * agreeing + word * (1 - agreeing), hadamard.length(p));
  },
};

const subset = {
  coded: "index",
  fields: ["size", "chosen", "inside"],
  sound: (p) =>
    whole(p.size, 2, 4096) && whole(p.chosen, 1, p.size - 1) && isOdds(p.inside) &&
    BigInt(p.inside) * BigInt(p.size) > BigInt(ONE) * BigInt(p.chosen),
  length: (p) => Math.ceil(p.size / 8),
  loss: (p) => Math.log((ratio(p.inside) * (p.size - p.chosen)) / p.chosen),
  report(p, code, coins) {
    const inside = coins.flip(p.inside);
    const others = Array.from({ length: p.size - 1 }, (_, i) => i + Number(i >= code));
    for (let place = 0; place < p.chosen; place++) {
      const drawn = place + coins.below(p.size - 1 - place);
      [others[place], others[drawn]] = [others[drawn], others[place]];
    }
    const last = p.chosen - 1;
    others[last] = code * inside + others[last] * (1 - inside);
    const found = new Uint8Array(subset.length(p));
    for (const item of others.slice(0, p.chosen)) found[item >> 3] |= 1 << (item & 7);
    return found;
  },
};

const projective = {
  coded: "index",
  fields: ["size", "field", "dims", "odds"],
  sound: (p) =>
    whole(p.size, 2, 2 ** 20) && whole(p.field, 2, 2 ** 10) && isPrime(p.field) && whole(p.dims, 2, 25) &&
    p.field ** p.dims <= 2 ** 25 && p.size <= points(p.field, p.dims) && isOdds(p.odds),
  length: (p) => bytesFor(points(p.field, p.dims)),
  loss: (p) => Math.log1p((ratio(p.odds) * points(p.field, p.dims)) / points(p.field, p.dims - 1)),
  report(p, code, coins) {
    const agreeing = coins.flip(p.odds);
    const inside = coins.below(points(p.field, p.dims - 1));
    const word = coins.below(points(p.field, p.dims));
    return packed(projective.agreeing(p, code, inside) * agreeing + word * (1 - agreeing), projective.length(p));
  },
  /** The points that agree with an item, by their number; see projective.py. */
  agreeing({ field, dims }, code, inside) {
    const own = digits(code, field, dims);
    const found = digits(inside, field, dims).slice(0, -1);
    const place = own.findLastIndex(Boolean);
    const product = own.slice(0, place).reduce((sum, digit, i) => sum + digit * found[i], 0);
    found.splice(place, 0, (field - (product % field)) % field);
    const first = found.findLastIndex(Boolean);
    const factor = inverse(found[first], field);
    const number = found.reduce((sum, digit, i) => sum + ((digit * factor) % field) * field ** i, 0);
    return number - field ** first + (field ** first - 1) / (field - 1);
  },
};

const points = (field, dims) => (field ** dims - 1) / (field - 1);
const isPrime = (number) => Array.from({ length: number - 2 }, (_, i) => i + 2).every((factor) => number % factor);
const inverse = (number, field) => Array.from({ length: field }, (_, i) => i).find((i) => (i * number) % field === 1);

/** Coordinates of a point, the last one first. */
function digits(point, field, dims) {
  let tail = 0;
  while (point >= field ** tail) {
    point -= field ** tail;
    tail += 1;
  }
  const number = field ** tail + point;
  return Array.from({ length: dims }, (_, place) => Math.floor(number / field ** place) % field);
}

const countMean = {
  coded: "key",
  fields: ["rows", "columns", "kept"],
  sound: (p) => whole(p.rows, 1, 2 ** 20) && whole(p.columns, 2, 2 ** 16) && isOdds(p.kept) && p.kept > ONE / 2,
  length: (p) => bytesFor(p.rows) + Math.ceil(p.columns / 8),
  loss: (p) => 2 * Math.log(ratio(p.kept)),
  report(p, code, coins, seed) {
    const row = seed % BigInt(p.rows);
    const bits = coins.vector(ONE - p.kept, p.columns);
    const column = keySymbol(row, code, p.columns);
    bits[column >> 3] ^= 1 << (column & 7);
    return joined(packed(row, bytesFor(p.rows)), bits);
  },
};

const hadamardCountMean = {
  coded: "key",
  fields: ["rows", "columns", "kept"],
  sound: (p) =>
    whole(p.rows, 1, 2 ** 20) && whole(p.columns, 2, 2 ** 20) && !(p.columns & (p.columns - 1)) && isOdds(p.kept) && p.kept > ONE / 2,
  length: (p) => bytesFor(2 * p.rows * p.columns),
  loss: (p) => Math.log(ratio(p.kept)),
  report(p, code, coins, seed) {
    const cell = Number(seed % BigInt(p.rows * p.columns));
    const column = keySymbol(BigInt(Math.floor(cell / p.columns)), code, p.columns);
    const bit = oddParity((cell % p.columns) & column) ^ (1 - coins.flip(p.kept));
    return packed(2 * cell + bit, hadamardCountMean.length(p));
  },
};

const rappor = {
  coded: "key",
  fields: ["bits", "hashes", "cohorts", "flip", "low", "high"],
  sound: (p) =>
    whole(p.bits, 2, 4096) && whole(p.hashes, 1, Math.min(8, p.bits)) && whole(p.cohorts, 1, 2 ** 16) &&
    isOdds(p.flip) && p.flip < ONE / 2 && isOdds(p.low) && isOdds(p.high) && p.low < p.high,
  length: (p) => bytesFor(p.cohorts) + Math.ceil(p.bits / 8),
  loss: (p) => p.hashes * Math.log(oddsAfter(ONE - p.flip, p.high, p.low) / oddsAfter(p.flip, p.high, p.low)),
  lasting: (p) => 2 * p.hashes * -Math.log(ratio(p.flip)),
  label: (p, code) => code,
  permanentBytes: (p) => planeBytes(p.flip, p.bits),
  permanent(p, code, coins, seed) {
    const cohort = seed % BigInt(p.cohorts);
    const flipped = coins.vector(p.flip, p.bits);
    const bloom = new Uint8Array(flipped.length);
    for (let i = 0n; i < BigInt(p.hashes); i++) {
      const bit = keySymbol(cohort * BigInt(p.hashes) + i, code, p.bits);
      bloom[bit >> 3] |= 1 << (bit & 7);
    }
    return flipped.map((byte, i) => byte ^ bloom[i]);
  },
  instant(p, permanent, coins, seed) {
    const low = coins.vector(p.low, p.bits);
    const high = coins.vector(p.high, p.bits);
    return joined(packed(seed % BigInt(p.cohorts), bytesFor(p.cohorts)), chosenBits(permanent, high, low));
  },
};

const loloha = {
  coded: "index",
  fields: ["size", "pool", "first", "second"],
  sound: (p) =>
    whole(p.size, 2, 2 ** 32) && whole(p.pool, 2, 2 ** 24) && isDirect(p.first) && isDirect(p.second) &&
    p.first.size === p.second.size && p.first.size <= 256,
  length: (p) => bytesFor(p.pool * p.first.size),
  loss(p) {
    const others = p.first.size - 1;
    const [own, again, err, change] = [p.first.truth, p.second.truth, ONE - p.first.truth, ONE - p.second.truth].map((n) => n / ONE);
    const kept = own * again + (err * change) / others;
    const lost = own * change + err * (again + (change * (others - 1)) / others);
    return Math.log((kept * others) / lost);
  },
  lasting: (p) => direct.loss(p.first),
  label: (p, code, seed) => BigInt(symbol(seed % BigInt(p.pool), code, p.first.size)),
  permanentBytes: () => 14,
  permanent: (p, code, coins, seed) => direct.sent(p.first, Number(loloha.label(p, code, seed)), coins),
  instant(p, permanent, coins, seed) {
    const sent = direct.sent(p.second, permanent, coins);
    return packed(Number(seed % BigInt(p.pool)) * p.first.size + sent, loloha.length(p));
  },
};

const memoisedUnary = {
  coded: "index",
  fields: ["first", "high", "low"],
  sound: (p) => isProtocol(p.first, "unary") && isOdds(p.low) && isOdds(p.high) && p.low < p.high,
  size: (p) => p.first.size,
  length: (p) => unary.length(p.first),
  loss: (p) => Math.log(oddsAfter(p.first.own, p.high, p.low) / oddsAfter(p.first.other, p.high, p.low)),
  lasting: (p) => unary.loss(p.first),
  label: (p, code) => BigInt(code),
  permanentBytes: (p) => planeBytes(p.first.other, p.first.size) + 7,
  permanent: (p, code, coins) => unary.report(p.first, code, coins),
  instant(p, permanent, coins) {
    const low = coins.vector(p.low, p.first.size);
    const high = coins.vector(p.high, p.first.size);
    return chosenBits(permanent, high, low);
  },
};

// Several questions, as in several.py: all answers are one code, the first question's counting least

const several = {
  coded: "index",
  fields: ["parts"],
  sound: (p) =>
    Array.isArray(p.parts) && whole(p.parts.length, 1, 255) && p.parts.every((part) => isProtocol(part) && fitsWithin(part)) &&
    p.parts.reduce((size, part) => size * BigInt(part.size), 1n) <= WORD + 1n,
  /** Each question's answer and seed. */
  within(p, code, seed) {
    let left = code;
    return p.parts.map((part, place) => {
      const answer = Number(left % BigInt(part.size));
      left /= BigInt(part.size);
      return [part, answer, mix(seed ^ BigInt(place))];
    });
  },
};

const fitsWithin = ({ name }) => PROTOCOLS[name].coded === "index" && !PROTOCOLS[name].lasting && !PROTOCOLS[name].within;
const lengthOf = (part) => PROTOCOLS[part.name].length(part);
const lossOf = (part) => PROTOCOLS[part.name].loss(part);
const reportOf = (part, code, coins, seed) => PROTOCOLS[part.name].report(part, code, coins, seed);

const oneOfSeveral = {
  ...several,
  length: (p) => 1 + Math.max(...p.parts.map(lengthOf)),
  loss: (p) => Math.max(...p.parts.map(lossOf)),
  report(p, code, coins, seed) {
    const place = Number(((seed >> 32n) * BigInt(p.parts.length)) >> 32n);
    const [part, answer, own] = several.within(p, code, seed)[place];
    const found = new Uint8Array(oneOfSeveral.length(p));
    found.set([place]);
    found.set(reportOf(part, answer, coins, own), 1);
    return found;
  },
};

const allOfSeveral = {
  ...several,
  length: (p) => p.parts.reduce((sum, part) => sum + lengthOf(part), 0),
  loss: (p) => p.parts.reduce((sum, part) => sum + lossOf(part), 0),
  report: (p, code, coins, seed) => joined(...several.within(p, code, seed).map(([part, answer, own]) => reportOf(part, answer, coins, own))),
};

const PROTOCOLS = {
  direct, unary, local_hash: localHash, pooled_hash: pooledHash, hadamard, subset, projective,
  count_mean: countMean, hadamard_count_mean: hadamardCountMean, rappor, loloha, memoised_unary: memoisedUnary,
  one_of_several: oneOfSeveral, all_of_several: allOfSeveral,
};
const SPLITS = { one: "one_of_several", budget: "all_of_several" };

function isProtocol(told, name) {
  const kind = Object.hasOwn(PROTOCOLS, told?.name) ? PROTOCOLS[told.name] : undefined;
  if (!kind || (name && told.name !== name)) return false;
  return sameTexts(Object.keys(told).sort(), ["name", ...kind.fields].sort()) && kind.sound(told);
}

/** A payload of fresh coins alone, without any memory: what Python's protocol.report gives. */
export function randomized(protocol, code, coins, seed) {
  ensure(isProtocol(protocol), "bad_spec", "this is not the specification of a protocol.");
  const kind = PROTOCOLS[protocol.name];
  if (!kind.lasting) return kind.report(protocol, code, coins, seed);
  return kind.instant(protocol, kind.permanent(protocol, code, coins, seed), coins, seed);
}

const isDirect = (told) => isProtocol(told, "direct");
const sameTexts = (one, two) => one.length === two.length && one.every((text, i) => text === two[i]);

// Exact fractions, as they are written in a specification: 3/2

export function fraction(text) {
  const parts = /^(-?\d+)(?:\/([1-9]\d*))?$/.exec(text);
  ensure(parts, "bad_spec", "this is not a fraction.");
  return [BigInt(parts[1]), BigInt(parts[2] ?? 1)];
}

const plus = ([a, b], [c, d]) => lowest(a * d + c * b, b * d);
const minus = (one, [c, d]) => plus(one, [-c, d]);
const exceeds = ([a, b], [c, d]) => a * d > c * b;
const written = ([a, b]) => (b === 1n ? `${a}` : `${a}/${b}`);

function lowest(a, b) {
  let [x, y] = [a < 0n ? -a : a, b];
  while (y) [x, y] = [y, x % y];
  return [a / x, b / x];
}

/** The nearest double, near enough for a check. */
function about([a, b]) {
  return Number((a << 60n) / b) / 2 ** 60;
}

// The specification

/** Canonical JSON: sorted keys, no blanks. */
function canonical(told) {
  if (Array.isArray(told)) return `[${told.map(canonical).join(",")}]`;
  if (told === null || typeof told !== "object") return JSON.stringify(told);
  const keys = Object.keys(told).sort(byCodePoint);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(told[key])}`).join(",")}}`;
}

function byCodePoint(one, two) {
  const [a, b] = [Array.from(one), Array.from(two)];
  const place = a.findIndex((sign, i) => sign !== b[i]);
  if (place < 0) return a.length - b.length;
  return place < b.length ? a[place].codePointAt(0) - b[place].codePointAt(0) : 1;
}

/** The specification of a survey from its document; its id is the hash of these bytes, so they are taken as they are. */
export async function readSpec(bytes) {
  let told;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    told = JSON.parse(text);
    ensure(text === text.normalize("NFC") && text === canonical(told) && sound(told), "bad_spec", "");
  } catch {
    throw new Refused("bad_spec", "this is not a survey's specification, or one that this version does not know.");
  }
  const digest = await sha256(joined(utf8("obverse survey\0"), bytes));
  const kind = PROTOCOLS[told.protocol.name];
  const parts = partsOf(told);
  return Object.freeze({ told, digest, id: hex(digest.subarray(0, ID_BYTES)), kind, protocol: told.protocol, parts });
}

/** Of several questions, what each asks and how it is randomized; none where there is one. */
function partsOf({ questions = [], protocol }) {
  return questions.map((told, place) => ({ told, protocol: protocol.parts[place], kind: PROTOCOLS[protocol.parts[place].name] }));
}

const areTexts = (held) => held && Object.keys(held).length && Object.values(held).every((text) => typeof text === "string");

const LINE = /^[^\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u;

/** Whether what is shown beside figures is of one line each, without signs that move others about. */
function oneLined(told) {
  const asked = [told, ...(told.questions ?? [])];
  const shown = asked.flatMap((one) => [one.name, ...Object.values(one.question), ...(one.options ?? []), ...Object.values(one.labels ?? {}).flatMap(Object.values)]);
  return [...shown, ...Object.values(told.purpose)].every((text) => LINE.test(text));
}

/** Whether one question is sound, and has as many items as its protocol. */
function answerable({ told, protocol, kind }) {
  const options = told.options ?? [];
  const size = kind.size ? kind.size(protocol) : protocol.size;
  return (
    typeof told.name === "string" && areTexts(told.question) &&
    Array.isArray(options) && options.every((option) => typeof option === "string") &&
    new Set(options).size === options.length &&
    ((told.none ?? null) === null || options.includes(told.none)) &&
    !("numbers" in told) &&
    (kind.coded === "key" || size === options.length)
  );
}

/** Whether questions are several, each with its part of the protocol, or there is one. */
function asksSoundly(told, kind) {
  if (!("questions" in told)) return !kind.within && !("split" in told) && answerable({ told, kind, protocol: told.protocol });
  const { questions, protocol, split } = told;
  return (
    SPLITS[split] === protocol.name && !("options" in told) && !("numbers" in told) &&
    Array.isArray(questions) && questions.length === protocol.parts.length &&
    typeof told.name === "string" && areTexts(told.question) &&
    new Set(questions.map((one) => one.name)).size === questions.length &&
    partsOf(told).every(answerable)
  );
}

/** Whether a device could go by it. Every epsilon is computed from the integers, and may not be above what is written. */
function sound(told) {
  if (told.version !== VERSION || !isProtocol(told.protocol)) return false;
  const kind = PROTOCOLS[told.protocol.name];
  const atLeast = (text, least) => about(fraction(text)) >= least * (1 - 1e-9) - 1e-12;
  return (
    ["reports", "per_day", "people", "minimum", "retention_days"].every((limit) => whole(told[limit], 1, ONE - 1)) &&
    [told.purpose, told.card].every(areTexts) &&
    areTexts(told.consent) &&
    oneLined(told) &&
    asksSoundly(told, kind) &&
    (!("shuffler" in told) || /^[0-9a-f]{64}$/.test(told.shuffler.key)) &&
    exceeds(fraction(told.epsilon.lifetime), [0n, 1n]) &&
    atLeast(told.epsilon.report, kind.loss(told.protocol)) &&
    (kind.lasting ? atLeast(told.epsilon.permanent, kind.lasting(told.protocol)) : !("permanent" in told.epsilon))
  );
}

/** What stands for an answer in the protocol: a place in the list, or a key of 64 bits; for answers to several questions, one code. */
export async function codeOf(spec, answer) {
  if (spec.parts?.length) return joinedCode(spec.parts, await Promise.all(answersOf(spec, answer).map((one, place) => codeOf(spec.parts[place], one))));
  ensure(typeof answer === "string" && answer && !/\p{Surrogate}/u.test(answer), "not_an_option", "the answer is a text.");
  const text = answer.normalize("NFC");
  const options = spec.told.options ?? [];
  const place = options.indexOf(text);
  ensure(place >= 0 || !options.length, "not_an_option", "this is not one of the survey's options.");
  const key = await itemKey(text);
  return spec.kind.coded === "index" ? place : key;
}

/** The answers to several questions, in their order; the option for no answer stands for one that is not given. */
function answersOf({ parts }, given) {
  const names = parts.map(({ told }) => told.name);
  const known = given !== null && typeof given === "object" && Object.keys(given).every((name) => names.includes(name));
  ensure(known, "no_such_question", "answers are given by the names of the questions.");
  const found = parts.map(({ told }) => (Object.hasOwn(given, told.name) ? given[told.name] : null) ?? told.none ?? null);
  ensure(found.every((answer) => answer !== null), "unanswered", "every question takes an answer.");
  return found;
}

const joinedCode = (parts, codes) => parts.reduceRight((code, { protocol }, place) => code * BigInt(protocol.size) + BigInt(codes[place]), 0n);

/** The seed of the report that this token is for: nobody chooses it. */
export const seedOf = (spec, token) => digestWord("seed", spec.digest, token);

// Permanent answers, as in memo.py

/** A device's permanent coins for one question, from its key. */
export class Memo {
  constructor(key, salt) {
    this.key = key;
    this.salt = salt;
  }

  /** The first bytes for one permanent answer. */
  answer = (label, length) => this.#stream(length, "answer", packed(label, 8));
  /** The first bytes for the permanent answer that tells of no answer. */
  beyond = (length) => this.#stream(length, "beyond", new Uint8Array(0));
  mark = (label) => this.#under("mark", packed(label, 8));
  seed = async () => unpacked((await this.#under("seed", new Uint8Array(0))).subarray(0, 8));

  #under(purpose, part) {
    return hmac(this.key, joined(utf8("obverse memo\0"), led(this.salt), led(utf8(purpose)), led(part)));
  }

  async #stream(length, ...parts) {
    const key = await this.#under(...parts);
    const blocks = [];
    for (let block = 0; block * 32 < length; block++) blocks.push(await hmac(key, packed(block, 8)));
    return joined(...blocks);
  }
}

/** Coins of bytes that are there already. */
export function coinsOf(bytes) {
  let place = 0;
  return new Coins((n) => {
    ensure(place + n <= bytes.length, "no_entropy", "more coins were needed than there are.");
    place += n;
    return bytes.subarray(place - n, place);
  });
}

// Reports

const SPARE = 7 * 64; // bytes for uniform items that may be drawn again

/**
 * The report, framed. Both kinds are prepared alike and are of one length: one of the answer, or, where `tells` is false, one
 * that no answer moves: of the option for no answer, else of a uniform item.
 */
export async function made(spec, answer, { tells = true, token, epoch, coins, memo }) {
  ensure(whole(epoch, 0, EPOCH_MAX), "bad_epoch", "an epoch has two bytes.");
  const { kind, protocol } = spec;
  const own = await codeOf(spec, answer);
  let payload;
  if (kind.lasting) {
    const [seed, length] = [await memo.seed(), kind.permanentBytes(protocol) + SPARE];
    const ours = coinsOf(await memo.answer(kind.label(protocol, own, seed), length));
    const spare = coinsOf(await memo.beyond(length));
    const other = await anyItem(spec, spare);
    const permanent = [kind.permanent(protocol, other, spare, seed), kind.permanent(protocol, own, ours, seed)];
    payload = kind.instant(protocol, permanent[Number(tells)], coins, seed);
  } else {
    const codes = [await anyItem(spec, coins), own];
    payload = kind.report(protocol, codes[Number(tells)], coins, await seedOf(spec, token));
  }
  return joined(spec.digest.subarray(0, ID_BYTES), packed(epoch, 2), payload);
}

async function anyItem(spec, coins) {
  if (spec.parts?.length) {
    const codes = [];
    for (const part of spec.parts) codes.push(await anyItem(part, coins));
    return joinedCode(spec.parts, codes);
  }
  const { none, options = [] } = spec.told;
  if ((none ?? null) !== null) return codeOf(spec, none);
  if (options.length) return codeOf(spec, options[coins.below(options.length)]);
  return unpacked(coins.raw(8));
}

// The device's own ledger, as in client.py

const FRESH = { consent: "unasked", reports: 0, spent: "0", over: false, day: 0, today: 0, marks: {} };
const CONSENTS = ["unasked", "given", "declined", "withdrawn"];

/** What is to be stored before a report leaves, and whether the report is one of the answer; or a refusal. */
export function nextStep(spec, record, mark, today) {
  const { told } = spec;
  ensure(record.consent === "given", "no_consent", "nobody has agreed to answer, so nothing is made.");
  ensure(record.reports < told.reports, "schedule_over", "all reports were sent.");
  const before = today <= record.day ? record.today : 0;
  ensure(before < told.per_day, "too_soon", "all reports of this day were sent.");
  const counted = { ...record, reports: record.reports + 1, day: Math.max(today, record.day), today: before + 1 };
  const [spent, marks] = charged(spec, record, mark);
  if (record.over || exceeds(spent, fraction(told.epsilon.lifetime))) return { record: { ...counted, over: true }, tells: false };
  return { record: { ...counted, spent: written(spent), marks }, tells: true };
}

function charged(spec, { spent, marks }, mark) {
  const [before, each] = [fraction(spent), fraction(spec.told.epsilon.report)];
  if (!spec.kind.lasting) return [plus(before, each), marks];
  const all = fraction(spec.told.epsilon.permanent);
  const one = exceeds(each, all) ? all : each;
  if (!Object.hasOwn(marks, mark)) return [plus(before, one), { ...marks, [mark]: false }];
  return [marks[mark] ? before : plus(before, minus(all, one)), { ...marks, [mark]: true }];
}

/** Without marks. All that they may ever lose is paid now, or, where the lifetime does not allow that, they are used no more. */
function forgotten(spec, record) {
  let { spent } = record;
  for (const [mark, again] of Object.entries(record.marks)) {
    if (!again) spent = written(charged(spec, { ...record, spent }, mark)[0]);
  }
  const over = exceeds(fraction(spent), fraction(spec.told.epsilon.lifetime));
  return { ...record, marks: {}, ...(over ? { over } : { spent }) };
}

let last = Promise.resolve(); // what every client of this page waits for: two of them may have one storage

/** A device: its key and, for each survey, consent, counts and what was spent, in the storage of the page. */
export class Client {
  #storage;
  #raw;
  #today;

  constructor(storage, { random = systemRandom, today = utcDay } = {}) {
    checkSource(random);
    this.#storage = storage;
    this.#raw = random;
    this.#today = today;
  }

  /** What a person reads before `consent` is called. */
  consentText({ told, id }, language = "und") {
    const said = (texts) => [language, language.split("-")[0], "und", "en"].map((one) => texts[one]).find(Boolean) ?? Object.values(texts)[0];
    const [each, most] = [told.epsilon.report, told.epsilon.lifetime].map((text) => Math.ceil(about(fraction(text)) * 1e4) / 1e4);
    const limits = `epsilon ${each} / ${most}; ${told.per_day} / ${told.reports}; ${told.retention_days} d`; // what this client goes by
    return `${said(told.card)}\n[${id}: ${limits}]\n\n${said(told.consent)}`;
  }

  consent = (spec) => this.#alone(spec, (record) => ({ ...record, consent: "given" }));
  decline = (spec) => this.#alone(spec, (record) => ({ ...forgotten(spec, record), consent: "declined" }));
  /** Stops, and erases what was remembered of answers; the key and what was spent stay. */
  withdraw = (spec) => this.#alone(spec, (record) => ({ ...forgotten(spec, record), consent: "withdrawn" }));

  /** What is remembered of a survey, for the device's owner. */
  record = async (spec) => parsed(await this.#storage.get(nameOf(spec)));

  /** One report, counted and paid for in the storage before it is made. */
  async report(spec, answer, { token, epoch = 0 }) {
    ensure(token?.length === TOKEN_BYTES, "bad_token", "a token has 32 bytes.");
    ensure(whole(epoch, 0, EPOCH_MAX), "bad_epoch", "an epoch has two bytes.");
    const code = await codeOf(spec, answer);
    let step;
    let memo;
    await this.#alone(spec, async (record, key) => {
      memo = new Memo(key, spec.digest);
      const mark = spec.kind.lasting && hex(await memo.mark(spec.kind.label(spec.protocol, code, await memo.seed())));
      step = nextStep(spec, record, mark, this.#today());
      return step.record;
    });
    return made(spec, answer, { tells: step.tells, token, epoch, coins: new Coins(this.#raw), memo });
  }

  /** Changes a record, one change after the other, of all clients of a page, and among all tabs where the browser can. */
  #alone(spec, change) {
    const act = async () => {
      const kept = await this.#storage.get(nameOf(spec));
      const [record, key] = [parsed(kept), await this.#key(kept)];
      await this.#storage.set(nameOf(spec), JSON.stringify(await change(record, key)));
    };
    const locks = globalThis.navigator?.locks;
    const done = last.then(() => (locks ? locks.request("obverse", act) : act()));
    last = done.catch(() => {});
    return done;
  }

  /** The device's key; made when there is none, and nothing that was made under one. */
  async #key(kept) {
    const known = await this.#storage.get(DEVICE);
    ensure(known ? /^[0-9a-f]{64}$/.test(known) : !kept, "ledger_damaged", "the device's key is gone, so nothing is sent.");
    if (known) return unhex(known);
    const key = this.#raw(KEY_BYTES);
    await this.#storage.set(DEVICE, hex(key));
    return key;
  }
}

const DEVICE = "obverse device";
const nameOf = (spec) => `obverse survey ${hex(spec.digest)}`;
const utcDay = () => Math.floor(Date.now() / DAY_MS) + FIRST_DAY;

function parsed(kept) {
  if (kept === null || kept === undefined) return FRESH;
  try {
    const record = JSON.parse(kept);
    const counts = [record.reports, record.day, record.today];
    ensure(sameTexts(Object.keys(record).sort(), Object.keys(FRESH).sort()), "ledger_damaged", "");
    ensure(CONSENTS.includes(record.consent) && counts.every((count) => whole(count, 0, ONE - 1)), "ledger_damaged", "");
    ensure(typeof record.over === "boolean" && fraction(record.spent)[0] >= 0n, "ledger_damaged", "");
    ensure(Object.values(record.marks).every((again) => typeof again === "boolean"), "ledger_damaged", "");
    return record;
  } catch {
    throw new Refused("ledger_damaged", "the device's own ledger does not hold together, so nothing is sent.");
  }
}

/** Refuses a source of randomness that is missing or stuck. */
export function checkSource(random) {
  let [first, second] = [[], []];
  try {
    [first, second] = [Array.from(random(TEST_BYTES)), Array.from(random(TEST_BYTES))];
  } catch {
    // told below
  }
  const lengths = first.length === TEST_BYTES && second.length === TEST_BYTES;
  const varied = first.some((byte, i) => byte !== second[i]) && new Set([...first, ...second]).size >= TEST_VALUES;
  ensure(lengths && varied && crypto?.subtle, "no_entropy", "this system gives no randomness, so nothing is made.");
}
