// Requests to the service that sent this page, by its cookie. What goes wrong is a problem as the service tells it.

export const KEY = "Idempotency-Key";

/** `charged` is null where nobody here knows. */
export class Problem extends Error {
  constructor(told) {
    super(told.detail ?? "the service cannot be reached.");
    Object.assign(this, { code: "unreachable", why: "", fix: "", charged: false, where: null, status: 0 }, told);
  }
}

const json = (reply) => reply.json();

async function request(path, read, options = {}) {
  const charged = options.headers?.[KEY] ? null : false; // where no reply can be read: only what has a key is ever charged
  let reply;
  try {
    reply = await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...options });
    if (reply.ok) return await read(reply);
  } catch {
    throw new Problem({ fix: "Check that it runs, and try again.", charged });
  }
  const unread = { detail: `the service replied with status ${reply.status}.`, status: reply.status };
  throw new Problem({ charged, ...(await json(reply).catch(() => unread)) });
}

const place = (project, path) => `/v1/${encodeURIComponent(project)}${path}`;

/** The service as one project of it. */
export function at(project) {
  const send = (path, body, headers = {}) =>
    request(place(project, path), json, {
      method: "POST",
      headers: { "X-Obverse": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  return {
    project,
    get: (path) => request(place(project, path), json),
    text: (path) => request(place(project, path), (reply) => reply.text()),
    bytes: async (path) => new Uint8Array(await request(place(project, path), (reply) => reply.arrayBuffer())),
    post: send,
    enter: (token) => send("/session", undefined, { Authorization: `Bearer ${token}` }),
    href: (path) => place(project, path),
  };
}

/** The value, or `otherwise` where the service has no such thing. */
export async function unlessAbsent(promise, otherwise) {
  try {
    return await promise;
  } catch (problem) {
    if ([404, 405].includes(problem.status)) return otherwise;
    throw problem;
  }
}
