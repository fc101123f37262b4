// Where the page is: #/PROJECT/DESK/REST?name=value. A fragment is never sent to a server, so it may hold a token.

import { useLayoutEffect, useState } from "preact/hooks";

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [project = "", desk = "", ...rest] = path.split("/").map(decoded);
  return { project, desk, rest, query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const to = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export function useRoute() {
  const [route, setRoute] = useState(() => parse(location.hash));
  useLayoutEffect(() => { // before the address can change again
    const changed = () => setRoute(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** Takes what came with the address out of it, so that it stays in no history. */
export function forget() {
  history.replaceState(null, "", location.hash.split("?")[0] || "#/");
}
