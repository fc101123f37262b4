// Builds the page: node build.mjs [FOLDER]. The same sources and packages give the same bytes; a test compares them.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "src", "obverse", "server", "web");

/** Plot puts style elements into its pictures, which the page's policy forbids; style.css has what they say. */
const withoutInlineStyles = {
  name: "without inline styles",
  setup: ({ onLoad }) =>
    onLoad({ filter: /@observablehq[\\/]plot[\\/]src[\\/].*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf-8").replaceAll(/\b(svg\.append|div\.insert)\("style"(, "\*")?\)\.text\(/g, "void ("),
      loader: "js",
    })),
};

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.jsx", "src/style.css"],
  outdir: target,
  write: false,
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "part-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".json": "file" },
  external: ["/page/*"],
  legalComments: "none",
  metafile: true,
  plugins: [withoutInlineStyles],
}).then(({ outputFiles, metafile }) => {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const { path, contents } of outputFiles) writeFileSync(join(target, basename(path)), contents);
  return { metafile };
});

const named = (entry) => basename(Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry)[0]);
const page = readFileSync(join(here, "src", "index.html"), "utf-8");
writeFileSync(join(target, "index.html"), page.replace("{script}", named("src/main.jsx")).replace("{style}", named("src/style.css")));
writeFileSync(join(target, "coin.svg"), readFileSync(join(here, "src", "coin.svg")));
writeFileSync(join(target, "licenses.txt"), licenses());

const files = {};
for (const name of readdirSync(target).sort()) files[name] = createHash("sha256").update(readFileSync(join(target, name))).digest("hex");
writeFileSync(join(target, "manifest.json"), `${JSON.stringify({ files }, null, 1)}\n`);

/** The terms of every package that went into the files, as each one says them. */
function licenses() {
  const inside = /node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/;
  const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => inside.exec(path)?.[1] ?? []));
  const told = [...packages].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf-8").trim() : ""}`;
  });
  return `The page holds these packages.\n\n${told.join("\n\n----\n\n")}\n`;
}
