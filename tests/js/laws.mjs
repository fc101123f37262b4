// Every outcome of the coins of a report, with its chance: node tests/js/laws.mjs MODULE LAWS. Told is whatever differs from the law.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const local = await import(pathToFileURL(process.argv[2]).href);
const laws = JSON.parse(readFileSync(process.argv[3], "utf-8"));
const ONE = 2 ** 53;

/** Coins that come out in every way, one after the other. */
class EveryCoin {
  path = []; // which outcome, of how many
  depth = 0;
  chance = 1;

  again() {
    this.path.length = this.depth;
    [this.depth, this.chance] = [0, 1];
    while (this.path.length) {
      const last = this.path.at(-1);
      last[0] += 1;
      if (last[0] < last[1]) return true;
      this.path.pop();
    }
    return false;
  }

  drawn(outcomes, chanceOf) {
    if (this.depth === this.path.length) this.path.push([0, outcomes]);
    const found = this.path[this.depth++][0];
    this.chance *= chanceOf(found);
    return found;
  }

  flip = (odds) => this.drawn(2, (set) => (set ? odds : ONE - odds) / ONE);
  below = (bound) => this.drawn(bound, () => 1 / bound);

  vector(odds, size) {
    const found = new Uint8Array(Math.ceil(size / 8));
    for (let place = 0; place < size; place++) found[place >> 3] |= this.flip(odds) << (place & 7);
    return found;
  }
}

let faults = 0;
for (const { protocol, code, seed, law } of laws) {
  const [coins, found] = [new EveryCoin(), {}];
  const held = /^(count_mean|hadamard_count_mean|rappor|.*several)$/.test(protocol.name) ? BigInt(code) : Number(code);
  do {
    const sent = local.hex(local.randomized(protocol, held, coins, BigInt(seed)));
    found[sent] = (found[sent] ?? 0) + coins.chance;
  } while (coins.again());
  const differs = [...Object.keys(found), ...Object.keys(law)].filter((sent) => !(Math.abs(found[sent] / law[sent] - 1) < 1e-9));
  if (!differs.length) continue;
  faults += 1;
  console.log(`${protocol.name} of ${code}: ${differs[0]} has ${found[differs[0]]} instead of ${law[differs[0]]}`);
}
console.log(`${laws.length} laws, ${faults} faults`);
