// The reviewer's desk: attacks on this very service over made-up neighbours, and a report in the order of NIST SP 800-226.

import { useEffect, useState } from "preact/hooks";
import { unlessAbsent } from "../api.js";
import { verified } from "../chain.js";
import { Busy, Facts, Heading, Input, Loaded, Section, Table, Trouble, percent, sentence, useAction, useLoaded } from "../parts.jsx";
import { Words } from "./analyst.jsx";

const ATTACKS = [
  ["differencing", "Differencing", "subtract two counts whose people differ in one"],
  ["averaging", "Averaging", "ask the same again and again, in other words"],
  ["reconstruction", "Reconstruction", "recover everybody's secret from many sums"],
  ["timing", "Timing", "tell from the time of a reply who is there"],
  ["bypass", "Bypass", "get more answers than the budget pays for"],
  ["lower_bound", "Epsilon lower bound", "what one answer surely loses"],
];
const POLL_MS = 1000;

function useTrial(api) {
  const [trial, setTrial] = useState(undefined);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    let [later, current] = [0, true];
    const look = () =>
      unlessAbsent(api.get("/trials"), null).then((found) => {
        if (!current) return; // another trial was begun meanwhile
        setTrial(found);
        if (found && !found.done) later = setTimeout(look, POLL_MS);
      }, setProblem);
    look();
    return () => {
      current = false;
      clearTimeout(later);
    };
  }, [api, trial?.trial]);
  return { trial, problem, setTrial };
}

export function Attacks({ api }) {
  const { trial, problem, setTrial } = useTrial(api);
  const tables = useLoaded(() => api.get("/tables").then((found) => found.tables), [api]);
  const [chosen, setChosen] = useState(() => new Set(["differencing", "averaging", "timing", "bypass"]));
  const [wish, setWish] = useState({ epsilon: "1", samples: "200" });
  const [text, setText] = useState("");
  const started = useAction(async () =>
    setTrial(await api.post("/trials", { attacks: ATTACKS.map(([key]) => key).filter((key) => chosen.has(key)), epsilon: Number(wish.epsilon), samples: Number(wish.samples), sql: text })));
  const toggle = (key) => setChosen((before) => new Set(before.has(key) ? [...before].filter((one) => one !== key) : [...before, key]));
  const running = trial && !trial.done;
  return (
    <>
      <Heading lead="The attacks go through this very service, to projects of people who do not exist and differ in one person. They spend nothing of any real budget and read no real row.">Attacks</Heading>
      <Section title="A trial">
        <form onSubmit={(event) => { event.preventDefault(); started.run(); }}>
          <fieldset>
            <legend>What is tried</legend>
            {ATTACKS.map(([key, name, does]) => (
              <label key={key} class="option"><input type="checkbox" checked={chosen.has(key)} onChange={() => toggle(key)} /> <span><strong>{name}</strong>: {does}</span></label>
            ))}
          </fieldset>
          <div class="row">
            <Input narrow label="ε that one answer claims" type="number" min="0.01" max="100" step="any" value={wish.epsilon} onValue={(epsilon) => setWish({ ...wish, epsilon })} />
            <Input narrow label="Answers of each neighbour" hint="For the lower bound; 200 take a minute or so." type="number" min="20" max="5000" value={wish.samples} onValue={(samples) => setWish({ ...wish, samples })} />
          </div>
          <h3>A question of this project, if you like</h3>
          <p class="quiet">Its plan and its noise are tried on neighbours made up from the declarations, thousands of times.</p>
          <Words text={text} tables={tables.value ?? []} onChange={setText} onAsk={() => started.run()} hint="Ctrl + Enter starts." />
          <Trouble problem={started.problem ?? problem} />
          <div class="actions"><Busy class="primary" type="submit" busy={started.busy || running} disabled={!chosen.size && !text.trim()}>{running ? "Running …" : "Start"}</Busy></div>
        </form>
      </Section>
      <div aria-live="polite">{trial ? <Found trial={trial} /> : null}</div>
    </>
  );
}

const named = (key) => ATTACKS.find(([one]) => one === key)?.[1] ?? "Question of the project";

function Found({ trial }) {
  return (
    <Section title="What was found">
      {trial.done ? null : <><p>Now: {named(trial.now)}</p><progress max="1" value={trial.progress} aria-label="Progress of the trial" /></>}
      {trial.problem ? <p class="trouble" role="alert">{sentence(trial.problem.message)} <code>{trial.problem.code}</code></p> : null}
      <Findings found={trial.found} />
    </Section>
  );
}

function Findings({ found }) {
  return (
    <>
      <Table caption="Findings of the trial" head={["attack", "result", "what it means"]} empty="Nothing yet."
        rows={found.map((one) => [named(one.attack), one.leaks ? <span class="not-ok">it tells</span> : one.verdict === "too few to judge" ? one.verdict : <span class="ok">nothing found</span>, one.sentence])} />
      {found.length ? <p class="quiet">Each attack has a control that knows nothing, and blames wrongly with a chance of at most 5 %; a claim of epsilon that holds is refuted with a chance of at most 0.01 %. What is not found is not thereby absent.</p> : null}
    </>
  );
}

