"""
Bike rentals: five rules beside a tree of depth three
=====================================================

The paper sets a network of five neurons beside a regression tree of depth three. Here both predict how many bicycles
are hired in an hour. The tree's splits are nested, the rules stand side by side and simply add up.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor, plot_tree

import bgn

data = bgn.datasets.load("bike")
X_train, X_test, y_train, y_test = train_test_split(data.X, data.y, random_state=0)

model = bgn.BGNRegressor(max_terms=5, max_linear=0, random_state=0).fit(X_train, y_train)
tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X_train, y_train)
for name, one in ((f"5 rules with {model.n_conditions_} conditions", model), ("tree of depth 3 (7 splits)", tree)):
    print(f"{name:27} test error {mean_squared_error(y_test, one.predict(X_test)):,.0f}")

# %%
# The whole model. The weather is in shares of its range, as the paper's table has it.

print(bgn.equation(model))

# %%
# The same as a drawing. Percentages are relative importances: of the columns on the left, of the rules in the
# middle. A line is as dark as its column's share of the rule.

ax = bgn.plots.network(model, X_train)

# %%
# The tree, for comparison.

fig, ax = plt.subplots(figsize=(11, 4.5), layout="constrained")
_ = plot_tree(tree, feature_names=data.feature_names, impurity=False, precision=2, fontsize=7, ax=ax)
_ = ax.set_title("Regression tree of depth 3")

# %%
# What the model sees of two of its columns, the others at their medians: a constant in every region.

first, second = bgn.importance(model, X_train).features.argsort()[::-1][:2]
ax = bgn.plots.regions(model, X_train, (int(first), int(second)), points=300)

# %%
# The same regions as steps.

ax = bgn.plots.regions(model, X_train, (int(first), int(second)), steps=True)

# %%
# Size against error: networks of one path, beside trees of as many splits as these have conditions. A condition on two
# columns counts as two.

larger = bgn.BGNRegressor(max_terms=15, max_linear=0, random_state=0).fit(X_train, y_train)
ax = bgn.plots.tree_comparison(larger, X_train, y_train, X_test, y_test)
