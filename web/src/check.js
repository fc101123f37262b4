// An exercise's check where it is data: the same answers are right here and in `obverse learn NAME --answer`.

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+(?!\d)/;
const SLACK = 1e-9; // bounds are decimals that a computer rounds

/** A decimal, a fraction a/b or a share in per cent; NaN where it is none of them. Commas part thousands, or else stand before decimals. */
export function number(text) {
  const plain = text.trim().replaceAll(",", THOUSANDS.test(text.trim()) ? "" : ".");
  if (plain.endsWith("%")) return decimal(plain.slice(0, -1)) / 100;
  const [top, ...bottom] = plain.split("/");
  return bottom.length ? decimal(top) / (bottom.length === 1 ? decimal(bottom[0]) : Number.NaN) : decimal(top);
}

const decimal = (text) => (DECIMAL.test(text.trim()) ? Number(text) : Number.NaN);

/** Whether the answer is right, and what there is to say of it. */
export function verdict({ check, why, hint }, answer) {
  if (check.kind === "choice") return answer === check.right ? told(true, why) : told(false, answer ? `the product finds otherwise. ${hint}` : "choose one of the answers.");
  const given = number(answer);
  if (!Number.isFinite(given)) return told(false, "write a number, such as 0.25, 1/4 or 25 %.");
  const right = given >= check.low - SLACK && given <= check.high + SLACK;
  return told(right, right ? why : `that is not the number that the product finds. Hint: ${hint}`);
}

const told = (right, words) => ({ right, words });
