"""
A million rows inside a database
================================

A model that is a list of rules needs no Python to predict: here it becomes a query, and DuckDB answers it where the
rows are. The numbers that come back are those of ``predict``, bit for bit.
"""

import time

import numpy as np
from sklearn.datasets import load_diabetes

import bgn

known, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = bgn.BGNRegressor(max_terms=20, random_state=0).fit(known, y)
print(bgn.equation(model))

# %%
# The same as a drawing.

ax = bgn.plots.network(model, known)

# %%
# The whole query. Every rule is a CASE; the weights are whole numbers, divided once.

query = bgn.export.to_sql(model, dialect="duckdb", table="patients", keep=["patient"])
print(query[:800], "...")

# %%
# A million made-up patients: every column drawn from those seen, each by itself.

rng = np.random.default_rng(0)
count = 1_000_000
X = np.column_stack([rng.choice(column, count) for column in known.to_numpy().T])

try:
    import duckdb
except ImportError:
    print("DuckDB is not installed (pip install duckdb): the rest is left out.")
else:
    names = model.network_.names
    patients = {"patient": np.arange(count)} | {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names)}
    with duckdb.connect() as database:
        database.register("given", patients)
        database.execute("CREATE TABLE patients AS SELECT * FROM given")
        started = time.perf_counter()
        database.execute(f"CREATE TABLE scored AS {query}")
        print(f"{count:,} rows in {time.perf_counter() - started:.2f} s")
        scored = database.execute("SELECT prediction FROM scored ORDER BY patient").fetchnumpy()["prediction"]
    print("the same as predict:", bool((scored == model.network_.predict(X)).all()))
