"""
A story: bicycles for the next hour
===================================

Somebody has to move bicycles before they are missing. 17,379 hours in Washington: the calendar, the weather and how
many bicycles were hired. The question is not only "how many?" but "why, and would you sign that?".
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import bgn

data = bgn.datasets.load("bike_sharing")
X, y = data.X, data.y
units = {**dict(zip(data.feature_names, data.units, strict=True)), data.target_name: data.target_unit}
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
print(bgn.check(X.assign(rentals=y), target="rentals"))

# %%
# Fit once, choose the size afterwards
# ------------------------------------
# Growing keeps every size. The curve shows what one more rule gains; a linear model stands beside it. Trees of the
# numeric columns are drawn by their number of splits.

model = bgn.BGNRegressor(max_terms=30, max_linear=0, random_state=0).fit(X_train, y_train)
ax = bgn.plots.frontier(model, X_train, y_train, X_test, y_test)
numbers = [frame.select_dtypes("number").drop(columns="humidity") for frame in (X_train, X_test)]
trees = [DecisionTreeRegressor(max_leaf_nodes=k + 1, random_state=0).fit(numbers[0], y_train) for k in (5, 10, 20, 30)]
ax.plot((5, 10, 20, 30), [((y_test - tree.predict(numbers[1])) ** 2).mean() for tree in trees], "s--", label="trees")
ax.legend()

# %%
# Rules that can be read aloud
# ----------------------------
# Rules about the hour may differ on days off; all others name one column. A prediction is never below zero.

alone = [{name} for name in X if name not in ("hour", "day_off")]
six = bgn.BGNRegressor(
    max_terms=6, max_linear=0, interaction_cst=[{"hour", "day_off"}, *alone], bounds=(0, float("inf")), random_state=0
).fit(X_train, y_train)
print(six.equation(units=units))

# %%
print(f"share of the variance explained: {six.score(X_test, y_test):.2f} by six rules, "
      f"{model.score(X_test, y_test):.2f} by {model.network_.widths[0]} of all kinds")  # fmt: skip

# %%
# Why this hour?
# --------------

row = X_test.iloc[[0]]
bgn.plots.waterfall(six.explain(row, X_train))

# %%
# What would have to be different for at least 300 rentals? Neither the year nor the calendar can change.

fixed = ["year", "month", "season", "weekday", "holiday", "day_off"]
print(six.counterfactual(row.iloc[0], at_least=300.0, immutable=fixed))

# %%
# How far can it go?
# ------------------
# Whoever signs a model wants to know its worst. No prediction lies beyond these, and that is proven:

print(six.extremes("seen"))
print(six.certify(within="seen").to_frame())

# %%
# And how wrong is it? Nine of ten hours should lie within their interval, on rows that the model has not seen.

predicted, ends = six.predict(X_test, interval=0.9)
inside = ((ends[:, 0] <= y_test) & (y_test <= ends[:, 1])).mean()
print(f"{inside:.1%} of {len(y_test)} hours lie in their intervals")
plt.show()
