"""Fit the diabetes data, print the model and write a report: what ``make demo`` runs."""

from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

import bgn

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = bgn.BGNRegressor(max_width=8, random_state=0).fit(X_train, y_train)

print("Disease progression a year later, from ten measurements of 442 patients:\n")
print(bgn.equation(model))
print(f"\n{model.network_}")
bound, error = bgn.theory.lower_bounds(model.network_, X_train, y_train)[[0, -1]]
print(f"Training error {error:.0f}; with these questions no outputs could bring it below {bound:.0f}.")
test, mean = (mean_squared_error(y_test, guess) for guess in (model.predict(X_test), 0 * y_test + y_train.mean()))
print(f"Test error {test:.0f}; predicting the mean gives {mean:.0f}.")
report = bgn.write_report(
    model, X_train, y_train, "report.html", X_test=X_test, y_test=y_test, title="Diabetes progression"
)
print(f"\nOpen {report} in a browser for the figures and to change a patient's values.")
