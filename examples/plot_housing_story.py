"""
A story: what houses cost
=========================

20,640 blocks of California in 1990: where they are, how old the houses, how many rooms and people, what people earn.
The
question of an assessor is not only "what is it worth?" but "why, and would you sign that?".
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import bgn

data = bgn.datasets.load("housing")
X, y = data.X, pd.Series(data.y, name=data.target_name)
units = {**dict(zip(data.feature_names, data.units, strict=True)), data.target_name: data.target_unit}
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
print(bgn.check(X.assign(price=y), target="price"))

# %%
# Fit once, choose the size afterwards
# ------------------------------------
# Growing keeps every size. The curve says what a question more buys; a linear model and trees of the same number of
# splits
# stand beside it.

model = bgn.BGNRegressor(max_width=30, random_state=0).fit(X_train, y_train)
sizes = model.frontier(X_train, y_train, X_test, y_test)
ax = bgn.plots.frontier(model, X_train, y_train, X_test, y_test)
trees = [DecisionTreeRegressor(max_leaf_nodes=k + 1, random_state=0).fit(X_train, y_train) for k in (5, 10, 20, 30)]
ax.plot((5, 10, 20, 30), [((y_test - tree.predict(X_test)) ** 2).mean() for tree in trees], "s--", label="trees")
ax.legend()

# %%
# Ten conditions are a page that can be read. Each question that holds adds its amount; the lines on longitude and
# latitude draw
# the coast.

ten = model.at_width(10)
print(ten.equation(units=units))

# %%
print(f"share of the variance explained: {ten.score(X_test, y_test):.2f} by ten conditions, "
      f"{LinearRegression().fit(X_train, y_train).score(X_test, y_test):.2f} by a linear model, "
      f"{trees[1].score(X_test, y_test):.2f} by a tree of ten splits")  # fmt: skip

# %%
# Why this block?
# ---------------

row = X_test.iloc[[0]]
bgn.plots.waterfall(ten.explain(row, X_train))

# %%
# What would bring it above 300,000 dollars? Where it lies cannot change, and people do not grow older by decree.

print(ten.counterfactual(row.iloc[0], at_least=3.0, immutable=["longitude", "latitude", "housingMedianAge"]))

# %%
# How far can it go?
# ------------------
# Whoever signs a model wants to know its worst. Within the ranges seen no prediction lies beyond these, and that is
# proven:

print(ten.extremes("seen"))
print(ten.certify(within="seen").to_frame())

# %%
# And how wrong is it? Nine of ten prices lie within their interval, on rows that the model has not seen.

predicted, ends = model.predict(X_test, interval=0.9)
inside = ((ends[:, 0] <= y_test) & (y_test <= ends[:, 1])).mean()
print(f"{inside:.1%} of {len(y_test)} prices lie in their intervals")
plt.show()
