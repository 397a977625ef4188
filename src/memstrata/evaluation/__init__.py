"""Measuring a memory: every benchmark of the field in its own definitions, and what each stage brings.

- `benchmark`: the records that every file comes to; loaders: `locomo`, `beam`, `longmemeval`, `msc`, `questions`
- `systems`: what is evaluated, a memory under some settings or plain retrieval; `run`: conversations in, questions out
- `retrieval`, `answers`: the metrics; `bm25`: the baseline row; `answering`: answers and judgements by a model
- `folder`, `outcome`, `cache`: what a run writes down and finds again
- `compare`, `table`, `replay`: runs side by side; `report`, `page`, `charts`: their figures for people
- `admission`: the gate against labels

    data = load_locomo("locomo10.json")
    evaluation = evaluate(data, lambda path: Memory(path))
    print_report(evaluation, Console())

The benchmarks' data is no part of the package: their licences allow evaluation, not shipping.
"""
