"""
A story: a score for the bedside
================================

961 masses seen in mammograms: the patient's age, what a doctor wrote of the mass, and what it turned out to be. What is
wanted is a card that is added up without a computer, copes with missing values, and an honest word on what it costs.
(The data come with the package; this is no medical advice.)
"""

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import bgn

data = bgn.datasets.load("mammographic")
X, y = data.X, data.y
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
print(X.isna().sum().to_frame("missing values").T)

# %%
# Rules about one column each
# ---------------------------

model = bgn.BGNClassifier(max_terms=6, max_features=1, max_linear=0, random_state=0).fit(X_train, y_train)
print(model.equation())

# %%
# Whole points
# ------------
# Rounding chooses the points by log loss on the training rows.

simple = model.simplify(X_train, y_train, points=5)
card = bgn.scorecard(simple.network)
print(card)

# %%
bgn.plots.scorecard(simple.network)

# %%
# What it costs
# -------------
# On test rows: the card, the same rules before they were rounded, and logistic regression on a 0/1 column per category,
# with a column for missing ones. Which difference matters is for the clinic to say.

numbers = pd.get_dummies(X, dummy_na=True, dtype=float).fillna(X["age"].median())
logistic = LogisticRegression(max_iter=1000).fit(numbers.loc[X_train.index], y_train)
risks = logistic.predict_proba(numbers.loc[X_test.index])[:, 1]
for name, one in {"card": simple.network, "rules": model}.items():
    print(f"{name:<10} AUC {bgn.evaluate(one, X_test, y_test).scores['auc']:.3f}")
print(f"{'logistic':<10} AUC {roc_auc_score(y_test == 'malignant', risks):.3f}, {numbers.shape[1]} columns")

# %%
# Is a tenth a tenth?
# -------------------

bgn.plots.calibration(simple.network, X_test, y_test)

# %%
# One patient
# -----------
# Which rules apply, and what is nearest to another answer.

patient = int(model.predict_proba(X_test)[:, 1].argmax())
bgn.plots.waterfall(model.explain(X_test.iloc[[patient]]))

# %%
print(model.counterfactual(X_test.iloc[patient], to="benign"))
