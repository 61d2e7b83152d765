"""The scikit-learn face of growth."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from bgn.engines.disk.table import on_disk
from bgn.engines.sources import RowArguments, known_columns, names_of, opened_again, target_blocks
from bgn.estimator_base import GrownEstimator
from bgn.estimator_state import as_it_is, inherit_parameters
from bgn.inputs.arguments import chosen
from bgn.inputs.few_values import few_values, tally
from bgn.inputs.per_row import number_target, weights


@inherit_parameters
class BGNRegressor(RegressorMixin, GrownEstimator):
    """Grow a sparse binary activated network, one neuron at a time.

    A prediction is a base value plus a handful of weighted yes/no questions, each about at most `max_features`
    columns. The same rows give the same network, bit for bit, in any order and on any number of threads.

    Parameters
    ----------
    max_layers : int, default 1
        Most hidden layers. The layer that validates best is the last one.
    max_width : int, default 50
        Most neurons of a layer, linear terms included.
    max_features : int or None, default 2
        Most columns a neuron may look at; None for no limit.
    direction : {"search", "debiased", "lasso"}, default "search"
        How a neuron finds its direction. "search" tries single columns, pairs at many angles and the debiased
        direction, and takes what lowers the training error most; "lasso" is the paper's; "debiased" is least
        squares on the columns that the Lasso picks.
    output : {"full", "stagewise"}, default "full"
        "full" refits all output weights after every change; "stagewise" is the paper's closed form, which leaves
        the weights of earlier neurons alone.
    shrinkage : float or "auto", default "auto"
        Ridge penalty on the output weights, for ``output="full"``, in units of rows. "auto" tries several on
        small tables and keeps the one that validates best; above 5,000 training rows it is 1, in an average 30.
    learning_rate : float, default 1.0
        Step size, for ``output="stagewise"``. Small steps want a large `max_width` and generalise better.
    max_replacements : int or None, default 10
        After each new neuron, how many times to try to replace one at random; None for as many as there are.
    sweeps : int or "auto", default "auto"
        How often growth goes back down and up again, on at most 16,384 rows, to find the best layer of every width, of
        20 neurons and 3 more at most; for ``direction="search"`` and ``output="full"`` with replacements. "auto" is 60
        divided by `max_width`, 1 above 20, and 0 up to 5,000 rows to learn from or where `cv` chooses: what fits few
        rows better predicts others worse. 0 for growing once: faster, but small networks are worse.
    patience : int or None, default 10
        Stop when the validation error has not fallen for so many neurons; None to go on.
    validation_fraction : float, default 0.2
        Share of the rows to validate on, chosen by a hash of their content so that equal rows stay together. 0
        for none: then growth ends at `max_width`, or when nothing is gained. There are none either where at most 50
        rows are different and each is there ten times on average: without one of them, growth would not see a group.
    cv : int, "auto", None, splitter or pairs of positions, default "auto"
        Where rows are few, some of them set apart decide little: width, ridge penalty and number of columns of a
        question are then chosen by cross-validation in so many folds, and the network is grown on all rows. "auto"
        takes five folds up to 6,000 rows (three where rows times columns exceed 2,097,152), unless there is an
        `eval_set` or a `validation_fraction` of 0; None never does. Several layers always take rows set apart.
        Splitters of scikit-learn and pairs (train, test) are for rows in memory.
    n_networks : int, default 1
        Grow so many networks, each without another share of the rows, `validation_fraction`, which validates it, and
        predict their mean, which is more accurate and wider. It is one network, in which equal questions are one. They
        grow side by side where rows are in memory. There is no cross-validation then.
    select : {"best", "compact"}, default "best"
        The width with the lowest validation error, or the smallest within one standard error of it.
    digits : int or None, default 3
        How short the network's numbers are: coefficients have so many digits, thresholds two more at most, and amounts
        so many as far as the target's spread goes, more only where the validation error would notice. What an equation
        prints is then what the network stores. None for the numbers that growth found.
    max_linear : int or "auto", default "auto"
        Most linear terms: what a number adds per unit, between the least and the greatest value that the training rows
        have, beside the questions. Each counts as one condition: `max_width` and every width of the path include it.
        They join the questions where that lowers the validation error by a quarter of its standard error (above 16,384
        rows by a whole one). They stand alone, without questions, unless questions lower it by more than its standard
        error: a model that is linear should look so. In an average all networks decide together. 0 for none, which is
        what "auto" means for several
        layers, and for classes wherever cross-validation does not choose.
    simplicity : float, default 0.0
        What a question about several columns must gain more than one about a single column, to be asked first
        (``direction="search"``) or to take its place, as a share of its gain: 0 for nothing, near 1 for single columns
        almost always.
    categorical_features : {"from_dtype"}, mask, positions, names or None, default "from_dtype"
        Columns that are categories whatever they hold, numbers too. Columns of words, of true and false and of pandas'
        and polars' categories are categories anyway; None refuses them.
    monotonic_cst : mapping of names to 1, 0 or -1, sequence of such, one per column, or None, default None
        1 where the prediction must never fall as the column rises, -1 where it must never rise, all other columns
        fixed; of two classes the score of the second. For numbers and for categories whose levels have an order. It
        holds for all rows there can be, at every width; :func:`bgn.certify` proves it. Gaps have no place in the order.
    interaction_cst : {"pairwise", "no_interactions"}, list of sets of names or positions, or None, default None
        Which columns a question may ask about together: any two, none, or those of one set. Columns that no set names
        make up one more.
    bounds : (float or None, float or None) or None, default None
        What no prediction may go beyond, whatever the row, such as ``(0, None)``: where the sum of the questions does,
        the network predicts the nearer bound. Widths are chosen by predictions within the bounds.
    max_seconds : float or None, default None
        Stop growing after so many seconds and keep the best network so far.
    callbacks : callable or sequence of callables, optional
        Each is called with every :class:`~bgn.grow.history.Record`; return True to stop.
    verbose : int, default 0
        1 shows a progress bar.
    n_jobs : int or None, default None
        Threads; None and -1 for all cores. The result does not depend on it.
    random_state : int, RandomState or None, default None
        Seeds the choice of validation rows and of the neurons to replace.
    task : {"regression"} or None, default None
        "regression" says that a target of few whole numbers, such as counts or ratings, holds amounts. With None `fit`
        warns of such a target, because labels of classes look the same.

    Attributes
    ----------
    network_ : Network
        What was grown, in the columns' own units.
    history_ : History or AverageHistory
        Every step, and the network at every width: ``history_.network(5)``, or ``at_width(5)`` as an estimator. Of an
        average ``history_.members``, one per network.
    intervals_ : Intervals
        How far off it was on the rows that validated, where those were in memory, or fold by fold on those left out.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when the columns of X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bgn import BGNRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = BGNRegressor(max_width=3, max_linear=0, random_state=0).fit(X, y)
    >>> model.network_.widths
    (3,)
    >>> model.predict(X.head(2)).shape
    (2,)
    """

    def __init__(self, *, task: str | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.task = task

    @classmethod
    def as_in_paper(cls, **changes: Any) -> Self:
        """Return an estimator that runs the paper's algorithm as its text has it.

        Lasso directions with at most two features, stagewise outputs, as many replacement attempts as neurons,
        up to three hidden layers of up to 1000 neurons, patience 100, numbers as they come out. Each layer is cut to
        the width that validates best before the next begins, which the text leaves open.

        Parameters
        ----------
        **changes
            Parameters to set otherwise.

        Returns
        -------
        BGNRegressor

        Examples
        --------
        >>> from bgn import BGNRegressor
        >>> BGNRegressor.as_in_paper(random_state=0).direction
        'lasso'
        """
        size: dict[str, Any] = {"max_layers": 3, "max_width": 1000, "max_replacements": None, "patience": 100}
        kind: dict[str, Any] = {"max_features": 2, "direction": "lasso", "output": "stagewise", "digits": None}
        kind |= {"cv": None, "max_linear": 0, "sweeps": 0}
        return cls(**(size | kind | changes))

    def _look_at_targets(self, given: RowArguments) -> None:
        """Warn of targets that look like classes, unless the user has said what they are."""
        chosen("task", self.task, (None, "regression"))
        if self.task is None and (few := few_values(self._target_tallies(given))):
            warnings.warn(
                f"y has {few}. If they are classes, use bgn.BGNClassifier, which predicts their probabilities; if they "
                f"are amounts, {type(self).__name__}(task='regression') says so.",
                stacklevel=4,
            )

    def _target_tallies(self, given: RowArguments) -> Iterator[tuple[list[Any], int]]:
        """Yield which values each block of the targets has."""
        return map(tally, target_blocks(given))

    def predict(self, X: Any, interval: float | None = None, groups: Any = None, return_std: bool = False) -> Any:
        """Predict the target of every row.

        Parameters
        ----------
        X : array_like, sparse matrix or frame of shape (rows, columns), memmap, or path
            As in `fit`; one row may be a series or a mapping by name. Categories that were not there at fit count as
            missing, with a warning. Rows in a file or in a memory map are read block by block; where the predictions
            themselves are too many for the memory, loop over :func:`bgn.read_blocks`.
        interval : float, optional
            Share of rows whose target is to lie in their interval, such as 0.9: intervals come too. See ``intervals_``.
        groups : array_like of shape (rows,), optional
            The group of every row, where the intervals were made for groups.
        return_std : bool, default False
            Of an average, return the standard errors of the predictions too: the standard deviation of what its
            networks predict. Where targets lie is for `interval` to say.

        Returns
        -------
        ndarray of float64, shape (rows,)
            For a CUDA tensor a tensor on the same GPU, with the same bits. With `interval` a pair: the predictions,
            and an array of shape (rows, 2) with the ends of the intervals; with `return_std` the predictions and an
            array of shape (rows,).
        """
        check_is_fitted(self)
        model = as_it_is(self)
        if return_std:
            one_at_a_time(interval)
            return model._predicted(X), model._spread(X)
        return model._predicted(X) if interval is None else (model._predicted(X), model._sure(X, interval, groups))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | int | None = None) -> float:
        """Return the share of the target's variance that the predictions explain, R^2.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
            As in `fit`.
        y : array_like of shape (rows,), memmap, or path to a ``.npy`` file
            To be left out with `target`.
        sample_weight : array_like of shape (rows,), memmap, or path to a ``.npy`` file, optional
        target : str or int, optional
            The column of X that holds the targets, instead of `y`.

        Returns
        -------
        float
            1 for a perfect fit, 0 for the mean of the targets, less than that for worse.
        """
        check_is_fitted(self)
        return as_it_is(self)._score(X, y, sample_weight, target)

    def _score(self, X: Any, y: Any, sample_weight: Any, target: str | int | None) -> float:
        named = target is not None and hasattr(X, "columns")
        given = RowArguments(X, y, sample_weight, target, names_of(self) if named else None)
        if not on_disk(X):
            given = given.in_memory()
            return r2(given.y, self.predict(given.X), given.weight)
        pieces = self._pieces(known_columns(self, opened_again(self, given, scored=True)))
        # What is kept of a block is a few numbers per row.
        kept = [(piece.target, some, piece.weight) for piece, some in pieces]
        targets, predicted, weight = (
            None if each[0] is None else np.concatenate(each) for each in zip(*kept, strict=True)
        )
        return r2(targets, predicted, weight)


def one_at_a_time(interval: float | None) -> None:
    """Refuse intervals beside standard errors."""
    if interval is not None:
        raise ValueError(f"interval and return_std are for two calls; got interval={interval!r} and return_std=True.")


def r2(y: Any, predicted: Any, weight: Any) -> float:
    """The share of the target's variance that predictions explain."""
    weight = None if weight is None else weights(weight, len(predicted))
    return float(r2_score(number_target(y), predicted, sample_weight=weight))
