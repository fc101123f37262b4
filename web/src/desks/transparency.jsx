// What a project tells everybody, without an account: every epsilon, unit, limit, release and survey card.

import { unlessAbsent } from "../api.js";
import { Facts, Gauge, Heading, Loaded, Section, Table, Trouble, percent, sentence, useAction, useLoaded } from "../parts.jsx";
import { to } from "../route.js";

const APART = { "add-remove": "with or without one of them", replace: "one of them in another's place" };
const ADDED = { pure: "sums of epsilon", zcdp: "sums of rho" };
const worded = (words, term) => (words[term] ? `${words[term]} (${term})` : term);

export function Transparency({ api }) {
  const card = useLoaded(() => api.get("/transparency"), [api]);
  return (
    <>
      <Heading lead="Nothing here follows from anybody's data: these are the promises, and what was charged against them.">{`What ${api.project} tells everybody`}</Heading>
      <p>What do such promises mean? <a href={to("learn")}>Short lessons</a> tell it, from <a href={to("learn", "two-coins")}>the two coins</a> on.</p>
      <Loaded from={card}>{(told) => <Told api={api} told={told} />}</Loaded>
    </>
  );
}

function Told({ api, told }) {
  const sign = told.quantity === "rho" ? "ρ" : "ε";
  return (
    <>
      {told.budget ? (
        <Section title="The promise">
          <p>{sentence(told.sentence)}</p>
          <Facts facts={[["Who is protected", told.unit], ["One apart means", worded(APART, told.neighbours)], ["Losses add up as", worded(ADDED, told.accounting)], ["With every survey as well", told.together]]} />
          <Gauge label="Budget left" share={told.budget.share_left} words={`${sign} ${told.budget.spent} of ${told.budget.cap} spent, ${percent(told.budget.share_left)} left; δ ${told.budget.delta_spent} of ${told.budget.delta_cap}`} />
          {told.purposes.length ? (
            <Table caption="Budgets of purposes" labels head={["purpose", `${sign} allowed`, "spent", "left"]} numeric={[1, 2, 3]} rows={told.purposes.map((line) => [line.name, line.cap, line.spent, line.left])} />
          ) : null}
        </Section>
      ) : null}
      {told.budget ? (
        <Section title="What was charged">
          <Table caption="Charges by their size" head={["answers", `${sign} each`, "δ each"]} numeric={[0, 1, 2]} rows={told.charges.map((one) => [one.times, one.amount, one.delta])} empty="Nothing was asked yet." />
        </Section>
      ) : null}
      {told.tables.length ? (
        <Section title="Tables and limits">
          <Table caption="Private tables" head={["table", "protected unit", "limit on one unit"]} rows={told.tables.map((one) => [one.name, one.unit, one.limits])} />
        </Section>
      ) : null}
      <Releases api={api} names={told.releases} />
      {told.surveys.length ? <Section title="Surveys">{told.surveys.map((one) => <SurveyCard key={one.name} api={api} line={one} />)}</Section> : null}
    </>
  );
}

export function Releases({ api, names }) {
  return (
    <Section title="Releases">
      {names.length ? names.map((name) => <Release key={name} api={api} name={name} />) : <p class="quiet">Nothing was published yet.</p>}
    </Section>
  );
}

function Release({ api, name }) {
  const place = `/releases/${encodeURIComponent(name)}`;
  const found = useLoaded(async () => {
    const { names } = await api.get(place);
    const metadata = names.includes("metadata.json") ? await unlessAbsent(api.get(`${place}/metadata.json`), null) : null;
    return { names, claim: metadata?.claim ?? null };
  }, [api, name]);
  return (
    <details open>
      <summary>{name}</summary>
      <Loaded from={found}>
        {({ names, claim }) => (
          <>
            {claim ? <><p>{sentence(claim.sentence)}</p><Facts facts={[["Epsilon", claim.epsilon], ["Delta", claim.delta], ["Protected", claim.unit], ["Limits", claim.limits], ["Receipt", claim.receipt]]} /></> : <p class="quiet">No statement lies in this folder: whoever published it knows what it promises.</p>}
            {names.includes("statement.md") ? <Statement api={api} place={`${place}/statement.md`} /> : null}
            <ul>{names.map((file) => <li key={file}><a href={api.href(`${place}/${encodeURIComponent(file)}`)} download={file}>{file}</a></li>)}</ul>
          </>
        )}
      </Loaded>
    </details>
  );
}

function Statement({ api, place }) {
  const read = useAction(() => api.text(place));
  return (
    <details onToggle={(event) => event.currentTarget.open && read.value === undefined && read.run()}>
      <summary>The whole statement</summary>
      <Trouble problem={read.problem} />
      {read.value ? <pre class="statement">{read.value}</pre> : null}
    </details>
  );
}

function SurveyCard({ api, line }) {
  const found = useLoaded(() => api.get(`/surveys/${encodeURIComponent(line.name)}`), [api, line.name]);
  const language = navigator.language.split("-")[0];
  return (
    <details open>
      <summary>{line.name}: ε {line.report} a report, ε {line.lifetime} in a lifetime</summary>
      <Loaded from={found}>
        {({ card, id }) => (
          <>
            <p class="card-text">{card.text[language] ?? card.text.und ?? card.text.en ?? Object.values(card.text)[0]}</p>
            <p class="quiet"><code>{id}</code> · <a href={to(api.project, "survey", line.name)}>The survey's page</a></p>
          </>
        )}
      </Loaded>
    </details>
  );
}
