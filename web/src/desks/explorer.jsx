// The accuracy explorer: how error falls with price, for the question at hand; nothing is read and nothing is spent.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Choice, Heading, Input, Loaded, Section, Table, Trouble, roughly, useLoaded } from "../parts.jsx";
import { Picture } from "../picture.jsx";
import { Words, kept } from "./analyst.jsx";

const PRICES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const PAUSE_MS = 500;
const CENTRAL = "noise added once, by the curator", LOCAL = "noise added by everybody themselves";

export function Explorer({ api }) {
  const tables = useLoaded(() => api.get("/tables").then((found) => found.tables), [api]);
  const [text, setText] = useState(() => sessionStorage.getItem(kept(api.project)) ?? "");
  const [people, setPeople] = useState("10000");
  const [options, setOptions] = useState("2");
  const [found, setFound] = useState({});
  const [measure, setMeasure] = useState(0);
  useLayoutEffect(() => sessionStorage.setItem(kept(api.project), text), [text]);
  useEffect(() => {
    let current = true;
    if (!text.trim()) return undefined;
    const told = { sql: text, epsilons: PRICES, people: Math.max(1, Math.round(Number(people)) || 1), options: Math.max(2, Math.round(Number(options)) || 2) };
    const later = setTimeout(() => {
      api.post("/explore", told).then((value) => current && setFound({ value }), (problem) => current && setFound({ problem }));
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(later);
    };
  }, [api, text, people, options]);
  const names = found.value?.measures ?? [];
  const place = Math.min(measure, Math.max(0, names.length - 1));
  return (
    <>
      <Heading lead="Error against price for the question at hand. Nothing is read, nothing is spent: look as long as you like.">Explore</Heading>
      <Section title="Question">
        <Words text={text} tables={tables.value ?? []} onChange={setText} onAsk={() => {}} hint="The pictures follow what you write." />
        <div class="row">
          {names.length > 1 ? <Choice narrow label="Measure" value={String(place)} onValue={(value) => setMeasure(Number(value))} options={names.map((name, i) => [String(i), name])} /> : null}
          <Input narrow label="People, if each answered alone" type="number" min="1" value={people} onValue={setPeople} />
          <Input narrow label="Answers that each may give" type="number" min="2" max="1024" value={options} onValue={setOptions} />
        </div>
        <Trouble problem={found.problem} text={text} />
      </Section>
      {found.value ? <Pictures told={found.value} place={place} people={people} /> : null}
    </>
  );
}

function Pictures({ told, place, people }) {
  const { points, measures } = told;
  if (!measures.length) return <Section title="Error"><p>Only public tables or declarations are read: free at any price.</p></Section>;
  const name = measures[place];
  const central = points.map((point) => ({ series: CENTRAL, x: Number(point.epsilon), y: point.widths[place] })).filter(({ y }) => y > 0);
  const local = points.map((point) => ({ series: LOCAL, x: Number(point.epsilon), y: point.local })).filter(({ y }) => y > 0);
  const many = points.map((point) => ({ series: name, x: point.like_this, y: point.widths[place] })).filter(({ x, y }) => x > 0 && y > 0);
  const series = [{ name: CENTRAL, colour: "var(--bar)" }, { name: LOCAL, colour: "var(--local)" }];
  return (
    <div class="two">
      <Section title="Price and error">
        <Legend series={series} />
        <Picture kind="curves" told={{ points: [...central, ...local], series, x: "price ε", y: "± error" }} inputs={[told, place]} />
        <p class="quiet">The dashed line is one count of {roughly(Number(people))} people, each of whom randomizes their own answer and trusts nobody; the full line is {name} as asked here, where the curator is trusted.</p>
      </Section>
      <Section title="One question against many">
        <Picture kind="curves" told={{ points: many, series: [{ name, colour: "var(--bar)" }], x: "questions like this that are left", y: "± error of each" }} inputs={[told, place]} />
        <p class="quiet">The same budget buys one precise answer or many rough ones.</p>
      </Section>
      <div class="wide"><Section title="The same as a table">
        <Table caption="Error at each price" head={["price ε", `± ${name}`, "± if each answered alone", "questions left"]} numeric={[0, 1, 2, 3]}
          rows={points.map((point) => [point.epsilon, roughly(point.widths[place]), roughly(point.local), point.like_this === null ? "–" : roughly(point.like_this)])} />
      </Section></div>
    </div>
  );
}

function Legend({ series }) {
  return (
    <ul class="legend">
      {series.map(({ name, colour }, i) => (
        <li key={name}><svg width="34" height="8" aria-hidden="true"><line x1="0" x2="34" y1="4" y2="4" stroke={colour} stroke-width="3" stroke-dasharray={i ? "6 4" : undefined} /></svg>{name}</li>
      ))}
    </ul>
  );
}
