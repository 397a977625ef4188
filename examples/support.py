"""A support agent with two customers: each sees their own memory, and one of them asks to be erased."""

from __future__ import annotations

from memstrata import Memory

with Memory("support.db") as memory:
    memory.remember("My order 4711 arrived broken on 3 May 2025.", user_id="ana", agent_id="support")
    memory.remember("My order 4712 was never delivered.", user_id="ben", agent_id="support")
    for customer in ("ana", "ben"):
        best = memory.recall("What happened to the order?", user_id=customer, agent_id="support", k=1)[0]
        print(f"{customer}: {best.text}  ({best.reason})")
    receipt = memory.erase(user_id="ben")
    print(f"erased: {receipt.counts['turns']} turn, {receipt.counts['notes']} note; complete: {receipt.complete}")
    print(f"ben now: {len(memory.recall('order', user_id='ben'))} memories")
