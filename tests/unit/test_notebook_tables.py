"""HTML tables that notebooks show for values."""

from xml.etree import ElementTree

import pytest

from likely import Application, Trials, confusion
from likely._html import MAX_ROWS, html_table

TRIALS = Trials(["no", "no", "<yes>", "<yes>"], [-2.0, 1.0, 0.5, float("inf")], pos_label="<yes>")
VALUES = {
    "application": Application({"no": 0.9, "<yes>": 0.1}, reject_cost=0.2),
    "trials": TRIALS,
    "confusion": confusion(["no", "<yes>"], [None, "<yes>"]),
    "roc": TRIALS.roc_curve(),
    "det": TRIALS.det_curve(),
    "bayes error": TRIALS.bayes_error_curve(),
    "cost": TRIALS.cost_curve(),
    "cross-entropy": TRIALS.cross_entropy_curve(),
    "tippett": TRIALS.tippett_curve(),
    "reliability": TRIALS.reliability_curve(),
}


def cells(value):
    """Texts of all rows of a table; an error if the table is not well formed or a label is not escaped."""
    root = ElementTree.fromstring(f"<div>{value._repr_html_()}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


@pytest.mark.parametrize("name", VALUES)
def test_values_are_shown_as_a_well_formed_table(name):
    header, *rows = cells(VALUES[name])

    assert rows
    assert all(len(row) == len(header) for row in rows)


def test_an_application_shows_priors_costs_and_threshold():
    header, no, _ = cells(VALUES["application"])
    binary = Application.binary(0.1, 10)

    assert header == ["truth", "prior", "cost of deciding no", "cost of deciding <yes>", "cost of rejecting"]
    assert no == ["no", "0.900", "0.000", "1.000", "0.200"]
    assert f"llr threshold {binary.threshold:.3g}" in binary._repr_html_()


def test_trials_show_the_numbers_of_their_methods():
    shown = dict(cells(TRIALS)[1:])

    assert shown["targets"] == "<yes>: 2"
    assert shown["Cllr, bits"] == f"{TRIALS.cllr():.3f}"
    assert shown["equal error rate"] == f"{TRIALS.eer():.3f}"


def test_a_confusion_table_shows_rejected_rows_if_there_are_any():
    assert cells(VALUES["confusion"])[0] == ["truth", "decided <yes>", "decided no", "rejected"]
    assert cells(confusion([0, 1], [0, 1]))[0] == ["truth", "decided 0", "decided 1"]


def test_a_long_curve_shows_points_from_end_to_end_and_counts_them():
    rows = cells(VALUES["bayes error"])[1:]

    assert [float(row[1]) for row in (rows[0], rows[-1])] == [-5.0, 5.0]
    assert "9 of 101 points are shown." in VALUES["bayes error"]._repr_html_()


def test_a_long_table_counts_the_rows_that_it_leaves_out():
    table = html_table("All", ["name", "value"], [[i, 0.5] for i in range(MAX_ROWS + 3)])

    assert table.count("<td") == MAX_ROWS
    assert "3 more rows are not shown." in table
