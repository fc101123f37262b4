// The ledger's chain, checked in the browser with nothing but SHA-256: hash(n) = SHA-256(hash(n-1) + bytes of record n).

const RECORD = '"record":';

/** The records of an export, or an error that says which one does not match. */
export async function verified(text, onProgress = () => {}) {
  const lines = text.trimEnd().split("\n");
  const encoder = new TextEncoder();
  let head = new Uint8Array(32);
  const records = [];
  for (const [place, line] of lines.entries()) {
    const start = line.indexOf(RECORD);
    if (start < 0) continue; // the first line and the last
    const body = encoder.encode(line.slice(start + RECORD.length, -1)); // keys are sorted, so the record stands last
    const sealed = new Uint8Array(head.length + body.length);
    sealed.set(head);
    sealed.set(body, head.length);
    head = new Uint8Array(await crypto.subtle.digest("SHA-256", sealed));
    const told = JSON.parse(line);
    if (told.hash !== hexed(head) || told.record.number !== records.length + 1) throw new Error(`record ${records.length + 1} does not match its seal.`);
    records.push(told.record);
    if (place % 200 === 0) onProgress(place / lines.length);
  }
  const last = JSON.parse(lines.at(-1));
  if (last.count !== records.length || last.head !== hexed(head)) throw new Error("the export is cut short.");
  return { records, head: hexed(head) };
}

const hexed = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
