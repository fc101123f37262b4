// Signing in: with a name and a password, or with a token. The token is given back at once for a cookie that scripts cannot read.

import { useLayoutEffect, useState } from "preact/hooks";
import { at } from "../api.js";
import { Busy, Heading, Input, Section, Trouble, useAction } from "../parts.jsx";
import { forget, to } from "../route.js";

export function SignIn({ project, token, onSigned }) {
  const [fields, setFields] = useState({ project, name: "", password: "", token: "" });
  const set = (name) => (value) => setFields({ ...fields, [name]: value });
  const enter = useAction(async (act) => {
    const signed = await act(at(fields.project.trim()));
    onSigned({ project: fields.project.trim(), name: signed.name, role: signed.role });
    return signed;
  });
  useLayoutEffect(() => {
    if (token) {
      forget();
      enter.run((api) => api.enter(token));
    }
  }, []);
  const submit = (event) => {
    event.preventDefault();
    const held = fields.token.trim();
    enter.run((api) => (held ? api.enter(held) : api.post("/login", { name: fields.name, password: fields.password })));
  };
  return (
    <>
      <Heading lead="Learn from sensitive data without exposing anyone in it.">Sign in</Heading>
      <Section title="Your account">
        <form onSubmit={submit}>
          <Input label="Project" value={fields.project} onValue={set("project")} autocomplete="organization" required />
          <Input label="Name" value={fields.name} onValue={set("name")} autocomplete="username" required={!fields.token} />
          <Input label="Password" type="password" value={fields.password} onValue={set("password")} autocomplete="current-password" required={!fields.token} />
          <details open={Boolean(fields.token)}>
            <summary>I have a token instead</summary>
            <Input label="Token" hint="It begins with obv_. It is not kept here." type="password" autocomplete="off" value={fields.token} onValue={set("token")} />
          </details>
          <Trouble problem={enter.problem} />
          <div class="actions"><Busy class="primary" type="submit" busy={enter.busy}>{enter.busy ? "Signing in …" : "Sign in"}</Busy></div>
        </form>
      </Section>
      {fields.project.trim() ? <p>No account is needed to see <a href={to(fields.project.trim(), "public")}>what {fields.project.trim()} tells everybody</a>.</p> : null}
      <p><a href={to("learn")}>Learn what all this is about</a>: short lessons, each with an exercise. No account is needed for that.</p>
    </>
  );
}
