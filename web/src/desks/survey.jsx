// The respondent's page: first consent, then an answer whose coin this very browser flips. Nobody signs in.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { Busy, Heading, Loaded, Section, Trouble, useAction, useLoaded } from "../parts.jsx";
import { forget, to } from "../route.js";

const PROGRAM = "/page/obverse-local.js";
const TOKEN = /^[0-9a-f]{64}$/;
const HEAD = 10; // bytes: 8 that name the survey, 2 of the epoch

const WORDS = {
  en: {
    lead: "Your answer is changed by chance in your own browser, before it is sent.", ask: "Do you want to take part?",
    yes: "I agree", no: "I decline", declined: "You declined. Nothing was made and nothing was sent.", mind: "I changed my mind",
    answer: "Your answer", send: "Flip the coin and send", sending: "Sending …",
    once: "It is sent as soon as the coin is flipped: whoever sent only the coins that they like would give themselves away.",
    what: "What is sent", shape: (n) => `${n} bytes: 8 that name the survey, 2 of its round, and ${n - HEAD} of the changed answer; beside them your link's token, which says nothing about you.`,
    done: "Thank you. This was sent, and nothing else:", drawn: "Your coin says:", mark: "survey", round: "round", said: "answer, changed by chance", token: "token",
    deny: "Whatever you meant, it could have been sent by either answer.", program: "The program that flips the coin",
    lines: (n) => `${n} lines, sent by this server and run by your browser. SHA-256:`, odds: "The odds", mean: "What do the odds mean?", card: "All of the small print",
    withdraw: "Withdraw my consent", withdrawn: "You withdrew. Nothing more will be sent from this browser; what was sent cannot be told from others and stays counted until it is deleted.",
    nolink: "To answer, open the link that you were given: it holds a token for one answer.", language: "Language", pick: "Please choose an answer.", over: "This browser has already answered as often as the survey allows.",
    unfit: "This survey cannot be answered in a browser; use the program that the people who ask have told you of.",
    shuffled: "This survey's card says that answers go to a shuffler, and this page knows none that it could send yours to. So it sends nothing; use the program that the people who ask have told you of.",
    uncounted: "Nothing was counted.", used: "This link was used already, and each link is for one answer. What you sent now does not count, and nobody keeps it.",
    usedBefore: "This link had been used when your answer arrived. If your first attempt got through, it counts, once; what was sent now does not.",
    invalid: "This link is not one of this survey as it is now: it may have been copied in part, or the survey was changed. What you sent does not count. Ask for a new link.",
    again: "It could not be delivered yet. The same bytes will be sent again; the coin is not flipped anew.", retry: "Send again", consentTitle: "Consent",
  },
  de: {
    lead: "Deine Antwort wird in deinem eigenen Browser zufällig verändert, bevor sie gesendet wird.", ask: "Möchtest du teilnehmen?",
    yes: "Ich stimme zu", no: "Ich lehne ab", declined: "Du hast abgelehnt. Nichts wurde erzeugt und nichts gesendet.", mind: "Ich habe es mir anders überlegt",
    answer: "Deine Antwort", send: "Münze werfen und senden", sending: "Wird gesendet …",
    once: "Gesendet wird, sobald die Münze gefallen ist: Wer nur Münzen sendet, die ihm gefallen, verrät sich selbst.",
    what: "Was gesendet wird", shape: (n) => `${n} Bytes: 8, die die Umfrage nennen, 2 für die Runde, und ${n - HEAD} für die veränderte Antwort; daneben das Zeichen aus deinem Link, das nichts über dich sagt.`,
    done: "Danke. Gesendet wurde dies und nichts sonst:", drawn: "Deine Münze sagt:", mark: "Umfrage", round: "Runde", said: "Antwort, zufällig verändert", token: "Zeichen",
    deny: "Was du auch meintest: Jede Antwort könnte dies gesendet haben.", program: "Das Programm, das die Münze wirft",
    lines: (n) => `${n} Zeilen, von diesem Server gesendet, in deinem Browser ausgeführt. SHA-256:`, odds: "Die Chancen", mean: "Was bedeuten die Chancen? (auf Englisch)", card: "Alles Kleingedruckte",
    withdraw: "Einwilligung widerrufen", withdrawn: "Du hast widerrufen. Von diesem Browser wird nichts mehr gesendet; was gesendet wurde, ist von anderem nicht zu unterscheiden und bleibt gezählt, bis es gelöscht wird.",
    nolink: "Zum Antworten öffne den Link, den du bekommen hast: Er enthält ein Zeichen für eine Antwort.", language: "Sprache", pick: "Bitte wähle eine Antwort.", over: "Dieser Browser hat schon so oft geantwortet, wie die Umfrage erlaubt.",
    unfit: "Diese Umfrage lässt sich nicht im Browser beantworten; nimm das Programm, das dir genannt wurde.",
    shuffled: "Die Karte dieser Umfrage sagt, dass Antworten an einen Mischer gehen; diese Seite kennt keinen, dem sie deine senden könnte. Darum sendet sie nichts; nimm das Programm, das dir genannt wurde.",
    uncounted: "Nichts wurde gezählt.", used: "Dieser Link wurde schon benutzt, und jeder Link gilt für eine Antwort. Was du jetzt gesendet hast, zählt nicht und wird nicht aufbewahrt.",
    usedBefore: "Dieser Link war schon benutzt, als deine Antwort ankam. Ist dein erster Versuch durchgekommen, so zählt er, und zwar einmal; was jetzt gesendet wurde, zählt nicht.",
    invalid: "Dieser Link gehört nicht zu dieser Umfrage, wie sie jetzt ist: Vielleicht fehlt ein Stück, oder die Umfrage wurde geändert. Was du gesendet hast, zählt nicht. Bitte um einen neuen Link.",
    again: "Es konnte noch nicht zugestellt werden. Dieselben Bytes werden erneut gesendet; die Münze wird nicht neu geworfen.", retry: "Erneut senden", consentTitle: "Einwilligung",
  },
};

