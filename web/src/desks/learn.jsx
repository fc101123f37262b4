// The Learn corner: lessons that were run when the page was built. Nobody signs in, and no answer is sent or kept.

import { h } from "preact";
import { useState } from "preact/hooks";
import { Problem } from "../api.js";
import { verdict } from "../check.js";
import { Heading, Input, Loaded, Section, Table, sentence, useLoaded } from "../parts.jsx";
import { to } from "../route.js";
import address from "../learn.json";

const SHORT = 10; // letters

export function Learn({ name }) {
  const found = useLoaded(lessons, []);
  return <Loaded from={found}>{(all) => <Corner key={name} name={name} all={all} />}</Loaded>;
}

/** They come only when somebody wants them. */
async function lessons() {
  const reply = await fetch(new URL(address, import.meta.url)).catch(() => null);
  if (!reply?.ok) throw new Problem({ detail: "the lessons cannot be had.", fix: "Load the page again." });
  return (await reply.json()).lessons;
}

function Corner({ name, all }) {
  const place = all.findIndex((one) => one.name === name);
  if (place >= 0) return <Lesson lesson={all[place]} before={all[place - 1]} after={all[place + 1]} />;
  if (name) return <><Heading lead={`There is no lesson of the name ${name}.`}>Not here</Heading><p><a href={to("learn")}>All lessons</a></p></>;
  return (
    <div class="lesson">
      <Heading lead="Short lessons, each with an exercise. Everything in them was computed by the product itself, on made-up rows. Noise is that of one run: yours will differ. What you answer stays on this page.">Learn</Heading>
      <Section title="Lessons">
        <ol class="lessons">{all.map((one) => <li key={one.name}><a href={to("learn", one.name)}>{one.title}</a></li>)}</ol>
      </Section>
    </div>
  );
}

function Lesson({ lesson, before, after }) {
  return (
    <div class="lesson">
      <Heading>{lesson.title}</Heading>
      {lesson.blocks.map((block, i) => <Block key={i} block={block} />)}
      <Exercise name={lesson.name} exercise={lesson.exercise} />
      <nav class="onward" aria-label="Lessons">
        {before ? <a href={to("learn", before.name)}>← {before.title}</a> : <span />}
        <a href={to("learn")}>All lessons</a>
        {after ? <a href={to("learn", after.name)}>{after.title} →</a> : <span />}
      </nav>
    </div>
  );
}

function Block({ block }) {
  if (block.kind === "text") return <p><Words text={block.words} /></p>;
  return (
    <section class="card">
      <p><Words text={block.words} /></p>
      {block.kind === "slider" ? <Slider block={block} /> : <Shown shown={block.shown} name="What the step shows" />}
      <details><summary>The code that was run</summary><pre class="source" tabIndex={0}>{block.code}</pre></details>
    </section>
  );
}

let sliders = 0;

/** A setting and what is shown at each of its places: all of it was made beforehand. */
function Slider({ block }) {
  const [id] = useState(() => `slider${(sliders += 1)}`);
  const [place, setPlace] = useState(block.start);
  const { at, shown } = block.frames[place];
  return (
    <>
      <div class="slider"><label for={id}>{sentence(block.name)}</label><output for={id}>{at}</output></div>
      <input id={id} type="range" min="0" max={block.frames.length - 1} step="1" value={place} aria-valuetext={at} onInput={(event) => setPlace(Number(event.currentTarget.value))} />
      <Shown shown={shown} name={`${sentence(block.name)} ${at}`} live />
    </>
  );
}

/** A short cell stays on one line. */
const unbroken = (cell) => (cell.length <= SHORT ? cell.replaceAll(" ", "\u00a0") : cell);

function Shown({ shown, name, live = false }) {
  return (
    <div class="shown">
      {shown.columns.length ? <Table caption={name} head={shown.columns} rows={shown.rows.map((row) => row.map(unbroken))} /> : null}
      {shown.svg ? <div class="scroll" tabIndex={0} role="region" aria-label={name}>{drawn(shown.svg)}</div> : null}
      <div aria-live={live ? "polite" : undefined}>{shown.words.split("\n").filter(Boolean).map((line, i) => <p key={i}><Words text={line} /></p>)}</div>
    </div>
  );
}

/** A picture out of [element, attributes, child, ...]. */
function drawn(part) {
  if (typeof part === "string") return part;
  const [name, told, ...inside] = part;
  return h(name, told, ...inside.map(drawn));
}

/** Text, with what stands between backticks as code. */
const Words = ({ text }) => text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part));

function Exercise({ name, exercise }) {
  return (
    <Section title="Exercise">
      {exercise.check.kind === "sql" ? <ByCommand name={name} exercise={exercise} /> : <Here exercise={exercise} />}
      <details><summary>A solution</summary><p><code>{exercise.answer}</code></p><p><Words text={sentence(exercise.why)} /></p></details>
    </Section>
  );
}

/** What only the product can judge. */
function ByCommand({ name, exercise }) {
  return (
    <>
      <p><Words text={exercise.question} /></p>
      <p>A question in SQL is checked where the product runs:</p>
      <pre class="sql" tabIndex={0}>{`obverse learn ${name} --answer "SELECT ..."`}</pre>
      <details><summary>A hint</summary><p><Words text={sentence(exercise.hint)} /></p></details>
    </>
  );
}

function Here({ exercise }) {
  const { check, question } = exercise;
  const [answer, setAnswer] = useState("");
  const [found, setFound] = useState(null);
  const change = (text) => {
    setAnswer(text);
    setFound(null);
  };
  const submit = (event) => {
    event.preventDefault();
    setFound(verdict(exercise, answer));
  };
  return (
    <form onSubmit={submit}>
      {check.kind === "choice" ? (
        <fieldset>
          <legend><Words text={question} /></legend>
          {check.options.map(({ letter, words }) => (
            <label key={letter} class="option"><input type="radio" name="answer" checked={answer === letter} onChange={() => change(letter)} /> <span><Words text={words} /></span></label>
          ))}
        </fieldset>
      ) : (
        <>
          <p><Words text={question} /></p>
          <Input label="Your answer" hint="A number, such as 0.25, 1/4 or 25 %." value={answer} onValue={change} autocomplete="off" />
        </>
      )}
      <button class="primary" type="submit">Check</button>
      <p class="verdict" role="status">{found ? <><span class={found.right ? "ok" : "not-ok"}>{found.right ? "Right:" : "Not yet:"}</span> <Words text={found.words} /></> : null}</p>
    </form>
  );
}
