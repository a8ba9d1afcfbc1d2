"""Made-up input for everything that reads what strangers wrote: python -m bench.fuzz

inputs    the input of a kind for a number: fragments of its language, spliced, cut, repeated and flipped
targets   what reads it, a small function each
run       worker processes with limits of time and memory, and what they report
"""