const storage = { get: (name) => localStorage.getItem(name), set: (name, text) => localStorage.setItem(name, text) };
const hexed = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhexed = (text) => Uint8Array.from(text.match(/../g), (pair) => Number.parseInt(pair, 16));

export function Survey({ api, name, query }) {
  const [token] = useState(() => kept(api, name, query.get("token")));
  const loaded = useLoaded(() => opened(api, name), [api, name]);
  return (
    <Loaded from={loaded}>
      {(found) => (found.spec ? <Asked {...found} api={api} name={name} token={token} /> : <Unfit {...found} />)}
    </Loaded>
  );
}

/** The token of the link; it goes out of the address at once, and stays with the tab. */
function kept(api, name, given) {
  const place = `obverse token ${api.project} ${name}`;
  if (given && TOKEN.test(given)) sessionStorage.setItem(place, given);
  if (given) forget();
  return sessionStorage.getItem(place);
}

async function opened(api, name) {
  const [local, bytes, source] = await Promise.all([
    import(/* what is shown is what runs */ "/page/obverse-local.js"), api.bytes(`/surveys/${encodeURIComponent(name)}/spec`), fetch(PROGRAM).then((reply) => reply.text()),
  ]);
  const hash = hexed(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(source))));
  try {
    const spec = await local.readSpec(bytes);
    const client = new local.Client(storage);
    if (spec.told.shuffler) return { unread: spec.told, why: "shuffled" }; // its card promises that nobody else is sent a report
    return { spec, client, source, hash, record: await client.record(spec) };
  } catch {
    return { unread: JSON.parse(new TextDecoder().decode(bytes)) };
  }
}

function languageOf(told) {
  const there = Object.keys(told.card);
  const wanted = navigator.languages.flatMap((one) => [one, one.split("-")[0]]);
  return wanted.find((one) => there.includes(one)) ?? there.find((one) => one === "und" || one === "en") ?? there[0];
}

const spoken = (language) => WORDS[language] ?? WORDS[language.split("-")[0]] ?? WORDS.en;
const said = (texts, language) => texts[language] ?? texts[language.split("-")[0]] ?? texts.und ?? texts.en ?? Object.values(texts)[0] ?? "";

