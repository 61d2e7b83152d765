"""One optimizer over the pieces of a network: extremes, certificates, reachability and counterfactuals.

A problem (:mod:`problem`) says which rows count and what is to be large. Conditions cut columns and sums into pieces
(:mod:`pieces`); a mixed-integer program (:mod:`program`) names the region, one piece of each, that promises most; a
region is entered by a row that the network confirms, or ruled out by a proof in fractions (:mod:`region`); and
:mod:`search` repeats that until nothing better is left. The program takes its objective and its constraints as
arguments: a score, the cost of changing a row, or by how much a goal is missed.
"""