async function gathered(api) {
  const [card, tables, budget, whole, trial] = await Promise.all([
    unlessAbsent(api.get("/transparency"), null), api.get("/tables").then((found) => found.tables), api.get("/budget"),
    api.text("/ledger").then((text) => verified(text)).catch((error) => ({ error: error.message })), unlessAbsent(api.get("/trials"), null),
  ]);
  return { card, tables, budget, whole, trial: trial?.done ? trial : null };
}

/** The order is that of the pyramid of NIST SP 800-226: the guarantee on top, what it rests on below. */
export function Report({ api }) {
  const found = useLoaded(() => gathered(api), [api]);
  return (
    <>
      <Heading lead="In the order of NIST SP 800-226, from the guarantee down to what it rests on. Print it, or save it from the print dialogue.">Report</Heading>
      <Loaded from={found} label="Gathering and checking">{(told) => <Reported api={api} {...told} />}</Loaded>
    </>
  );
}

function Reported({ card, tables, budget, whole, trial }) {
  const all = budget.lines[0];
  const privately = tables.filter((table) => !table.public);
  const found = (key) => trial?.found.find((one) => one.attack === key);
  const sign = budget.quantity === "rho" ? "ρ" : "ε";
  return (
    <>
      <div class="actions"><button onClick={() => print()}>Print</button></div>
      <Section title="1. Epsilon and delta">
        {all ? <Facts facts={[["Allowed in all", `${sign} ${all.cap}, δ ${all.delta_cap}`], ["Spent", `${sign} ${all.spent}, δ ${all.delta_spent}`], ["Left", percent(all.share_left)], ["Definition", card ? `${card.neighbours} neighbours, losses added as ${card.accounting}` : budget.accounting]]} /> : null}
        {card ? <p>{card.sentence}</p> : null}
        <Verdict told={found("lower_bound")} none="No epsilon lower bound was measured through the service yet: see Attacks." />
        {found("question") ? <Verdict told={found("question")} /> : null}
      </Section>
      <Section title="2. Unit of privacy">
        <Table caption="Unit and limits of each table" head={["table", "protected unit", "limit, enforced by the plan"]} rows={privately.map((one) => [one.name, one.unit, one.limits])} />
      </Section>
      <Section title="3. Composition over time">
        <p>{whole.error ? <span class="not-ok">The ledger does not hold together: {whole.error}</span> : <><span class="ok">Whole:</span> {whole.records.length.toLocaleString("en")} records recomputed by this browser, head <code>{whole.head}</code>.</>}</p>
        {card ? <Table caption="Charges by their size" head={["answers", `${sign} each`, "δ each"]} numeric={[0, 1, 2]} rows={card.charges.map((one) => [one.times, one.amount, one.delta])} /> : null}
        <Verdict told={found("bypass")} none="It was not tried to overdraw a budget: see Attacks." />
      </Section>
      <Section title="4. Mechanisms, utility and bias">
        <p>Noise is drawn by exact integer samplers from the system's entropy. Every answer names its mechanism, its noise interval and its bias; limits on one unit and clamping to bounds may bias answers, which intervals do not include.</p>
        {["differencing", "averaging", "reconstruction"].map((key) => <Verdict key={key} told={found(key)} none={`${named(key)} was not tried.`} />)}
      </Section>
      <Section title="5. Implementation and side channels">
        <p>Replies leave on ticks that are chosen from declarations before any row is read; rows are read in a process of their own from which only noisy values come.</p>
        <Verdict told={found("timing")} none="Times of replies were not tried: see Attacks." />
      </Section>
      <Section title="6. Security, access and trust">
        <p>The curator is trusted with the rows; analysts and reviewers are not. Sessions are cookies that scripts cannot read; this page loads nothing from elsewhere.</p>
        {budget.surveys.length ? <p>Respondents of surveys trust nobody: {budget.surveys.map((one) => `${one.name} (ε ${one.report} a report, ${one.lifetime} in a lifetime)`).join(", ")}.</p> : null}
      </Section>
      <Section title="7. Data collection and minimisation">
        <p>Columns that are not declared cannot be asked about. Declared are {privately.map((one) => `${one.columns.length} of ${one.name}`).join(", ")}.</p>
        {privately.some((one) => one.basis) ? <Table caption="Legal basis" head={["table", "basis", "kept until"]} rows={privately.map((one) => [one.name, one.basis || "not declared", one.retain_until || "no date"])} /> : null}
      </Section>
    </>
  );
}

function Verdict({ told, none }) {
  if (!told) return <p class="quiet">Open: {none}</p>;
  return <p><span class={told.leaks ? "not-ok" : "ok"}>{told.leaks ? "It tells." : "Not refuted."}</span> {told.sentence}</p>;
}
