// An answer: its table, its picture, and what is claimed of it. Never a number without its interval.

import { useState } from "preact/hooks";
import { Choice, Epsilon, Facts, Table, percent, roughly, sentence, shown } from "./parts.jsx";
import { Picture } from "./picture.jsx";

const ROWS = 500;
const ORDERED = ["date", "timestamp"];

export function Answer({ answer, rehearsal = false, api }) {
  const values = answer.columns.flatMap(({ role, type }, i) => (role === "value" && type !== "text" ? [i] : []));
  const keys = answer.columns.flatMap(({ role }, i) => (role === "key" ? [i] : []));
  const [chosen, setChosen] = useState(0);
  const column = values[Math.min(chosen, values.length - 1)];
  const alone = answer.rows.length === 1 && values.length > 0 && !keys.length;
  return (
    <div class={rehearsal ? "answer rehearsal" : "answer"}>
      {rehearsal ? <p class="banner">Made-up rows. These numbers say nothing about anybody; only the shape and the noise are real.</p> : null}
      {alone ? <Alone answer={answer} values={values} /> : null}
      {!alone && values.length && keys.length && answer.rows.length ? (
        <>
          {values.length > 1 ? (
            <Choice narrow label="Shown in the picture" value={String(chosen)} onValue={(text) => setChosen(Number(text))}
              options={values.map((place, i) => [String(i), answer.columns[place].name])} />
          ) : null}
          <Groups answer={answer} keys={keys} column={column} />
        </>
      ) : null}
      {alone ? null : <AnswerTable answer={answer} />}
      <Bare answer={answer} values={values} />
      <Claim answer={answer} rehearsal={rehearsal} api={api} />
    </div>
  );
}

/** Numbers without an interval are named: those of private rows alone, since public ones are exact. */
function Bare({ answer, values }) {
  const bare = values.filter((place) => answer.rows.some((row, r) => row[place] !== null && !answer.intervals[r][place]));
  if (!bare.length || !answer.claim.mechanisms.length) return null;
  return (
    <p class="banner">
      Of {bare.map((place) => answer.columns[place].name).join(", ")} no interval can be told, and the noise may have moved it far: ask what it is computed from as columns of their own.
    </p>
  );
}

function Alone({ answer, values }) {
  return (
    <div class="alone">
      {values.map((place) => {
        const [value, interval] = [answer.rows[0][place], answer.intervals[0][place]];
        return (
          <div key={place}>
            <span class="name">{answer.columns[place].name}</span>
            <span class="big">{fitting(value, interval)}</span>
            {interval ? <span class="interval">{between(interval)} with {percent(answer.level)}</span> : null}
          </div>
        );
      })}
    </div>
  );
}

function Groups({ answer, keys, column }) {
  const rows = answer.rows.map((row, r) => {
    const [low, high] = answer.intervals[r][column] ?? [null, null];
    const number = (found) => (found === null || found === undefined ? null : Number(found));
    return { key: keys.map((i) => shown(row[i])).join(", "), value: Number(row[column] ?? NaN), low: number(low), high: number(high) };
  }).filter(({ value }) => Number.isFinite(value));
  if (!rows.length) return null;
  const ordered = keys.length === 1 && ORDERED.includes(answer.columns[keys[0]].type) && rows.length > 2;
  const { name } = answer.columns[column];
  return (
    <figure>
      <Picture kind={ordered ? "course" : "bars"} told={{ rows, value: name, label: name }} inputs={[answer, column]} />
      <figcaption class="quiet">
        {rows.some(({ low }) => low !== null) ? `${ordered ? "The band is" : "The black lines are"} the noise interval: what noise alone explains, with ${percent(answer.level)}.` : ""}
        {rows.length > 40 && !ordered ? ` The first 40 of ${rows.length} are drawn.` : ""}
      </figcaption>
    </figure>
  );
}

function AnswerTable({ answer }) {
  const head = answer.columns.map(({ name }) => name);
  const numeric = answer.columns.flatMap(({ type }, i) => (["integer", "double"].includes(type) ? [i] : []));
  const rows = answer.rows.slice(0, ROWS).map((row, r) =>
    row.map((value, i) => {
      const interval = answer.intervals[r][i];
      return interval ? <>{fitting(value, interval)} <span class="interval">{between(interval)}</span></> : shown(value);
    }));
  return (
    <>
      <Table caption={`The answer, with noise intervals at ${percent(answer.level)}`} labels head={head} rows={rows} numeric={numeric} empty="No group passed." />
      {answer.rows.length > ROWS ? <p class="quiet">These are the first {ROWS} of {shown(answer.rows.length)} rows; the files below hold all of them.</p> : null}
    </>
  );
}

const between = (interval) => `${fitting(interval[0], interval)} to ${fitting(interval[1], interval)}`;

/** A number with no more figures than its interval leaves any meaning. */
function fitting(value, interval) {
  const width = interval ? Number(interval[1]) - Number(interval[0]) : NaN;
  if (typeof value !== "number" || !(width > 0) || !Number.isFinite(width)) return shown(value);
  const digits = Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(width))));
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function Claim({ answer, rehearsal, api }) {
  const { claim, price, remaining } = answer;
  const paid = rehearsal ? "nothing" : price.stored ? "nothing: it was asked before" : <Epsilon value={price.epsilon} delta={price.delta} />;
  return (
    <>
      <Facts facts={[
        ["Cost", paid],
        ["Budget", rehearsal || !remaining ? "" : left(remaining)],
        ["Protected", claim.unit],
        ["Noise", claim.mechanisms.join(", ")],
        ["Limits", claim.limits],
        ["Bias", claim.bias],
      ]} />
      <details><summary>What is promised</summary><p>{sentence(claim.sentence)}</p>{claim.belief ? <p>{sentence(claim.belief)}</p> : null}</details>
      {claim.receipt && api ? (
        <p class="quiet">Receipt <code>{claim.receipt}</code> · <a href={api.href(`/answers/${claim.receipt}.csv`)} download={`${claim.receipt}.csv`}>CSV</a> · <a href={api.href(`/answers/${claim.receipt}.json`)} download={`${claim.receipt}.json`}>JSON</a></p>
      ) : null}
    </>
  );
}

export function left({ share, epsilon, like_this: like }) {
  const words = [epsilon === null ? `${percent(share)} of the budget left` : `ε ${epsilon} left (${percent(share)})`];
  if (like !== null) words.push(like ? `about ${roughly(like)} more like this` : "not enough for another like this");
  return words.join(", ");
}
