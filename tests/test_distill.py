"""A small network on the predictions of a large model: numbers, classes, tables of every library, and the shell."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import bgn
from bgn.cli.app import bgn as command


def rows(n=200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, 2 * (X[:, 0] > 0.3) + 1.0 * (X[:, 1] > -0.2)


class Teacher:
    """Predicts by two questions, without noise."""

    def predict(self, X):
        X = np.asarray(X)
        return 2 * (X[:, 0] > 0.3) + 1.0 * (X[:, 1] > -0.2)


def test_what_two_rules_say_is_fitted_exactly():
    X, truth = rows()
    y = truth + np.random.default_rng(1).normal(size=len(truth))
    small = bgn.distill(Teacher(), X, y, max_terms=2, random_state=0, shrinkage=0.0, validation_fraction=0)
    assert isinstance(small, bgn.BGNRegressor)
    assert small.network_.widths == (2,)
    assert small.fidelity_.r2 > 0.95
    assert small.fidelity_.n_rows == 40
    assert math.isnan(small.fidelity_.agreement)
    assert small.fidelity_.error == pytest.approx(small.fidelity_.teacher_error, rel=0.1)
    assert "R2" in str(small.fidelity_)
    assert math.isnan(bgn.distill(Teacher(), X, max_terms=2, random_state=0).fidelity_.error)


def test_test_rows_of_ones_own_are_not_learned_from():
    """All other rows are, and the fidelity is that on the test rows."""
    X, y = rows()
    small = bgn.distill(Teacher(), X[:150], X_test=X[150:], y_test=y[150:], max_terms=2, random_state=0)
    assert small.fidelity_.n_rows == 50
    assert small.fidelity_.error == pytest.approx(np.mean((small.predict(X[150:]) - y[150:]) ** 2))
    other = bgn.distill(Teacher(), X[:150], X_test=-X[150:], max_terms=2, random_state=0)
    assert other.network_ == small.network_
    whole = bgn.BGNRegressor(max_terms=2, random_state=0).fit(X[:150], Teacher().predict(X[:150]))
    assert whole.network_ == small.network_


def test_fidelity_is_of_test_rows():
    """From the definition, on rows that the teacher is asked about after the seeded permutation."""
    X, _ = rows()
    small = bgn.distill(Teacher(), X, max_terms=1, random_state=3)
    held = np.sort(np.random.default_rng(3).permutation(200)[:40])
    wanted, predicted = Teacher().predict(X[held]), small.predict(X[held])
    assert small.fidelity_.r2 == pytest.approx(
        1 - ((wanted - predicted) ** 2).sum() / ((wanted - wanted.mean()) ** 2).sum()
    )


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 5], ["a", "b", "c"]])
def test_classes_are_fitted_to_probabilities(labels):
    X, score = rows()
    y = np.array(labels)[np.digitize(score + X[:, 2], [1.0, 2.5][: len(labels) - 1])]
    large = LogisticRegression().fit(X, y)
    small = bgn.distill(large, X, y, max_terms=4, random_state=0, cv=None)
    assert isinstance(small, bgn.BGNClassifier)
    assert small.classes_.tolist() == labels
    assert small.fidelity_.r2 > 0.5
    assert 0.6 < small.fidelity_.agreement <= 1
    assert small.fidelity_.error < 1.5
    again = bgn.distill(small.network_, X, max_terms=2, random_state=0)
    assert again.classes_.tolist() == labels


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames_keep_their_names(name):
    library, (X, _) = pytest.importorskip(name), rows()
    frame = library.DataFrame({name: X[:, j] for j, name in enumerate("abc")})
    small = bgn.distill(Teacher(), frame, max_terms=2, random_state=0)
    assert [*small.network_.names] == ["a", "b", "c"]
    same = bgn.distill(Teacher(), X, max_terms=2, random_state=0)
    np.testing.assert_array_equal(small.predict(frame), same.predict(X))


def test_wrong_arguments():
    X, y = rows(20)
    with pytest.raises(TypeError, match="model must be fitted and have `predict`"):
        bgn.distill(3, X)
    with pytest.raises(ValueError, match="y must have one value per row of X, 20; got 3"):
        bgn.distill(Teacher(), X, y[:3])
    with pytest.raises(ValueError, match="test_fraction must be a number above 0"):
        bgn.distill(Teacher(), X, test_fraction=0)
    with pytest.raises(ValueError, match="must have training rows and test rows; got 2"):
        bgn.distill(Teacher(), X[:2])
    with pytest.raises(ValueError, match="y_test needs the rows it belongs to"):
        bgn.distill(Teacher(), X, y_test=y)
    with pytest.raises(ValueError, match="y_test must have one value per row of X_test, 4"):
        bgn.distill(Teacher(), X, X_test=X[:4], y_test=y)


def test_in_a_shell(tmp_path):
    X, y = rows()
    town = np.where(X[:, 2] > 0, "Rome", "Bern")
    lines = [
        "a,b,town,y",
        *(f"{a:.3f},{b:.3f},{t},{v + (t == 'Rome')}" for (a, b, _), t, v in zip(X, town, y, strict=True)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    run = CliRunner().invoke
    large, small = str(tmp_path / "large.json"), str(tmp_path / "small.json")
    table = str(tmp_path / "t.csv")
    assert (
        run(command, ["fit", table, "--target", "y", "--task", "regression", "--sweeps", "1", "-o", large]).exit_code
        == 0
    )
    done = run(command, ["distill", large, table, "--max-terms", "3", "-o", small])
    assert done.exit_code == 0, done.output
    assert "against the large model on 40 rows" in done.output
    printed = json.loads(run(command, ["distill", large, table, "--max-terms", "3", "--json"]).stdout)
    assert printed["fidelity"]["r2"] > 0.9
    assert bgn.load(small).network_.widths == (3,)
    assert run(command, ["predict", small, table, "-o", str(tmp_path / "p.csv")]).exit_code == 0
