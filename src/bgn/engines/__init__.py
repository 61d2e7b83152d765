"""Where rows live, and what growth asks of them.

`protocol.py` has what growth knows: an :class:`~bgn.engines.reduce.Engine`, which holds rows and the answers of the
layer being grown, and which replies with sums of integers or exact choices, the same bits wherever the rows are.

How a request travels. Growth calls a method of the engine, such as ``engine.put(slot, rule)``. The engine
(`reduce.py`) puts the request of that name (``RowPart.put``) to all its `Parts`, which know where the parts are, and
merges their replies. In memory, on `disk/` and on a cluster a part is a :class:`~bgn.engines.memory.Part`, which runs
the loops of `kernels/`; a `gpu/` has its own. Before growth the same way leads to raw rows: a `RowSource` puts
requests to its blocks (`RawBlock`, `raw_rows.py`), and makes the engine once every row has its role. `sources.py`
checks what a user hands over and picks the source.

To add an engine, add a chapter: a `Parts` that puts requests to parts wherever they are (`replies`), a `RowSource`
for the rows as users hand them over (`replies` and `engine`), and, only if the rows are in no array, a part that
fulfils `CellPart` or `RowPart` and raw rows that fulfil `RawBlock`. One that lacks a request, or takes other
arguments, does not type-check. `tests/every_engine.py` lists the engines; all must grow the same networks.
"""
