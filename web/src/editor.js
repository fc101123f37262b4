// The SQL editor: CodeMirror in a shadow root, where its styles need no element that the page's policy would forbid.

import { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, schemaCompletionSource } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, highlightSpecialChars, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--odd)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
]);

const WORDS = ("SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT WITH AS JOIN ON AND OR NOT IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END DISTINCT DESC DATE " +
  "COUNT SUM AVG MEDIAN STDDEV MIN MAX QUANTILE_CONT").split(" ");

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "8px", fontSize: "15px" },
  "&.cm-focused": { outline: "3px solid var(--focus)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", padding: "10px 4px", minHeight: "6.5em", caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--chosen)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.8" },
});

/** An editor below `parent`. Tab leaves it, as everywhere on a page; Ctrl-Enter asks. */
export function editor(parent, { text, tables, onChange, onAsk, label }) {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const schema = new Compartment();
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: (here) => (closeCompletion(here), onAsk(), true) }])),
        history(), drawSelection(), highlightSpecialChars(), bracketMatching(), closeBrackets(), autocompletion({ icons: false }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        syntaxHighlighting(colours), theme, EditorView.lineWrapping,
        placeholder("SELECT … FROM … GROUP BY …"),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
        schema.of(dialect(tables)),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set: (words) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: words } }),
    know: (known) => view.dispatch({ effects: schema.reconfigure(dialect(known)) }),
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

/** The language, with names of tables and columns and the common words of SQL: the dialect's own list holds hundreds that nobody asks with. */
function dialect(tables) {
  const schema = {};
  for (const { name, columns } of tables) {
    schema[name] = columns.map((column) => ({ label: column.name, type: "property", detail: ` ${column.type}${column.values ? `, ${column.values}` : ""}` }));
  }
  const columns = [...new Map(Object.values(schema).flat().map((column) => [column.label, { ...column, boost: 2 }])).values()];
  const options = [...columns, ...WORDS.map((label) => ({ label, type: "keyword" }))];
  const plain = (context) => {
    const word = context.matchBefore(/[\w.]+/);
    return word && /^\w+$/.test(word.text) ? { from: word.from, options, validFor: /^\w*$/ } : null;
  };
  const sources = [schemaCompletionSource({ dialect: PostgreSQL, schema }), plain];
  return [PostgreSQL.language, ...sources.map((autocomplete) => PostgreSQL.language.data.of({ autocomplete }))];
}
