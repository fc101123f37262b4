// The curator's desk: tables and bounds, budgets, accounts, releases, surveys and limits that were learned.

import { useState } from "preact/hooks";
import { unlessAbsent } from "../api.js";
import { Busy, Choice, Gauge, Heading, Input, Loaded, Section, Table, Trouble, percent, roughly, useAction, useLoaded } from "../parts.jsx";
import { Picture } from "../picture.jsx";
import { to } from "../route.js";
import { Releases } from "./transparency.jsx";

export function Tables({ api }) {
  const tables = useLoaded(() => api.get("/tables").then((found) => found.tables), [api]);
  const limits = useLoaded(() => unlessAbsent(api.get("/limits"), { tables: [] }).then((found) => found.tables), [api]);
  return (
    <>
      <Heading lead="What is declared in obverse.toml. Bounds and values are public knowledge, chosen without looking at the rows; columns that are not declared cannot be asked about.">Tables and bounds</Heading>
      <Loaded from={tables}>
        {(found) => found.map((table) => (
          <Section key={table.name} title={table.name}>
            <p>{table.public ? "Public: nobody in it is protected; questions over it alone are exact and free." : <>Protects {table.unit}. Limit: {table.limits}.</>}
              {table.basis ? ` Legal basis: ${table.basis}.` : ""}{table.purposes?.length ? ` Purposes: ${table.purposes.join(", ")}.` : ""}{table.retain_until ? ` Kept until ${table.retain_until}.` : ""}</p>
            <Table caption={`Columns of ${table.name}`} head={["column", "type", "may be NULL", "bounds or values", "grid"]}
              rows={table.columns.map((c) => [<code>{c.name}</code>, c.type, c.nullable ? "yes" : "no", c.values || "none declared", c.grid || "–"])} />
          </Section>
        ))}
      </Loaded>
      <Section title="Learned limits">
        <Loaded from={limits}>
          {(found) => found.length ? found.map((one) => <Learned key={one.table} learned={one} />) : <p class="quiet">Nothing was learned. A table with <code>limits = "auto"</code> learns its caps by <code>obverse limits learn TABLE</code>, once, for a price.</p>}
        </Loaded>
      </Section>
    </>
  );
}

function Learned({ learned }) {
  const { caps, units } = learned.rows;
  const most = Math.max(...units, 1);
  return (
    <>
      <h3>{learned.table}</h3>
      <p>Paid ε {learned.epsilon}, once. Counts of units are noisy, and below zero where nobody is.</p>
      <Table caption={`Rows per unit of ${learned.table}`} head={["rows per unit, up to", "units", ""]} numeric={[0, 1]}
        rows={caps.map((cap, i) => [roughly(cap), roughly(units[i]), <meter min="0" max={most} value={Math.max(0, units[i])} aria-label={`${roughly(units[i])} units`} />])} />
    </>
  );
}

export function Budgets({ api }) {
  const budget = useLoaded(() => api.get("/budget"), [api]);
  return (
    <>
      <Heading lead="Caps never refill. They are declared in obverse.toml, and raised only with a reason that stays in the ledger.">Budgets</Heading>
      <Loaded from={budget}>
        {({ lines, quantity, accounting, surveys, together, base }) => (
          <>
            <Section title="Caps">
              <p>Losses are counted as {accounting}; amounts are {quantity}.</p>
              {base ? <p>Partitions were retired: {base}.</p> : null}
              <Table caption="Budgets" head={["who", "kind", "cap", "spent", "left", "δ spent of cap", "left, as a share"]} numeric={[2, 3, 4]}
                rows={lines.map((one) => [one.name, one.kind, one.cap, one.spent, one.left, `${one.delta_spent} of ${one.delta_cap}`, <Gauge label={`Left for ${one.name}`} share={one.share_left} words={percent(one.share_left)} />])} />
              <p class="quiet">To raise the cap on everybody: <code>obverse budget grant --epsilon 1 --reason "…"</code> on the curator's own machine.</p>
            </Section>
            {surveys.length ? (
              <Section title="Surveys">
                <p>What respondents' own reports may tell, whoever collects them; nothing of it is spent here. Somebody who is in the tables and answers every survey loses at most {together}.</p>
                <Table caption="Losses of surveys" head={["survey", "ε of a report", "ε in a lifetime"]} numeric={[1, 2]} rows={surveys.map((one) => [one.name, one.report, one.lifetime])} />
              </Section>
            ) : null}
          </>
        )}
      </Loaded>
    </>
  );
}

