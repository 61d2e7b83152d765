"""Learn what houses cost, print ten conditions that tell it and what more would buy: what ``make demo`` runs."""

import pandas as pd
from sklearn.model_selection import train_test_split

import bgn

try:
    table = bgn.datasets.load("housing")
except bgn.datasets.DatasetError as error:
    print(f"{error}\nHere is a smaller table instead.\n")
    table = bgn.datasets.load("diabetes", columns="measured")
y = pd.Series(table.y, name=table.target_name)
X_train, X_test, y_train, y_test = train_test_split(table.X, y, random_state=0)
model = bgn.BGNRegressor(random_state=0).fit(X_train, y_train)
model = model.at_width(min(10, model.history_.best_width))  # a small table may take fewer
units = {**dict(zip(table.feature_names, table.units, strict=True)), table.target_name: table.target_unit}

print(table.description.partition(".")[0] + ":\n")
print(bgn.equation(model, units=units))

sizes = bgn.frontier(model, X_train, y_train, X_test, y_test)
errors = {"the mean": sizes.errors["test"][0], "a linear model": sizes.linear["test"]}
errors |= {f"{k} conditions": sizes.errors["test"][k] for k in (5, 10, 20, sizes.best) if k <= sizes.best}
print(f"\nMean squared error on {len(y_test)} rows set aside, and the share of their variance explained:\n")
for name, error in errors.items():
    print(f"    {name:<16}{float(f'{error:.3g}'):>8g}{round(100 * (1 - error / y_test.var(ddof=0))):>6}%")

report = bgn.write_report(
    model, X_train, y_train, "report.html", X_test=X_test, y_test=y_test, units=units, title=table.target_name
)
print(f"\nOpen {report} in a browser for the figures and to change a row's values.")
