"""Evaluations that need no LLM: a benchmark file through the whole path, scored on evidence turns beside BM25.

- `locomo`: reads files of the LoCoMo schema, repairs dirty labels (`evidence`) and says what it repaired
- `retrieval`: frac@k, any@k, all@k, MRR and nDCG on distinct evidence turns
- `bm25`: the baseline row
- `run`: conversations in through the public face, questions out of it
- `report`: the result as one JSON object and as tables

    data = load_locomo("locomo10.json")
    evaluation = evaluate(data, lambda path: Memory(path))
    print_report(evaluation, Console())

The benchmark's data is not part of the package: its licence (CC BY-NC 4.0) allows evaluation, not shipping.
"""
