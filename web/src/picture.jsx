// A picture that is drawn once its code has come, and again when its place has another width.

import { useEffect, useRef, useState } from "preact/hooks";

export function Picture({ kind, told, inputs }) {
  const place = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    let current = true;
    if (width > 0) {
      import("./chart.js").then((charts) => {
        if (current) place.current?.replaceChildren(named(charts[kind]({ ...told, width })));
      });
    }
    return () => (current = false);
  }, [kind, width, ...inputs]);
  return <div class="picture" ref={place} />;
}

/** One picture with one name, for those who hear it: its parts are not read out. */
function named(drawn) {
  drawn.setAttribute("role", "img");
  for (const part of drawn.querySelectorAll("[aria-label], [aria-description]")) {
    part.dataset.mark = part.getAttribute("aria-label") ?? "";
    part.removeAttribute("aria-label");
    part.removeAttribute("aria-description");
  }
  return drawn;
}