export function Accounts({ api }) {
  const accounts = useLoaded(() => api.get("/accounts").then((found) => found.accounts), [api]);
  const [wanted, setWanted] = useState({ name: "", role: "analyst", days: "90" });
  const set = (name) => (value) => setWanted({ ...wanted, [name]: value });
  const [reason, setReason] = useState("");
  const act = useAction(async (path, body) => {
    const found = await api.post(path, body);
    accounts.again();
    return found;
  });
  const named = (name, what) => `/accounts/${encodeURIComponent(name)}/${what}`;
  const submit = (event) => {
    event.preventDefault();
    act.run("/accounts", { name: wanted.name, role: wanted.role, days: Number(wanted.days) });
  };
  return (
    <>
      <Heading lead="Who may reach this project, and with which tokens. Every change is a record of the ledger, and void sessions end at once.">Accounts</Heading>
      <Trouble problem={act.problem} />
      {act.value?.token ? (
        <div class="banner" role="status">
          <p>Token of {act.value.name} ({act.value.role}), until {day(act.value.expires)}. It is shown now and never again:</p>
          <pre class="sent">{act.value.token}</pre>
          <p>Link that signs in: <code>{`${location.origin}/${to(api.project, "enter")}?token=${act.value.token}`}</code></p>
        </div>
      ) : null}
      <Section title="People">
        <Input label="Reason, for suspending and letting back" value={reason} onValue={setReason} />
        <Loaded from={accounts}>
          {(found) => (
            <Table caption="Accounts" head={["name", "role", "tokens", "state", "what you may do"]}
              rows={found.map((one) => [
                one.name, one.role,
                one.tokens.length ? one.tokens.map((token) => <div key={token.id} class="whole"><code>{token.id}</code> until {day(token.expires)}</div>) : "none",
                one.suspended ? <span class="not-ok">suspended: {one.suspended}</span> : one.stopped >= 3 ? <span class="not-ok">stopped</span> : <span class="ok">active</span>,
                <span class="row">
                  <Do act={act} path={named(one.name, "rotate")} body={{ days: 90 }} words="Fresh token" of={one.name} />
                  <Do act={act} path={named(one.name, "revoke")} body={{}} words="Revoke all" of={one.name} danger />
                  {one.suspended || one.stopped ? <Do act={act} path={named(one.name, "resume")} body={{ reason }} words="Let back" of={one.name} /> : <Do act={act} path={named(one.name, "suspend")} body={{ reason }} words="Suspend" of={one.name} danger />}
                </span>,
              ])} />
          )}
        </Loaded>
      </Section>
      <Section title="Let somebody in">
        <form onSubmit={submit}>
          <div class="row">
            <Input narrow label="Name" hint="An analyst has to be declared in obverse.toml." value={wanted.name} onValue={set("name")} required />
            <Choice narrow label="Role" value={wanted.role} onValue={set("role")} options={[["analyst", "analyst"], ["reviewer", "reviewer"], ["curator", "curator"]]} />
            <Input narrow label="Days" type="number" min="1" max="3660" value={wanted.days} onValue={set("days")} required />
          </div>
          <div class="actions"><Busy class="primary" type="submit" busy={act.busy}>Make a token</Busy></div>
        </form>
      </Section>
    </>
  );
}

function Do({ act, path, body, words, of, danger }) {
  return <Busy class={danger ? "small danger" : "small"} busy={act.busy} onClick={() => act.run(path, body)}>{words}<span class="unseen"> of {of}</span></Busy>;
}

const day = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 10);

export function Published({ api }) {
  const names = useLoaded(() => unlessAbsent(api.get("/releases"), { names: [] }).then((found) => found.names), [api]);
  return (
    <>
      <Heading lead="What lies in the project's folder “releases”: everybody may read it. obverse publish makes such folders, with their statements.">Releases</Heading>
      <Loaded from={names}>{(found) => <Releases api={api} names={found} />}</Loaded>
    </>
  );
}

export function Surveys({ api }) {
  const names = useLoaded(() => unlessAbsent(api.get("/surveys"), { names: [] }).then((found) => found.names), [api]);
  return (
    <>
      <Heading lead="People randomize their own answers; here are the links to hand out, and what is learned of all of them together.">Surveys</Heading>
      <Loaded from={names}>{(found) => found.length ? found.map((name) => <OneSurvey key={name} api={api} name={name} />) : <p class="quiet">No survey is declared in obverse.toml.</p>}</Loaded>
    </>
  );
}

function OneSurvey({ api, name }) {
  const place = `/surveys/${encodeURIComponent(name)}`;
  const [count, setCount] = useState("10");
  const links = useAction(() => api.post(`${place}/tokens`, { count: Number(count) }).then((found) => found.tokens));
  const estimate = useAction(() => api.get(`${place}/estimate`));
  const link = (token) => `${location.origin}/${to(api.project, "survey", name)}?token=${token}`;
  return (
    <Section title={name} aside={<a href={to(api.project, "survey", name)}>The survey's page</a>}>
      <div class="row">
        <Input narrow label="Links to make" type="number" min="1" max="1000" value={count} onValue={setCount} />
      </div>
      <div class="actions">
        <Busy busy={links.busy} onClick={() => links.run()}>Make links</Busy>
        <Busy busy={estimate.busy} onClick={() => estimate.run()}>Estimate</Busy>
      </div>
      <Trouble problem={links.problem ?? estimate.problem} />
      {links.value ? <><p class="quiet">One answer each. Who gets which is written down nowhere; they are not shown again.</p><pre class="source" tabIndex={0}>{links.value.map(link).join("\n")}</pre></> : null}
      {estimate.value ? <Estimated told={estimate.value} /> : null}
    </Section>
  );
}

function Estimated({ told }) {
  if (!Array.isArray(told.rows)) return <pre class="source" tabIndex={0}>{JSON.stringify(told, null, 1)}</pre>;
  const rows = told.rows.map((one) => ({ key: one.item, value: one.share, low: one.low, high: one.high }));
  return (
    <>
      <p>{told.reports.toLocaleString("en")} reports, ε {told.epsilon} each. Intervals at {percent(told.level)}. If {percent(told.malicious.share)} of them were crafted, a share could move by {roughly(told.malicious.worst_shift)}.</p>
      {rows.length && rows.length <= 40 ? <Picture kind="bars" told={{ rows, value: "share", label: "share of people" }} inputs={[told]} /> : null}
      <Table caption="Shares with their intervals" head={["answer", "share", "interval"]} numeric={[1]} rows={told.rows.map((one) => [one.item, percent(one.share), `${percent(one.low)} to ${percent(one.high)}`])} />
    </>
  );
}