function Unfit({ unread, why = "unfit" }) {
  const language = languageOf(unread);
  return (
    <div class="survey">
      <Heading>{said(unread.question, language)}</Heading>
      <p class="banner">{spoken(language)[why]}</p>
      <Section title={spoken(language).card}><p class="card-text">{said(unread.card, language)}</p></Section>
    </div>
  );
}

function Asked({ spec, client, source, hash, record, api, name, token }) {
  const { told } = spec;
  const [language, setLanguage] = useState(() => languageOf(told));
  const [consent, setConsent] = useState(record.consent);
  const [acted, setActed] = useState(false);
  const turn = (state) => {
    setActed(true);
    setConsent(state);
  };
  const words = spoken(language);
  const languages = Object.keys(told.card).filter((one) => one !== "und");
  const consenting = useAction(async (act, state) => {
    await client[act](spec);
    turn(state);
  });
  useLayoutEffect(() => { // with the words: who hears them hears them in their language
    document.documentElement.lang = language === "und" ? "en" : language;
    return () => (document.documentElement.lang = "en");
  }, [language]);
  const lines = said(told.card, language).split("\n");
  return (
    <div class="survey">
      <Heading lead={words.lead}>{said(told.question, language)}</Heading>
      {languages.length > 1 ? (
        <p role="group" aria-label={words.language}>
          {languages.map((one) => <button key={one} class="small" lang={one} aria-pressed={one === language} onClick={() => setLanguage(one)}>{named(one)}</button>)}
        </p>
      ) : null}
      <Section title={words.odds} id="odds"><p class="odds">{lines[3]}</p><p>{words.deny}</p><p><a href={to("learn", "two-coins")} hreflang="en">{words.mean}</a></p></Section>
      <Trouble problem={consenting.problem} />
      {consent === "given" ? (
        <Answering {...{ spec, client, api, name, token, language, words, record, acted }} onWithdraw={() => consenting.run("withdraw", "withdrawn")} />
      ) : consent === "declined" || consent === "withdrawn" ? (
        <Section key={consent} title={words.consentTitle} id="consent" focused={acted}>
          <p role="status">{consent === "declined" ? words.declined : words.withdrawn}</p>
          <div class="actions"><button onClick={() => turn("unasked")}>{words.mind}</button></div>
        </Section>
      ) : (
        <Section key={consent} title={words.ask} id="consent" focused={acted}>
          <p>{said(told.consent, language)}</p>
          <div class="actions even">
            <Busy busy={consenting.busy} onClick={() => consenting.run("consent", "given")}>{words.yes}</Busy>
            <Busy busy={consenting.busy} onClick={() => consenting.run("decline", "declined")}>{words.no}</Busy>
          </div>
        </Section>
      )}
      <Section title={words.card} id="print"><p class="card-text">{lines.slice(1).join("\n")}</p><p class="quiet">{spec.id}</p></Section>
      <Section title={words.program} id="program">
        <p>{words.lines(source.trimEnd().split("\n").length)} <code>{hash}</code></p>
        <details><summary>obverse-local.js</summary><pre class="source" tabIndex={0}>{source}</pre></details>
      </Section>
    </div>
  );
}

const named = (language) => new Intl.DisplayNames([language], { type: "language" }).of(language);

