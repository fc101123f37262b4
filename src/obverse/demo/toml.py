"""The sample's obverse.toml: the tables, units, bounds and budget of the test corpus, with comments and analysts."""

CATALOG = """\
# A synthetic hospital made by `obverse demo`; nobody in it exists.
# Try:  obverse ask "SELECT clinic, COUNT(*) AS visits FROM visits GROUP BY clinic"
[project]
name = "hospital"
version = 2

[engine]
kind = "duckdb"

[privacy]
neighbours = "add-remove"  # one person with all their rows more or less must hardly change an answer
accounting = "pure"        # epsilons of questions add up
epsilon = 0.1              # default price of one question
delta = 1e-8

[budget]                   # binds everybody together, for ever
epsilon = 4.0
delta = 1e-6

[purposes.quality]         # of all that, questions asked for quality control may cost this much
epsilon = 3.0

[analysts.ana]             # bound by the common budget alone

[analysts.ben]
epsilon = 1.0              # a cap of his own
purposes = ["quality"]

[tables.people]
source = "people.parquet"
unit = "person_id"         # who is protected; one row each
rows_about = 20000         # as everybody may know; `obverse serve` chooses by it when answers leave
[tables.people.columns]    # bounds are public knowledge, chosen without looking at the rows
name = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
zip = { type = "text" }
sex = { type = "text", values = ["F", "M", "X"], nullable = false, other = false }  # complete: no NULL, no (other)
salary = { type = "double", bounds = [0, 500000], grid = 0.01 }
hiv = { type = "boolean" }
joined = { type = "date", bounds = ["2010-01-01", "2030-12-31"] }

[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = { rows = 20, groups = 5 }  # of one person, at most 20 visits in 5 groups count
rows_about = 100000
[tables.visits.columns]
visit_id = { type = "integer" }
clinic = { type = "text", values = "clinics.clinic", nullable = false, other = false }
cost = { type = "double", bounds = [0, 10000], grid = 0.01 }
at = { type = "timestamp", bounds = ["2015-01-01", "2030-12-31"] }

[tables.clinics]
source = "clinics.csv"
public = true              # nobody is in it; questions over it alone are exact and free

[surveys.missed_dose]      # of people who randomize their own answers; `obverse demo --serve` shows its page
question = { en = "Have you missed a dose this month?", de = "Hast du in diesem Monat eine Dosis ausgelassen?" }
options = ["no", "yes"]
labels = { de = { no = "nein", yes = "ja" } }
epsilon = 1
people = 3000
retention_days = 30
purpose = { en = "To learn how many do, and of nobody whether they do.", de = "Zu lernen, wie viele, und nie, wer." }
consent = { en = "I agree that my randomized answer is counted.", de = "Meine zufällig veränderte Antwort darf gezählt sein." }
"""
