"""Studies of single methods: each repeats the experiments of its paper on a recorded web, and writes a page of docs."""