function Answering({ spec, client, api, name, token, language, words, record, acted, onWithdraw }) {
  const { told } = spec;
  const asked = useMemo(() => (spec.parts.length ? spec.parts.map((part) => part.told) : [told]), [spec]);
  const [answers, setAnswers] = useState({});
  const sent = useAction(() => deliver({ api, name, token, spec, client, answers, several: spec.parts.length > 0 }));
  const waiting = sessionStorage.getItem(pending(spec, token));
  const whole = asked.every((one) => answers[one.name] || one.none);
  if (sent.value?.uncounted) return <Uncounted why={sent.value.uncounted} {...{ words, onWithdraw }} />;
  if (sent.value) return <Delivered {...sent.value} {...{ spec, words, language, asked }} onWithdraw={onWithdraw} />;
  return (
    <Section title={words.answer} id="answer" focused={acted}>
      {!token ? <p class="banner">{words.nolink}</p> : null}
      {record.reports >= told.reports && !waiting ? <p class="banner">{words.over}</p> : null}
      <form onSubmit={(event) => { event.preventDefault(); sent.run(); }}>
        {asked.map((one) => <Question key={one.name} one={one} language={language} value={answers[one.name]} onValue={(value) => setAnswers({ ...answers, [one.name]: value })} />)}
        <h3>{words.what}</h3>
        <p>{words.shape(HEAD + spec.kind.length(spec.protocol))}</p>
        <p class="quiet">{words.once}</p>
        <Trouble problem={sent.problem} />
        {sent.problem && waiting ? <p>{words.again}</p> : null}
        <div class="actions">
          <Busy class="primary" type="submit" busy={sent.busy} disabled={!token || (!whole && !waiting)}>{sent.busy ? words.sending : waiting ? words.retry : words.send}</Busy>
          <button type="button" onClick={onWithdraw}>{words.withdraw}</button>
        </div>
      </form>
    </Section>
  );
}

function Question({ one, language, value, onValue }) {
  return (
    <fieldset>
      <legend>{said(one.question, language)}</legend>
      {one.options?.length
        ? one.options.map((option) => (
            <label key={option} class="option"><input type="radio" name={one.name} checked={value === option} onChange={() => onValue(option)} /> {labelled(one, option, language)}</label>
          ))
        : <input aria-label={said(one.question, language)} value={value ?? ""} onInput={(event) => onValue(event.currentTarget.value)} />}
    </fieldset>
  );
}

/** An option as a language calls it; as it is where that one has no word for it. */
const labelled = ({ labels = {} }, option, language) => (labels[language] ?? labels[language.split("-")[0]])?.[option] ?? option;

const pending = (spec, token) => `obverse pending ${spec.id} ${token}`;

/** Makes the report once and sends it; where that fails, the same bytes are sent again later and no coin is flipped anew. */
async function deliver({ api, name, token, spec, client, answers, several }) {
  const place = pending(spec, token);
  let report = sessionStorage.getItem(place);
  const retried = Boolean(report);
  if (!report) {
    report = hexed(await client.report(spec, several ? answers : answers[spec.told.name], { token: unhexed(token) }));
    sessionStorage.setItem(place, report);
  }
  const { counted, rejected } = await api.post(`/surveys/${encodeURIComponent(name)}/reports`, { reports: [{ token, report }] });
  sessionStorage.removeItem(place);
  if (counted === 1) return { report, token };
  return { uncounted: !rejected.spent ? "invalid" : retried ? "usedBefore" : "used" };
}

/** What was sent did not count: its link was used before, or is none. */
function Uncounted({ why, words, onWithdraw }) {
  return (
    <Section title={words.uncounted} id="sent" focused>
      <p role="alert">{words[why]}</p>
      <div class="actions"><button onClick={onWithdraw}>{words.withdraw}</button></div>
    </Section>
  );
}

function Delivered({ report, token, spec, words, language, asked, onWithdraw }) {
  const parts = [[words.mark, report.slice(0, 16)], [words.round, report.slice(16, 2 * HEAD)], [words.said, report.slice(2 * HEAD)], [words.token, token]];
  const code = spec.protocol.name === "direct" && asked.length === 1 ? unhexed(report.slice(2 * HEAD)).reduceRight((sum, byte) => 256 * sum + byte, 0) : null;
  const option = code === null ? null : asked[0].options[code];
  const label = option === null ? "" : labelled(asked[0], option, language);
  return (
    <Section title={words.what} id="sent" focused>
      <p role="status"><strong>{words.done}</strong></p>
      <dl class="facts">{parts.map(([key, bytes]) => <div key={key}><dt>{key}</dt><dd><code>{bytes}</code></dd></div>)}</dl>
      {label ? <p>{words.drawn} <strong>{label}</strong>. {words.deny}</p> : <p>{words.deny}</p>}
      <div class="actions"><button onClick={onWithdraw}>{words.withdraw}</button></div>
    </Section>
  );
}
