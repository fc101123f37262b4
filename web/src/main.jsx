// The page: who is signed in, where they are, and the desk that belongs there.

import { render } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { at } from "./api.js";
import { Analyst, History, kept } from "./desks/analyst.jsx";
import { Accounts, Budgets, Published, Surveys, Tables } from "./desks/curator.jsx";
import { Explorer } from "./desks/explorer.jsx";
import { Learn } from "./desks/learn.jsx";
import { Ledger } from "./desks/ledger.jsx";
import { Attacks, Report } from "./desks/reviewer.jsx";
import { Rights } from "./desks/rights.jsx";
import { SignIn } from "./desks/signin.jsx";
import { Survey } from "./desks/survey.jsx";
import { Transparency } from "./desks/transparency.jsx";
import { Heading, Trouble } from "./parts.jsx";
import { to, useRoute } from "./route.js";

const DESKS = {
  analyst: [["ask", "Ask"], ["explore", "Explore"], ["history", "History"]],
  curator: [
    ["tables", "Tables"], ["budgets", "Budgets"], ["accounts", "Accounts"], ["ledger", "Ledger"], ["releases", "Releases"],
    ["surveys", "Surveys"], ["rights", "Rights"], ["ask", "Ask"], ["explore", "Explore"], ["history", "History"],
  ],
  reviewer: [["report", "Report"], ["attacks", "Attacks"], ["ledger", "Ledger"], ["explore", "Explore"]],
};
const SHOWN = {
  ask: Analyst, explore: Explorer, history: History, tables: Tables, budgets: Budgets, accounts: Accounts, ledger: Ledger,
  releases: Published, surveys: Surveys, rights: Rights, attacks: Attacks, report: Report,
};
const OPEN = ["public", "survey"]; // for everybody
const ENTER = "enter"; // with a token, to one's own first desk
const WRITING = [ENTER, "ask", "explore", "attacks"]; // where there is, or will be in a moment, an editor
const LEARN = "learn"; // the corner of the lessons, which belongs to no project

function Page() {
  const route = useRoute();
  const { project, desk, query } = route;
  const api = useMemo(() => at(project), [project]);
  const [signed, setSigned] = useState(undefined);
  const [problem, setProblem] = useState(null);
  const entering = desk === ENTER;
  const open = OPEN.includes(desk) || project === LEARN;
  useLayoutEffect(() => { // nobody waits for a first painting
    setProblem(null);
    if (project && WRITING.includes(desk)) import("./editor.js").catch(() => {}); // meanwhile; who needs it asks again
    if (!project || entering || open) { // nobody is asked who they are
      setSigned(null);
      return;
    }
    setSigned(undefined);
    api.get("/session").then(
      ({ name, role }) => setSigned({ project, name, role }),
      (found) => {
        setSigned(null);
        if (![401, 404].includes(found.status)) setProblem(found);
      },
    );
  }, [project, open]);
  const begin = (who) => {
    setSigned(who);
    location.hash = to(who.project, DESKS[who.role][0][0]);
  };
  const leave = async () => {
    await api.post("/logout").catch(() => {});
    sessionStorage.removeItem(kept(project)); // nobody who comes after reads what was asked
    setSigned(null);
    location.hash = to(project);
  };
  const mine = signed?.project === project ? signed : null;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <Top project={project} desk={desk} signed={mine} onLeave={leave} />
      <main id="main" tabIndex={-1}>
        <Trouble problem={problem} />
        <Desk route={route} api={api} signed={signed === undefined ? undefined : mine} onSigned={begin} token={entering ? query.get("token") : null} />
      </main>
      <footer class="quiet">Obverse: both sides of the coin, deniability for each and truth about all. <a href={to(LEARN)}>Learn</a> · <a href="/page/licenses.txt">Licences</a></footer>
    </>
  );
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function Top({ project, desk, signed, onLeave }) {
  return (
    <header class="top">
      <a class="brand" href="#/"><img src="/page/coin.svg" alt="" width="26" height="26" /> Obverse</a>
      {project === LEARN ? <a class="project" href={to(LEARN)}>Learn</a> : project ? <span class="project">{project}</span> : null}
      {signed ? (
        <>
          <nav aria-label="Desks">
            {DESKS[signed.role].map(([key, words]) => <a key={key} href={to(project, key)} aria-current={key === desk ? "page" : undefined}>{words}</a>)}
          </nav>
          <span class="who">{signed.name}, {signed.role}</span>
          <button class="small" onClick={onLeave}>Sign out</button>
        </>
      ) : null}
    </header>
  );
}

function Desk({ route, api, signed, onSigned, token }) {
  const { project, desk, rest, query } = route;
  if (project === LEARN) return <Learn name={desk} />;
  if (project && desk === "public") return <Transparency key={project} api={api} />;
  if (project && desk === "survey" && rest[0]) return <Survey key={`${project}/${rest[0]}`} api={api} name={rest[0]} query={query} />;
  if (signed === undefined) return <p class="quiet" role="status">Loading …</p>;
  if (!signed) return <SignIn key={project} project={project} token={token} onSigned={onSigned} />;
  const own = DESKS[signed.role].map(([key]) => key);
  const key = !desk || desk === ENTER ? own[0] : desk; // who has just come in is where the address will say in a moment
  if (!own.includes(key)) return <Heading lead={`This desk is not for the role ${signed.role}.`}>Not here</Heading>;
  const Shown = SHOWN[key];
  return <Shown key={`${project}/${key}`} api={api} query={query} role={signed.role} />;
}

render(<Page />, document.getElementById("page"));
