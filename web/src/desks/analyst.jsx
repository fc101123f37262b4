// The analyst's desk: words, their price and error before anything is spent, and the answer with its intervals.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Answer, left } from "../answer.jsx";
import { KEY } from "../api.js";
import { Busy, Choice, Epsilon, Gauge, Heading, Input, Loaded, Section, Table, Trouble, percent, roughly, useAction, useLoaded } from "../parts.jsx";

const PAUSE_MS = 350;
export const kept = (project) => `obverse question ${project}`;

export function Analyst({ api, query }) {
  const tables = useLoaded(() => api.get("/tables").then((found) => found.tables), [api]);
  const budget = useLoaded(() => api.get("/budget"), [api]);
  const [text, setText] = useState(() => query.get("sql") ?? sessionStorage.getItem(kept(api.project)) ?? "");
  const [wish, setWish] = useState({ epsilon: "", within: "", purpose: "" });
  const unsure = useRef(null); // what was sent and may have been charged, with its key: sent again it is charged once
  const asked = useAction(async () => {
    const wanted = body(text, wish), words = JSON.stringify(wanted);
    const sent = unsure.current?.words === words ? unsure.current : { words, key: crypto.randomUUID() };
    unsure.current = null;
    const answer = await api.post("/ask", wanted, { [KEY]: sent.key }).catch((problem) => {
      if (problem.charged === null) unsure.current = sent;
      throw problem;
    });
    budget.again();
    return { answer, text };
  });
  const explained = usePrice(api, text, wish, asked.value);
  const rehearsed = useAction(async () => ({ answer: await api.post("/rehearse", body(text, wish)), text }));
  useLayoutEffect(() => sessionStorage.setItem(kept(api.project), text), [text]);
  const ask = () => {
    rehearsed.clear();
    asked.run();
  };
  const rehearse = () => {
    asked.clear();
    rehearsed.run();
  };
  const given = asked.value ?? rehearsed.value;
  return (
    <>
      <Heading lead="Answers carry noise that hides each person. What a question costs and how wrong it will be is shown before anything is spent.">Ask</Heading>
      <div class="desk">
        <div class="main">
          <Section title="Question">
            <Words text={text} tables={tables.value ?? NONE} onChange={setText} onAsk={ask} />
            <Wish wish={wish} onWish={setWish} purposes={purposesOf(budget.value)} />
            <Quote explained={explained} text={text} />
            <div class="actions">
              <Busy class="primary" busy={asked.busy} disabled={!text.trim()} onClick={ask}>{asked.busy ? "Asking …" : priced(explained.stale ? null : explained.value)}</Busy>
              <Busy busy={rehearsed.busy} disabled={!text.trim()} onClick={rehearse}>Rehearse on made-up rows, free</Busy>
            </div>
          </Section>
          <div aria-live="polite">
            <Trouble problem={asked.problem ?? rehearsed.problem} text={text} />
            {given ? (
              <Section title={asked.value ? "Answer" : "Rehearsal"}>
                {given.text === text ? null : <pre class="sql">{given.text}</pre>}
                <Answer key={given.answer.claim.receipt + given.text} answer={given.answer} rehearsal={!asked.value} api={api} />
              </Section>
            ) : null}
          </div>
        </div>
        <div class="side">
          <Section title="Budget"><Loaded from={budget}>{(found) => <Budget budget={found} explained={explained.value} />}</Loaded></Section>
          <Section title="Tables"><Loaded from={tables}>{(found) => <Schema tables={found} onPick={setText} text={text} />}</Loaded></Section>
        </div>
      </div>
    </>
  );
}

const NONE = [];

/** What is sent: words, and a price or an error where one was wished for. */
export function body(text, { epsilon, within, purpose }) {
  const told = { sql: text };
  if (epsilon !== "") told.epsilon = Number(epsilon);
  if (within !== "") told.within = Number(within);
  if (purpose) told.purpose = purpose;
  return told;
}

