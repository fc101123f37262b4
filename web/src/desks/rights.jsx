// Rights of the people in the tables: the curator exports, corrects, suppresses and erases, and keeps the record of processing.

import { useState } from "preact/hooks";
import { unlessAbsent } from "../api.js";
import { Busy, Choice, Facts, Heading, Input, Loaded, Section, Table, Trouble, useAction, useLoaded } from "../parts.jsx";

const ACTS = [["suppress", "Suppress: leave this person out of every later answer"], ["erase", "Erase: leave out for good, and tell the source's owner to delete"], ["correct", "Correct a value"], ["export", "Export this person's rows"]];

export function Rights({ api }) {
  const found = useLoaded(() => unlessAbsent(api.get("/rights"), null), [api]);
  return (
    <>
      <Heading lead="Access, correction, objection and erasure. Each act is in the ledger under a keyed hash of the person, never the person, and counts from the next version of the data.">Rights</Heading>
      <Loaded from={found}>{(told) => (told ? <Desk api={api} told={told} again={found.again} /> : <p class="banner">This service has no rights desk: it runs an older version of Obverse.</p>)}</Loaded>
    </>
  );
}

function Desk({ api, told, again }) {
  const lift = useAction(async (right, reason) => {
    const found = await api.post("/rights/lift", { right, reason, later: false });
    again();
    return found;
  });
  const [reason, setReason] = useState("");
  return (
    <>
      <Act api={api} again={again} tables={told.tables} />
      <Section title="What cannot be undone"><p>{told.cannot_undo}</p></Section>
      <Section title="Acts so far">
        <Trouble problem={lift.problem} />
        <Input label="Reason, for lifting an act" value={reason} onValue={setReason} />
        <Table caption="Acts on people's rights" head={["record", "when", "act", "person, as a keyed hash", "reason", "by", "state", ""]} numeric={[0]} empty="Nobody has asked for anything yet."
          rows={told.acts.map((one) => [one.record, one.time.replace("T", " ").replace("Z", ""), one.act, <code>{one.person.slice(0, 16)}…</code>, one.reason, one.by, one.state,
            one.right && ["in force", "waits"].includes(one.state) ? <Busy class="small" busy={lift.busy} onClick={() => lift.run(one.right, reason)}>Lift<span class="unseen"> record {one.record}</span></Busy> : ""])} />
      </Section>
      <Section title="Tables: basis, purposes, retention">
        <Table caption="Legal basis of each table" head={["table", "legal basis", "purposes", "kept until"]}
          rows={told.tables.map((one) => [one.name, one.basis || "not declared", one.purposes.join(", ") || "any", one.retain_until ? <span class={one.over ? "not-ok" : ""}>{one.retain_until}{one.over ? ": over, and refused" : ""}</span> : "no date"])} />
        {told.apart.length ? <p>Never linked with each other: {told.apart.map((pair) => pair.join(" and ")).join("; ")}.</p> : null}
        <p><a class="button" href={api.href("/rights/record.md")} download="processing.md">Record of processing, for people</a> <a class="button" href={api.href("/rights/record")} download="processing.json">and as JSON</a></p>
      </Section>
    </>
  );
}

function Act({ api, again, tables }) {
  const [fields, setFields] = useState({ act: "suppress", person: "", reason: "", later: "now", table: tables[0]?.name ?? "", column: "", value: "" });
  const [sure, setSure] = useState(false);
  const set = (name) => (value) => {
    setFields({ ...fields, [name]: value });
    setSure(false); // of another person, or another act
  };
  const done = useAction(async () => {
    const { act, person, reason, later, table, column, value } = fields;
    const own = { person, reason };
    if (act === "export") {
      const rows = await api.post("/rights/export", { ...own, format: "json" });
      again();
      return { rows };
    }
    const more = act === "correct" ? { table, set: { [column]: typed(value) }, where: {} } : {};
    const found = await api.post(`/rights/${act}`, { ...own, ...more, later: later === "later" });
    again();
    return found;
  });
  const submit = (event) => {
    event.preventDefault();
    done.run();
  };
  return (
    <Section title="A person asks">
      <form onSubmit={submit}>
        <Choice label="What is to be done" value={fields.act} onValue={set("act")} options={ACTS} />
        <div class="row">
          <Input narrow label="Person" hint="The value of the unit's key." value={fields.person} onValue={set("person")} required autocomplete="off" />
          <Input label="Reason" hint="It stays in the ledger: do not name the person." value={fields.reason} onValue={set("reason")} required />
        </div>
        {fields.act === "correct" ? (
          <div class="row">
            <Choice narrow label="Table" value={fields.table} onValue={set("table")} options={tables.map(({ name }) => [name, name])} />
            <Input narrow label="Column" value={fields.column} onValue={set("column")} required />
            <Input narrow label="Right value" value={fields.value} onValue={set("value")} required />
          </div>
        ) : null}
        {fields.act !== "export" ? <Choice narrow label="From when" value={fields.later} onValue={set("later")} options={[["now", "now, as a new version"], ["later", "with the next version"]]} /> : null}
        <label class="option"><input type="checkbox" checked={sure} onChange={() => setSure(!sure)} required /> I have made sure that it is this person who asks.</label>
        <Trouble problem={done.problem} />
        <div class="actions"><Busy class="primary" type="submit" busy={done.busy} disabled={!sure}>Do it, and write it down</Busy></div>
      </form>
      {done.value?.rows ? <Exported told={done.value.rows} /> : done.value ? (
        <div role="status">
          <Facts facts={[["Done", done.value.act], ["Record", done.value.record], ["Person, as a keyed hash", <code>{done.value.person}</code>], ["Data version", done.value.data_version ?? "waits for the next one"]]} />
          {done.value.procedure.length ? <><p>Left to do for the owner of the source:</p><ul>{done.value.procedure.map((one) => <li key={one}>{one}</li>)}</ul></> : null}
        </div>
      ) : null}
    </Section>
  );
}

function typed(text) {
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return { true: true, false: false, null: null }[text] ?? (text === "null" ? null : text);
}

function Exported({ told }) {
  const file = URL.createObjectURL(new Blob([JSON.stringify(told, null, 1)], { type: "application/json" }));
  return (
    <div role="status">
      <p>{told.note}</p>
      <p><a class="button" href={file} download="rows.json">Save as JSON</a></p>
      {told.tables.map((one) => <Table key={one.name} caption={`Rows of ${one.name}`} labels head={one.columns} rows={one.rows.map((row) => row.map((cell) => String(cell ?? "–")))} empty={`No row of ${one.name}.`} />)}
    </div>
  );
}
