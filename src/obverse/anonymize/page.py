"""The report as one HTML page: no script, no network; bars are drawn by the page's own style."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from obverse.anonymize.weaknesses import UNTRIED
from obverse.answers.chart import BAR, WHISKER

STYLE = f"""
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 860px; margin: 2em auto; padding: 0 1em; color: #222; }}
h1 {{ font-size: 1.5em; }} h2 {{ font-size: 1.1em; margin-top: 2em; color: {WHISKER}; }}
.claim {{ border-left: 4px solid #b2182b; padding: .6em 1em; background: #fbeeee; }}
table {{ border-collapse: collapse; margin: .6em 0; }}
td, th {{ padding: .2em 1em .2em 0; text-align: left; vertical-align: top; }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; }} .note {{ color: #555; }}
.bars {{ display: grid; grid-template-columns: max-content 1fr max-content;
  gap: 4px 10px; align-items: center; max-width: 640px; }}
.bars i {{ display: block; background: {BAR}; height: 15px; min-width: 1px; }}
.bars span:nth-child(3n) {{ font-variant-numeric: tabular-nums; }}
.works {{ color: #b2182b; }} .not {{ color: #1a7f37; }} .attacks td:nth-child(-n+2) {{ white-space: nowrap; }}
"""


def page(report: Mapping[str, Any], name: str) -> str:
    how = "Anonymized" if "reaches" in report else "Released as it is"
    parts = [f"<h1>{how}: {escape(name)}</h1>", f"<p class=claim>{escape(report['claim']['sentence'])}</p>"]
    parts.append(f"<p>{escape(report['counted']['sentence'])}</p>")
    if "reaches" in report:
        parts += [*_reached(report), *_lost(report), *_risk(report), *_attacks(report)]
        parts.append(f"<p class=note>{escape(report['missing'])} {escape(report['order'])}</p>")
    else:
        parts += [f"<p>{report['rows']:,} rows were released as they are.</p>", *_attacks(report)]
    if report.get("left_out"):
        parts.append(f"<p class=note>Columns left out: {escape(', '.join(report['left_out']))}.</p>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(name)}</title>'
    return (
        f"<!doctype html>\n<html lang=en><head>{head}<style>{STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>"
    )


def _reached(report: Mapping[str, Any]) -> list[str]:
    search, reaches = report["search"], report["reaches"]
    said = [("k, the least class", f"{reaches['k']:,}"), ("classes", f"{reaches['classes']:,}")]
    for column, found in reaches["sensitive"].items():
        said += [(f"{column}: distinct l", str(found["distinct_l"])), (f"{column}: entropy l", f"{found['entropy_l']:.3g}"),
                 (f"{column}: t, equal distance", f"{found['t_equal']:.3g}"),
                 (f"{column}: largest share in a class", f"{found['alpha']:.3g}")]  # fmt: skip
    how = "Cut at medians into boxes (Mondrian)."
    if search["kind"] == "optimal":
        looked = f"{search['looked_at']:,} had to be looked at"
        how = f"The least loss by {search['loss']} of {search['nodes']:,} generalisations; {looked}."
    rows = [_table(["measured on what is released", ""], said), f"<p class=note>{escape(how)}</p>"]
    if "node" in search:
        levels = [(name, f"{level} of {search['heights'][name]}") for name, level in search["node"].items()]
        rows.append(_table(["column", "level of its hierarchy"], levels))
    return ["<h2>What it reaches</h2>", *rows]


def _lost(report: Mapping[str, Any]) -> list[str]:
    utility = report["utility"]
    said = [utility["sentences"][name] for name in ("suppressed", "average_class", "columns")]
    facts = [("discernibility", f"{utility['discernibility']:,.0f}"), ("average class", f"{utility['average_class']:.4g}")]
    if utility["average_over_k"] is not None:
        facts.append(("average class / k", f"{utility['average_over_k']:.3g}"))
    losses = {name: (share, f"{100 * share:.3g} %") for name, share in utility["columns"].items()}
    return ["<h2>What was lost</h2>", _words(said), _bars("Loss of each column", losses, 1.0), _table(["", ""], facts)]


def _risk(report: Mapping[str, Any]) -> list[str]:
    risk = report["risk"]
    rows = {f"class of {size}": (float(count), f"{count:,} rows") for size, count in risk["sizes"].items() if count}
    parts = {name: (max(share, 0.0), f"{100 * share:.3g} %") for name, share in risk["contributions"].items()}
    return [
        "<h2>Who could be found</h2>",
        _words([sentence for sentence in risk["sentences"].values() if sentence]),
        _bars(f"Rows by the {report['counted']['what']} of their class", rows),
        _bars("Share of right guesses that each column adds", parts),
    ]


def _attacks(report: Mapping[str, Any]) -> list[str]:
    lines = []
    for one in report["attacks"]:
        word = "<b class=works>works</b>" if one["works"] else "<b class=not>not here</b>"
        word = word if one["applies"] else "<span class=note>not tried</span>"
        name = one["attack"].replace("_", " ")
        lines.append(f"<tr><td>{escape(name)}</td><td>{word}</td><td>{escape(one['sentence'].removeprefix(UNTRIED))}</td></tr>")
    return ["<h2>What still works against it</h2>", f"<table class=attacks>{''.join(lines)}</table>"]


def _words(sentences: list[str]) -> str:
    return f"<p>{' '.join(escape(sentence) for sentence in sentences if sentence)}</p>"


def _table(heads: list[str], rows: list[tuple[str, str]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads) if any(heads) else ""
    body = "".join(f"<tr><td>{escape(name)}</td><td class=n>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def _bars(title: str, bars: Mapping[str, tuple[float, str]], most: float | None = None) -> str:
    """Bars whose lengths are shares of the longest, or of `most`."""
    top = most or max((value for value, _ in bars.values()), default=0.0) or 1.0
    cells = "".join(
        f'<span>{escape(name)}</span><div><i style="width: {100 * value / top:.2f}%"></i></div><span>{escape(said)}</span>'
        for name, (value, said) in bars.items()
    )
    return f"<p><b>{escape(title)}</b></p><div class=bars>{cells}</div>"