/** The price, asked for once somebody stops typing, and anew after an answer, when less is left. The latest words win; `stale`: what is there is others'. */
export function usePrice(api, text, wish, answered = null) {
  const [state, setState] = useState({});
  const words = JSON.stringify(body(text, wish));
  useEffect(() => {
    let current = true;
    if (!text.trim()) {
      setState({});
      return undefined;
    }
    const later = setTimeout(() => {
      setState((before) => ({ ...before, busy: true }));
      api.post("/explain", body(text, wish)).then(
        (value) => current && setState({ value, words }),
        (problem) => current && setState({ problem, words }),
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(later);
    };
  }, [api, text, wish, answered]);
  return { ...state, stale: state.words !== undefined && state.words !== words };
}

function priced(explained) {
  if (!explained) return "Ask";
  const { price, measures } = explained;
  if (price.epsilon === "0") return "Ask · free";
  const widths = measures.map(({ half_width: width }) => width).filter((width) => width !== null);
  const error = widths.length === 1 ? ` · ± ${roughly(widths[0])}` : "";
  return `Ask · costs ε ${price.epsilon}${error}`;
}

export function Words({ text, tables, onChange, onAsk, hint }) {
  const [place, held, latest] = [useRef(null), useRef(null), useRef({})];
  latest.current = { onChange, onAsk, text, tables };
  useLayoutEffect(() => {
    let gone = false;
    import("../editor.js").then(({ editor }) => {
      if (gone || !place.current) return; // left before it came
      held.current = editor(place.current, {
        text: latest.current.text, tables: latest.current.tables, label: "Question in SQL",
        onChange: (words) => latest.current.onChange(words), onAsk: () => latest.current.onAsk(),
      });
      place.current.dataset.ready = "true";
    });
    return () => {
      gone = true;
      held.current?.close();
    };
  }, []);
  useEffect(() => held.current?.know(tables), [tables]);
  useLayoutEffect(() => { // before another key comes, whose letter it would take away
    if (held.current && held.current.text() !== text) held.current.set(text); // somebody else changed it
  }, [text]);
  return (
    <>
      <div class="editor" ref={place} />
      <p class="quiet hint">{hint ?? "Ctrl + Enter asks."} Names of tables and columns are suggested as you type.</p>
    </>
  );
}

function Wish({ wish, onWish, purposes }) {
  const set = (name) => (value) => onWish({ ...wish, [name]: value, ...(name === "epsilon" && value ? { within: "" } : {}), ...(name === "within" && value ? { epsilon: "" } : {}) });
  return (
    <div class="row">
      <Input narrow label="Price ε" type="number" min="0" step="any" inputMode="decimal" placeholder="as the project has it" value={wish.epsilon} onValue={set("epsilon")} />
      <Input narrow label="or error at most ±" type="number" min="0" step="any" inputMode="decimal" placeholder="any" value={wish.within} onValue={set("within")} />
      {purposes.length ? <Choice narrow label="Purpose" value={wish.purpose} onValue={set("purpose")} options={[["", "none"], ...purposes.map((name) => [name, name])]} /> : null}
    </div>
  );
}

export const purposesOf = (budget) => (budget?.lines ?? []).filter(({ kind }) => kind === "purpose").map(({ name }) => name);

function Quote({ explained, text }) {
  const { value, problem } = explained;
  return (
    <div class={explained.stale ? "quote stale" : "quote"} aria-live="polite">
      {problem ? <Trouble problem={problem} text={text} /> : null}
      {value ? <Quoted told={value} /> : null}
      {!value && !problem ? <p class="quiet">{explained.busy ? "Pricing …" : "Write a question to see its price."}</p> : null}
    </div>
  );
}

function Quoted({ told }) {
  const { price, measures, remaining, level, note } = told;
  if (price.epsilon === "0" && !measures.length) return <p>Exact and free: {note}.</p>;
  const rows = measures.map(({ name, mechanism, half_width: width }) => [name, width === null ? "–" : `± ${roughly(width)}`, mechanism ?? "–"]);
  return (
    <>
      <p>
        Would cost <Epsilon value={price.epsilon} delta={price.delta} />
        {remaining ? <>; now {left(remaining)}</> : null}.
      </p>
      <details open={rows.length <= 4}>
        <summary>Expected error, with {percent(level)}</summary>
        <Table caption="Expected error of each measure" head={["measure", "noise interval", "mechanism"]} rows={rows} />
        {note ? <p class="quiet">{note}.</p> : null}
      </details>
    </>
  );
}

export function Budget({ budget, explained }) {
  const like = explained?.remaining?.like_this;
  return (
    <>
      {budget.lines.map(({ name, kind, cap, left: rest, share_left: share }) => (
        <div key={kind + name} class="budget">
          <strong>{kind === "all" ? "Everybody together" : kind === "purpose" ? `Purpose ${name}` : name}</strong>
          <Gauge label={`Left for ${name}`} share={share} words={`${budget.quantity === "rho" ? "ρ" : "ε"} ${rest} of ${cap} left`} />
        </div>
      ))}
      {like !== undefined && like !== null ? <p class="like"><strong>≈ {roughly(like)}</strong> more questions like this one</p> : null}
      {budget.base ? <p class="quiet">Partitions were retired: {budget.base}.</p> : null}
      <p class="quiet">A budget never refills. Asking the same again is free.</p>
    </>
  );
}

export function Schema({ tables, onPick, text }) {
  return tables.map(({ name, public: open, unit, limits, columns }) => (
    <details key={name} class="schema">
      <summary><code>{name}</code> <span class="quiet">{open ? "public, exact and free" : limits}</span></summary>
      {open ? null : <p class="quiet">Protected: {unit}.</p>}
      <Table caption={`Columns of ${name}`} head={["column", "type", "values"]} rows={columns.map((c) => [<code>{c.name}</code>, c.type, c.values || "–"])} />
      {onPick ? <button class="small" onClick={() => onPick(`SELECT COUNT(*) AS n FROM ${plainly(name)}`)}>{text?.trim() ? "Replace by a count" : "Start with a count"}</button> : null}
    </details>
  ));
}

const plainly = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

export function History({ api }) {
  const found = useLoaded(() => api.get("/questions"), [api]);
  const opened = useAction(async ({ receipt, sql }) => ({ sql, answer: await api.get(`/answers/${receipt}.json`) }));
  return (
    <>
      <Heading lead="Everything that was charged, the latest first. Reading an answer again is free and gives the same numbers for ever.">History</Heading>
      <Trouble problem={opened.problem} />
      {opened.value ? <Section title="Answer"><pre class="sql">{opened.value.sql}</pre><Answer answer={opened.value.answer} api={api} /></Section> : null}
      <Section title="Questions">
        <Loaded from={found}>
          {({ questions, quantity }) => (
            <Table
              caption="Questions that were charged" head={["when", "who", "question", quantity, ""]} numeric={[3]} empty="Nothing was charged yet."
              rows={questions.map((one) => [
                <time dateTime={one.time}>{one.time.replace("T", " ").replace("Z", "")}</time>, one.analyst || "curator",
                <code class="sql">{one.sql}</code>, one.amount,
                one.answer ? <button class="small" onClick={() => opened.run(one)}>Show<span class="unseen"> the answer to {one.sql}</span></button> : "no answer",
              ])}
            />
          )}
        </Loaded>
      </Section>
    </>
  );
}
