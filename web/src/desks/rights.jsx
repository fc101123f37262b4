// Rights of the people in the tables: the curator exports, corrects, suppresses and erases, and keeps the record of processing.

import { useState } from "preact/hooks";
import { Busy, Choice, Facts, Heading, Input, Loaded, Section, Table, Trouble, useAction, useLoaded } from "../parts.jsx";

const ACTS = [["suppress", "Suppress: in no later answer"], ["erase", "Erase: the same, and rows to delete"], ["correct", "Correct a value"], ["export", "Export the person's rows"]];

export function Rights({ api }) {
  const found = useLoaded(() => api.get("/rights"), [api]);
  return (
    <>
      <Heading lead="Access, correction, objection and erasure. Each act is in the ledger under a keyed hash of the person, never the person, and counts from the next version of the data.">Rights</Heading>
      <Loaded from={found}>{(told) => <Desk api={api} told={told} again={found.again} />}</Loaded>
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
          rows={told.acts.map((one) => [one.record ?? "none", one.time ? <time dateTime={one.time}>{one.time.replace("T", " ").replace("Z", "")}</time> : "", one.act, <code>{one.person.slice(0, 16)}…</code>, one.reason, one.by, one.state === "not recorded" ? "not recorded: a crash came between; it is in force" : one.state,
            one.right && ["in force", "waits", "not recorded"].includes(one.state) ? <Busy class="small" busy={lift.busy} onClick={() => lift.run(one.right, reason)}>Lift<span class="unseen"> {one.record ? `record ${one.record}` : `the act ${one.right.slice(0, 8)}, which is not recorded`}</span></Busy> : ""])} />
      </Section>
      <Section title="Tables: basis, purposes, retention">
        <Table caption="Legal basis of each table" head={["table", "legal basis", "purposes", "kept until"]}
          rows={told.tables.map((one) => [one.name, one.basis || "not declared", one.purposes.join(", ") || "any", one.retain_until ? <span class={one.over ? "not-ok" : ""}>{one.retain_until}{one.over ? ": over, and refused" : ""}</span> : "no date"])} />
        {told.apart.length ? <p>Never linked with each other: {told.apart.map((pair) => pair.join(" and ")).join("; ")}.</p> : null}
        <div class="actions"><a class="button" href={api.href("/rights/record.md")} download="processing.md">Record of processing, for people</a><a class="button" href={api.href("/rights/record")} download="processing.json">and as JSON</a></div>
      </Section>
    </>
  );
}

function Act({ api, again, tables }) {
  const own = tables.filter((one) => !one.public);
  const [fields, setFields] = useState({ act: "suppress", person: "", reason: "", later: "now", table: own[0]?.name ?? "", column: "", value: "", none: false, of: "", being: "" });
  const [sure, setSure] = useState(false);
  const set = (name) => (value) => {
    setFields({ ...fields, ...(name === "table" ? { column: "", of: "" } : {}), [name]: value });
    setSure(false); // of another person, or another act
  };
  const done = useAction(async () => {
    const { act, person, reason, later, table, column, value, none, of, being } = fields;
    const about = { person, reason };
    if (act === "export") {
      const rows = await api.post("/rights/export", { ...about, format: "json" });
      again();
      return { fields, rows };
    }
    const more = act === "correct" ? { table, set: { [column]: none ? null : value }, where: of ? { [of]: being } : {} } : {};
    const found = await api.post(`/rights/${act}`, { ...about, ...more, later: later === "later" });
    again();
    return { fields, found };
  });
  const told = done.value?.fields === fields ? done.value : null; // what was found of others is shown no more
  const columns = [["", "–"], ...(own.find(({ name }) => name === fields.table)?.columns ?? []).map((name) => [name, name])];
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
            <Choice narrow label="Table" value={fields.table} onValue={set("table")} options={own.map(({ name }) => [name, name])} />
            <Choice narrow label="Column" value={fields.column} onValue={set("column")} options={columns} />
            <Input narrow label="Right value" value={fields.none ? "" : fields.value} onValue={set("value")} disabled={fields.none} />
            <label class="option"><input type="checkbox" checked={fields.none} onChange={() => set("none")(!fields.none)} /> There is none (NULL).</label>
          </div>
        ) : null}
        {fields.act === "correct" ? (
          <div class="row">
            <Choice narrow label="Only rows whose" hint="All of this person's rows unless told." value={fields.of} onValue={set("of")} options={columns} />
            <Input narrow label="is, in the source" value={fields.being} onValue={set("being")} disabled={!fields.of} />
          </div>
        ) : null}
        {fields.act !== "export" ? <Choice narrow label="From when" value={fields.later} onValue={set("later")} options={[["now", "now, as a new version"], ["later", "with the next version"]]} /> : null}
        <label class="option"><input type="checkbox" checked={sure} onChange={() => setSure(!sure)} required /> I have made sure that it is this person who asks.</label>
        <Trouble problem={done.problem} />
        <div class="actions"><Busy class="primary" type="submit" busy={done.busy} disabled={!sure || (fields.act === "correct" && !fields.column)}>Do it, and write it down</Busy></div>
      </form>
      {told?.rows ? <Exported told={told.rows} /> : null}
      {told?.found ? <Acted told={told.found} /> : null}
    </Section>
  );
}

function Acted({ told }) {
  return (
    <div role="status">
      <Facts facts={[["Done", told.act], ["Record", told.record], ["Person, as a keyed hash", <code>{told.person}</code>], ["Rows now", matching(told.matches)], ["Data version", told.data_version ?? "waits for the next one"]]} />
      {told.procedure.length ? <><p>Left to do for the owner of the source:</p><ul>{told.procedure.map((one) => <li key={one}>{one}</li>)}</ul></> : null}
    </div>
  );
}

function inForce(table, row, column) {
  const found = table.corrected.find((one) => one.row === row && one.column === column);
  return found ? ` (in force: ${found.in_force ?? "–"})` : "";
}

function matching(counts) {
  if (!counts) return "not known: the rows cannot be read at the moment";
  const found = Object.entries(counts).filter(([, count]) => count > 0).map(([table, count]) => `${count} of ${table}`);
  return found.join(", ") || "none: is the key right? The act binds rows that come later";
}

function Exported({ told }) {
  const file = URL.createObjectURL(new Blob([JSON.stringify(told, null, 1)], { type: "application/json" }));
  return (
    <div role="status">
      <p>{told.note}</p>
      <p><a class="button" href={file} download="rows.json">Save as JSON</a></p>
      {told.tables.map((one) => <Table key={one.name} caption={`Rows of ${one.name}`} labels head={one.columns} rows={one.rows.map((row, number) => row.map((cell, place) => String(cell ?? "–") + inForce(one, number, one.columns[place])))} empty={`No row of ${one.name}.`} />)}
    </div>
  );
}
