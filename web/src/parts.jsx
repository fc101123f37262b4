// What all desks are made of.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** A promise's outcome: what was found, what went wrong, and how to ask again. */
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ busy: true });
  const run = useCallback(() => {
    let current = true;
    setState((before) => ({ ...before, busy: true }));
    load().then(
      (value) => current && setState({ value, busy: false }),
      (problem) => current && setState({ problem, busy: false }),
    );
    return () => (current = false);
  }, inputs);
  useEffect(run, [run]);
  return { ...state, again: run };
}

/** An action that somebody starts: at most one at a time. */
export function useAction(act) {
  const [state, setState] = useState({ busy: false });
  const going = useRef(false);
  const run = async (...given) => {
    if (going.current) return undefined; // keys do not ask whether the button is grey
    going.current = true;
    setState({ busy: true });
    try {
      const value = await act(...given);
      setState({ value, busy: false });
      return value;
    } catch (problem) {
      setState({ problem, busy: false });
      return undefined;
    } finally {
      going.current = false;
    }
  };
  return { ...state, run, clear: () => setState({ busy: false }) };
}

const CHARGED = new Map([
  [true, "This was charged."],
  [false, "Nothing was spent."],
  [null, "Whether it was charged is not known here. Asked again in the same words, it is charged once at most."],
]);

export function Trouble({ problem, text }) {
  if (!problem) return null;
  const { where, message, why, fix, charged, code } = problem;
  return (
    <div class="trouble" role="alert">
      <p><strong>{sentence(message)}</strong></p>
      {where && text ? <pre class="under">{pointed(text, where)}</pre> : null}
      {why ? <p>{sentence(why)}</p> : null}
      {fix ? <p>{sentence(fix)}</p> : null}
      <p class="quiet">{code ? <code>{code}</code> : null} {CHARGED.get(charged)}</p>
    </div>
  );
}

export const sentence = (words) => (words ? words[0].toUpperCase() + words.slice(1) : "");

function pointed(text, { line, column }) {
  const shown = text.split("\n")[line - 1] ?? "";
  return `${shown}\n${" ".repeat(Math.max(0, column - 1))}^`;
}

/** What is loaded, or a word on why it is not there yet. */
export function Loaded({ from, children, label = "Loading" }) {
  if (from.problem) return <Trouble problem={from.problem} />;
  if (from.value === undefined) return <p class="quiet" role="status">{label} …</p>;
  return children(from.value);
}

export function Heading({ children, lead }) {
  const here = useRef(null);
  useLayoutEffect(() => { // before anybody can have put the focus elsewhere
    document.title = `${here.current.textContent} · Obverse`;
    here.current.focus();
  }, []);
  return (
    <header class="heading">
      <h1 tabIndex={-1} ref={here}>{children}</h1>
      {lead ? <p class="lead">{lead}</p> : null}
    </header>
  );
}

/** `focused`: it comes in place of what somebody has just pressed, and takes the focus that would be lost with it. */
export function Section({ title, id, children, aside, focused = false }) {
  const here = useRef(null);
  useLayoutEffect(() => {
    if (focused) here.current.focus();
  }, []);
  const named = id ?? `s-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return (
    <section class="card" aria-labelledby={named}>
      <div class="card-head"><h2 id={named} tabIndex={-1} ref={here}>{title}</h2>{aside}</div>
      {children}
    </section>
  );
}

/** A table whose rows are lists; a cell may be anything that can be shown. Wide ones scroll by themselves. */
export function Table({ caption, head, rows, numeric = [], empty = "Nothing yet.", labels = false }) {
  if (!rows.length) return <p class="quiet">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class={labels ? "" : "unseen"}>{caption}</caption>
        <thead><tr>{head.map((name, i) => <th key={i} scope="col" class={numeric.includes(i) ? "number" : ""}>{name}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, r) => (
            <tr key={r}>{row.map((cell, i) => <td key={i} class={numeric.includes(i) ? "number" : ""}>{cell}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

let fields = 0;

export function Field({ label, hint, children, narrow = false }) {
  const [id] = useState(() => `f${(fields += 1)}`);
  return (
    <div class={narrow ? "field narrow" : "field"}>
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": hint ? `${id}h` : undefined })}
      {hint ? <small id={`${id}h`}>{hint}</small> : null}
    </div>
  );
}

export function Input({ label, hint, value, onValue, narrow, ...more }) {
  return (
    <Field label={label} hint={hint} narrow={narrow}>
      {(own) => <input {...own} {...more} value={value} onInput={(event) => onValue(event.currentTarget.value)} />}
    </Field>
  );
}

export function Choice({ label, hint, value, onValue, options, narrow }) {
  return (
    <Field label={label} hint={hint} narrow={narrow}>
      {(own) => (
        <select {...own} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {options.map(([key, words]) => <option key={key} value={key} selected={key === value}>{words}</option>)}
        </select>
      )}
    </Field>
  );
}

export function Busy({ busy, children, ...more }) {
  return <button {...more} disabled={busy || more.disabled} aria-busy={busy}>{children}</button>;
}

/** A share of a whole, in words as well. */
export function Gauge({ share, words, label }) {
  const left = Math.max(0, Math.min(1, share));
  return (
    <div class="gauge">
      <meter min="0" max="1" low="0.1" high="0.5" optimum="1" value={left} aria-label={label}>{Math.round(100 * left)} %</meter>
      <span>{words}</span>
    </div>
  );
}

export function Facts({ facts }) {
  return (
    <dl class="facts">
      {facts.filter(([, value]) => value !== "" && value !== null && value !== undefined).map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  );
}

export const Epsilon = ({ value, delta }) => (
  <span class="epsilon">ε {value}{delta && delta !== "0" ? <>, δ {delta}</> : null}</span>
);

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

export function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Math.abs(value) >= 1e15 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toPrecision(3) : grouped.format(value);
  return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

/** About so much: three figures are enough for an error. */
export function roughly(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1000 ? grouped.format(Number(value.toPrecision(3))) : String(Number(value.toPrecision(3)));
}

export const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;
