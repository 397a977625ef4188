"""A coding agent that keeps decisions, says why it kept them, and takes one back."""

from __future__ import annotations

from memstrata import Memory

with Memory("project.db") as memory:
    kept = memory.remember(
        "We decided to run the tests with pytest -n 2 before every push.",
        agent_id="coder",
        kind="procedure",
        tags=["testing"],
    )
    note = kept.candidates[0].note
    assert note is not None
    print(memory.explain(note, agent_id="coder").sentence)
    changed = memory.remember("My favourite editor is Helix.", agent_id="coder")
    memory.undo(changed.operation, agent_id="coder")
    print([hit.text for hit in memory.recall("How are the tests run?", agent_id="coder", k=3)])
