"""Epsilons that are known to be in use: whose, what they count for and how often, each with where it was published."""

from __future__ import annotations

from dataclasses import dataclass

APPLE = "Apple, Differential Privacy Overview, https://www.apple.com/privacy/docs/Differential_Privacy_Overview.pdf"
SCALE = (
    "Apple, Learning with Privacy at Scale, "
    "https://docs-assets.developer.apple.com/ml-research/papers/learning-with-privacy-at-scale.pdf"
)
TANG = (
    "Tang, Korolova, Bai, Wang, Wang: Privacy Loss in Apple's Implementation of Differential Privacy on MacOS 10.12, "
    "https://arxiv.org/abs/1709.02753"
)
RAPPOR = "google/rappor, client/python/rappor.py (default parameters), https://github.com/google/rappor"
DING = "Ding, Kulkarni, Yekhanin: Collecting Telemetry Data Privately, https://arxiv.org/abs/1712.01524"
CENSUS = (
    "Abowd and others: The 2020 Census Disclosure Avoidance System TopDown Algorithm, https://arxiv.org/abs/2204.08986"
)
MOBILITY = "Aktay and others: Google COVID-19 Community Mobility Reports, https://arxiv.org/abs/2004.04145"
SYMPTOMS = "Bavadekar and others: Google COVID-19 Search Trends Symptoms Dataset, https://arxiv.org/abs/2009.01265"
VACCINE = "Bavadekar and others: Google COVID-19 Vaccination Search Insights, https://arxiv.org/abs/2107.01179"
AUDIENCE = "Rogers and others: LinkedIn's Audience Engagements API, https://arxiv.org/abs/2002.05839"
LABOUR = "Rogers and others: labour market reports of LinkedIn, https://arxiv.org/abs/2010.13981"
WIKIMEDIA = (
    "Adeleye and others: Publishing Wikipedia usage data with strong privacy guarantees, "
    "https://arxiv.org/abs/2308.16298"
)
RANGES = (
    "Facebook, Protecting privacy in mobility data during the COVID-19 response, "
    "https://research.facebook.com/blog/2020/06/protecting-privacy-"
    "in-facebook-mobility-data-during-the-covid-19-response/"
)
BIRTHS = "Israel's Ministry of Health, live births of 2014, https://birth.dataset.pub"
ANY = "any answers"
MORE = "add-remove"
CHANGED = "replace"
UNTOLD = "not checked"


@dataclass(frozen=True, slots=True)
class Used:
    """One epsilon of one deployment; `unit` is what one epsilon protects, `period` how often it may be spent."""

    where: str
    model: str
    epsilon: str
    delta: str
    unit: str
    neighbours: str
    period: str
    source: str


WORLD = (
    Used("Apple: emoji", "local", "4", "0", "one donation", ANY, "1 a day", APPLE),
    Used("Apple: lookup hints", "local", "4", "0", "one donation", ANY, "2 a day", APPLE),
    Used("Apple: new words (QuickType)", "local", "8", "0", "one donation", ANY, "2 a day", APPLE),
    Used("Apple: Safari auto-play intent", "local", "8", "0", "one donation", ANY, "2 a day", APPLE),
    Used("Apple: types of health data", "local", "2", "0", "one donation", ANY, "1 a day", APPLE),
    Used("Apple: Safari energy drain", "local", "4", "0", "one page that was loaded", ANY, "not told", SCALE),
    Used("Apple: macOS 10.12, from outside", "local", "1 or 2", "0", "one datum", ANY, "each time", TANG),
    Used("Apple: macOS 10.12, from outside", "local", "16", "0", "a device's four uses", ANY, "each day", TANG),
    Used("Google: RAPPOR's Python defaults", "local", "4.394", "0", "one answer of a device", ANY, "for ever", RAPPOR),
    Used("Google: RAPPOR's Python defaults", "local", "1.074", "0", "one report", ANY, "each time", RAPPOR),
    Used(
        "Microsoft: use of apps in Windows", "local", "1.672", "0", "one round of all apps", ANY, "every 6 hours", DING
    ),
    Used("US Census 2020, redistricting", "central", "17.14", "1e-10", "one person's record", CHANGED, "once", CENSUS),
    Used("US Census 2020, redistricting", "central", "2.47", "1e-10", "one housing unit", CHANGED, "once", CENSUS),
    Used("Google: mobility reports", "central", "2.64", "0", "one person's day", MORE, "each day", MOBILITY),
    Used("Google: searches for symptoms", "central", "1.68", "0", "one person's day", MORE, "each day", SYMPTOMS),
    Used(
        "Google: searches for vaccination", "central", "2.19", "1e-5", "one person's day", UNTOLD, "each day", VACCINE
    ),
    Used("Facebook: movement range maps", "central", "2", "0", "one person's day", UNTOLD, "each day", RANGES),
    Used("LinkedIn: audience engagements", "central", "34.9", "7e-9", "one member", UNTOLD, "each month", AUDIENCE),
    Used("LinkedIn: who hires most", "central", "4.8", "4e-10", "one hire", UNTOLD, "each month", LABOUR),
    Used(
        "Wikimedia: page views until 2023", "central", "1", "0", "30 page views of a day", UNTOLD, "each day", WIKIMEDIA
    ),
    Used(
        "Wikimedia: page views since",
        "central",
        "0.855",
        "1e-7",
        "a device's day, 10 pages",
        MORE,
        "each day",
        WIKIMEDIA,
    ),
    Used("Israel: live births of 2014", "central", "9.98", "0", "one birth", UNTOLD, "once", BIRTHS),
)
NOTE = (
    "An epsilon means little without its unit and period: 4 a day for one emoji is 1,460 a year. RAPPOR's are computed "
    "from "
    "its parameters, Wikimedia's from rho 0.015; the census had rho 2.56 for people and 0.07 for housing units, and "
    "held "
    "some totals exact. Figures were compared with https://github.com/opendp/deployments-registry-data. "
    "What is used is no advice."
)
