// Pictures by Observable Plot. Each has a text beside it on the page that says the same.

import { areaY, axisX, axisY, barX, dot, gridX, gridY, line, plot, ruleX, tickX, ruleY } from "@observablehq/plot";

const font = { fontSize: "13px", background: "transparent", color: "currentColor", overflow: "visible", fontFamily: "inherit" };
const common = (width) => ({ width, className: "chart", style: font });
const SHOWN = 40;
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const short = (n) => compact.format(n); // 10K, 0.05

/** Bars of one value for each key, and over each the interval that noise may have moved it from. */
export function bars({ rows, value, width, label }) {
  const some = rows.slice(0, SHOWN);
  const narrow = width < 480;
  const longest = Math.max(...some.map(({ key }) => key.length), 4);
  const letters = narrow ? 16 : 28;
  const marginLeft = 14 + 7.4 * Math.min(letters, longest);
  const low = Math.min(0, ...some.map((row) => row.low ?? row.value));
  const high = Math.max(0, ...some.map((row) => row.high ?? row.value));
  return plot({
    ...common(width),
    marginLeft,
    marginRight: 24,
    marginBottom: 44,
    height: 70 + 30 * some.length,
    x: { label, domain: [low, high === low ? low + 1 : high], nice: true },
    y: { label: null, domain: some.map(({ key }) => key), tickFormat: (key) => (key.length > letters ? `${key.slice(0, letters - 1)}…` : key) },
    ariaLabel: `${value} for each group, with noise intervals`,
    marks: [
      gridX({ strokeOpacity: 0.15 }),
      axisX({ ticks: narrow ? 3 : 6, tickFormat: short, labelOffset: 40 }),
      axisY({ tickSize: 0 }),
      barX(some, { x: "value", y: "key", fill: "var(--bar)", insetTop: 4, insetBottom: 4 }),
      ruleY(some.filter((row) => row.low !== null), { y: "key", x1: "low", x2: "high", stroke: "var(--ink)", strokeWidth: 2 }),
      tickX(some.filter((row) => row.low !== null), { y: "key", x: "low", stroke: "var(--ink)", strokeWidth: 2, insetTop: 9, insetBottom: 9 }),
      tickX(some.filter((row) => row.low !== null), { y: "key", x: "high", stroke: "var(--ink)", strokeWidth: 2, insetTop: 9, insetBottom: 9 }),
      ruleX([0], { stroke: "currentColor" }),
    ],
  });
}

/** Values along an ordered key, with their intervals as a band. */
export function course({ rows, value, width, label }) {
  return plot({
    ...common(width),
    height: 280,
    marginLeft: 64,
    x: { label: null, type: "point", domain: rows.map(({ key }) => key) },
    y: { label, grid: true, nice: true },
    ariaLabel: `${value} in order, with noise intervals`,
    marks: [
      axisX({ tickRotate: rows.length > 8 ? -40 : 0, ticks: rows.filter((_, i) => i % Math.ceil(rows.length / (width / 70)) === 0).map(({ key }) => key) }),
      areaY(rows, { x: "key", y1: "low", y2: "high", fill: "var(--bar)", fillOpacity: 0.25 }),
      line(rows, { x: "key", y: "value", stroke: "var(--bar)", strokeWidth: 2 }),
      dot(rows, { x: "key", y: "value", fill: "var(--bar)", r: 3 }),
    ],
  });
}

/** Error against price, on logarithmic axes; each series has a colour and a dash of its own. */
export function curves({ points, series, width, x, y, mark }) {
  const dashes = ["", "6 4", "2 4"];
  return plot({
    ...common(width),
    height: Math.min(380, 120 + width / 2),
    marginLeft: 70,
    marginBottom: 44,
    marginRight: 24,
    x: { type: "log", label: x, grid: true, tickFormat: short, ticks: width < 480 ? 3 : 6 },
    y: { type: "log", label: y, grid: true, tickFormat: short, ticks: 6 },
    ariaLabel: `${y} against ${x}`,
    marks: [
      gridY({ strokeOpacity: 0.1 }),
      ...series.map(({ name, colour }, i) =>
        line(points.filter((point) => point.series === name), { x: "x", y: "y", stroke: colour, strokeWidth: 2.5, strokeDasharray: dashes[i] })),
      ...series.map(({ name, colour }) => dot(points.filter((point) => point.series === name), { x: "x", y: "y", fill: colour, r: 3 })),
      ...(mark ? [ruleX([mark], { stroke: "var(--ink)", strokeDasharray: "3 3" })] : []),
    ],
  });
}
