// The ledger, for curator and reviewer: every record, checked by the service and once more by this browser alone.

import { verified } from "../chain.js";
import { Busy, Facts, Heading, Loaded, Section, Table, Trouble, useAction, useLoaded } from "../parts.jsx";

const SHOWN = 100;

export function Ledger({ api }) {
  const here = useLoaded(async () => verified(await api.text("/ledger")), [api]);
  const there = useAction(() => api.get("/ledger/verified"));
  return (
    <>
      <Heading lead="Every debit and every act of the curator is a record, sealed to all before it by its hash. Questions' words are not in it.">Ledger</Heading>
      <Section title="Verification">
        <Loaded from={here} label="Checking every record">
          {({ records, head }) => <p class="ok" role="status">Whole: this browser has checked {records.length.toLocaleString("en")} records up to <code>{head}</code>.</p>}
        </Loaded>
        <Trouble problem={there.problem} />
        {there.value ? (
          <Facts facts={[["The service's own check", `${there.value.records.toLocaleString("en")} records, stored answers and notes: whole`], ["Its head", <code>{there.value.head}</code>],
            ["Compared", here.value ? (here.value.head === there.value.head ? <span class="ok">the same</span> : "a record came in between; check again") : ""]]} />
        ) : null}
        <div class="actions">
          <Busy busy={there.busy} onClick={() => there.run()}>Let the service check it too</Busy>
          <Busy busy={here.busy} onClick={() => here.again()}>Check again here</Busy>
          <a class="button" href={api.href("/ledger")} download="ledger.jsonl">Download</a>
        </div>
        <p class="quiet">Write the head down and compare it later: an older ledger put in this one's place would have another. Offline: <code>obverse ledger verify ledger.jsonl</code>.</p>
      </Section>
      <Section title="Records">
        <Loaded from={here}>
          {({ records }) => (
            <Table caption={`The latest ${Math.min(SHOWN, records.length)} of ${records.length} records`} labels head={["number", "when", "kind", "who", "amount", "total"]} numeric={[0, 4, 5]}
              rows={records.slice(-SHOWN).reverse().map((one) => [one.number, <time dateTime={one.time}>{one.time.replace("T", " ").replace("Z", "")}</time>, one.act ? `${one.kind}: ${one.act}` : one.kind, one.analyst || one.name || one.by || "–", one.amount ?? "–", one.total_amount ?? "–"])} />
          )}
        </Loaded>
      </Section>
    </>
  );
}
