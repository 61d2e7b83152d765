"""The paper's tables and figures, one command each: ``python -m experiments NAME``.

A **study** is a module of this package named in ``STUDIES``, with one line on what it rebuilds. It has

``REVISION``
    An integer, part of every run's key. Raise it when `run` changes so that its figures change.
``tasks(options) -> list[Task]``
    What has to be run. ``options.scale`` is ``"smoke"`` (seconds), ``"reduced"`` (all studies
    in an hour or two on two cores) or ``"full"``;
    ``options.seeds`` is how many, or None for the study's own choice. Everything that decides a result
    stands in the task, never elsewhere. The runner picks among them by ``--datasets`` and ``--methods``. A task may be
    another study's (``Task("accuracy", ...)`` in ``bounds``): that study's `run` does it, and the run is shared.
``run(task) -> dict``
    Do one and return its figures: names to numbers, strings, lists (whatever JSON holds). ``data.split(task)`` gives
    the rows. One thread, no global state, nothing printed; raise what goes wrong, the runner records it
    (an import that fails it does not: that tells nothing of the method).
``show(runs) -> list[Table | Figure]``
    A pure function of the runs that ``tasks(options)`` names and the store holds: some may be missing, some failed
    (``run.error``; ``run.figures`` is then empty). Show both, ``tables.MISSING`` and ``tables.FAILED``. Times go
    in a table of their own, so that the others come out the same, byte for byte, whenever and wherever they are run;
    but for gradient-trained networks, which come out otherwise on another processor.

and may have

``cost(task) -> float``
    About how long it takes, in any unit, to start the longest first and to say how much time is left.
``PUBLISHED``
    The scales whose runs ``python -m experiments publish`` takes for the documentation, each with its number of seeds
    (None for the study's own choice at that scale); ``{"reduced": None}`` without it.
``code(task) -> str or None``
    Which part of bgn decides the figures of a task, ``"growth"`` or ``"baselines"``; None for other packages alone.
    Without it: growth for methods whose name, or its last word, begins with ``bgn``, baselines for what needs torch.
``extra(task) -> str or None``
    The extra of bgn that a task needs besides ``experiments``; a study says so before it starts.
``skipped(task) -> str or None``
    Why a task is left out on this machine, in words: it needs a package that no extra can bring. The study goes on
    without it, and the table says `tables.MISSING`.
``together(task) -> hashable``, ``run_together(tasks, device) -> list[dict]``
    Tasks with equal, not None, answers are done by one call; each is still stored by itself.

Runs are kept in a store, an SQLite file (``store``). Those that the documentation shows are published: sorted lines of
JSON in ``experiments/results``, one file per study (``records``, ``publish``). ``pages`` makes their tables and figures
when the documentation is built, by ``show`` alone: what a figure needs stands in the runs.

Example, a whole study::

    REVISION = 1

    def tasks(options):
        rows = 200 if options.scale == "smoke" else None
        return [
            Task("linear", name, "ols", {}, seed, data.paper_split(rows))
            for name in ("diabetes", "housing") for seed in range(options.seeds or 3)
        ]

    def run(task):
        rows = data.split(task)
        model = LinearRegression().fit(rows.X, rows.y)
        return {"test_mse": mean_squared_error(rows.y_test, model.predict(rows.X_test))}

    def show(runs):
        body = [[name, mean(group, "test_mse")] for name, group in by(runs, "dataset").items()]
        return [Table("linear", "Least squares", ("table", "test MSE"), body)]
"""

STUDIES = {
    "accuracy": "Table 1: BGN and five gradient-trained networks on seven tables",
    "overview": "Tables 2 and 3: the tables and the methods as they are",
    "timing": "Table 4: how long training takes, and the paper's definitions taken literally",
    "bounds": "Theorem 1 along depth: where accuracy is lost",
    "pruning": "Figures 3 and 4: pruned networks against BGN while it grows",
    "trees": "Figure 5 and Table 5: trees and the smallest networks as good",
    "housing_model": "Figures 6 and 7: the five-neuron model of California housing",
    "figures": "The hyperplanes and the growth of a network",
    "peers": "Beyond the paper: what people use today, at any size and at equal size",
    "classes": "Beyond the paper: two classes and several, beside trees, FIGS, risk scores and boosting",
    "speed": "Beyond the paper: how long fits and explanations take, by rows, columns and threads",
    "robustness": "Beyond the paper: what noise, fewer rows and wrong targets do to conditions and errors",
}
"""Every study's name, and what it rebuilds in one line."""
