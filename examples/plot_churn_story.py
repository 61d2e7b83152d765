"""
A story: customers who leave
============================

A telephone company wants to know who will leave, what to offer, and to run the rule in its database. The customers
here are
**made up on the spot**, by the lines below: the well-known table of this kind may not be handed on. Put
``pandas.read_csv("yours.csv")`` in their place.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import bgn

random = np.random.default_rng(0)
n = 4000
X = pd.DataFrame({
    "tenure": random.integers(0, 72, n).astype(float),
    "contract": random.choice(["monthly", "one year", "two years"], n, p=[0.55, 0.25, 0.2]),
    "internet": random.choice(["fibre", "DSL", None], n, p=[0.45, 0.35, 0.2]),
    "charges": random.gamma(9.0, 7.0, n).round(1),
    "calls": random.poisson(1.2, n).astype(float),
})  # fmt: skip
score = 0.4 * (X["contract"] == "monthly") * (4.0 - X["tenure"] / 12.0) + 0.9 * (X["internet"] == "fibre")
score += 0.02 * (X["charges"] - 60.0) + 0.5 * (X["calls"] >= 3) - 2.2
y = pd.Series(np.where(random.random(n) < 1.0 / (1.0 + np.exp(-score)), "leaves", "stays"), name="customer")
X.loc[random.random(n) < 0.05, "charges"] = np.nan  # as tables have them

print(bgn.check(X.assign(customer=y), target="customer"))

# %%
# Eight rules
# -----------
# Words and missing values go in as they are. Two promises are asked for: the risk never rises with the time somebody
# has been with us, and never falls with what they pay.

X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
y_train, y_test = y_train == "leaves", y_test == "leaves"
model = bgn.BGNClassifier(max_terms=8, monotonic_cst={"tenure": -1, "charges": 1}, random_state=0).fit(X_train, y_train)
print(model.equation())

# %%
print(bgn.evaluate(model, X_test, y_test))

# %%
bgn.plots.calibration(model, X_test, y_test)

# %%
# Both promises hold for every customer there can be, not only for those in the table:

print(model.certify(["tenure", "charges"]))

# %%
# What to offer?
# --------------
# The customer with the highest risk, and the cheapest change that brings it below a quarter. How long somebody has
# been here cannot
# be changed; a contract and a price can.

risks = model.predict_proba(X_test)[:, 1]
customer = X_test.iloc[int(risks.argmax())]
print(f"risk {risks.max():.0%}")
print(model.counterfactual(customer, to=False, probability=(0.75, 1.0), immutable=["tenure", "calls"]))

# %%
# Whom to call first?
# -------------------
# The threshold is a matter of what a call costs and what a customer is worth.

bgn.plots.decision_curve(model, X_test, y_test)

# %%
# Into the database
# -----------------
# The same predictions as SQL; on the command line ``bgn export model.json --to sql --dialect duckdb``.

print(bgn.export.to_sql(model, table="customers")[:600], "...")
