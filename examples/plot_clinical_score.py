"""
A story: a score for the bedside
================================

569 breast tumours, thirty measurements of their cells, and what they turned out to be. What is wanted is a card that
is added up without a computer, and an honest word on what it costs. (The table comes with scikit-learn; this is no
medical advice.)
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bgn

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"}).rename("tumour")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Questions about one column each
# -------------------------------

model = bgn.BGNClassifier(max_width=6, max_features=1, max_linear=0, random_state=0).fit(X_train, y_train)
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
# On tumours set aside: the card, the same questions before they were rounded, and logistic regression of all thirty
# columns.
# The latter is the best of the three: the table is nearly linear. Whether six questions are worth that is for the
# clinic to say.

logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
for name, found in {
    "card": bgn.evaluate(simple.network, X_test, y_test),
    "questions": bgn.evaluate(model, X_test, y_test),
}.items():
    print(f"{name:<10} AUC {found.scores['auc']:.3f}  right {found.scores['accuracy']:.1%}")
print(f"{'logistic':<10} right {logistic.score(X_test, y_test):.1%}")

# %%
# Is a tenth a tenth?
# -------------------

bgn.plots.calibration(simple.network, X_test, y_test)

# %%
# One patient
# -----------
# Which questions were answered yes, and what is nearest to another answer.

bgn.plots.waterfall(model.explain(X_test.head(1)))

# %%
print(model.counterfactual(X_test.iloc[0], to="benign"))
