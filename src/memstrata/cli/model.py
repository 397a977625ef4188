"""The commands that need a language model, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli.common import emit, reading
from memstrata.cli.options import DEFAULT_STORE, Agent, Asking, Embedder, Json, NamedUser, Now, Store, User, Zone

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memstrata.ledger.cost import CostLine, Costs
    from memstrata.recall.ask import Answer

Model = Annotated[
    str | None, typer.Option("--llm", envvar="MEMSTRATA_LLM", help="openai:NAME, anthropic:NAME, local:PATH.gguf, ...")
]


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Asking = None,
    max_tokens: Annotated[int, typer.Option(help="Of the context.")] = 2000,
    now: Now = None,
    tz: Zone = None,
    llm: Model = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Answer a question from memory, with the memories it stands on; needs a language model."""
    with reading(store, embedder, llm=llm) as memory:
        answer = memory.ask(
            question, user_id=user, agent_id=agent, session_id=session, max_tokens=max_tokens, now=now, tz=tz
        )
    emit(answer, json, view=answer_view)


def cost(
    store: Store = DEFAULT_STORE,
    user: NamedUser = None,
    agent: Agent = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="stage, model, prompt, session, user, agent or day; may repeat.")
    ] = None,
    json: Json = False,
) -> None:
    """What the language model cost: calls, tokens, time and money."""
    with reading(store) as memory:
        costs = memory.cost(user_id=user, agent_id=agent, by=tuple(by or ("stage",)))
    emit(costs, json, view=cost_view)


def answer_view(answer: Answer) -> RenderableType:
    """The answer, then a line for each memory it stands on."""
    from rich.console import Group
    from rich.text import Text

    cited = [
        Text(f"{mark} {hit.text} ({hit.at:%Y-%m-%d}, {hit.id})", style="dim") for mark, hit in answer.citations.items()
    ]
    return Group(Text(answer.text), *cited)


def cost_view(costs: Costs) -> RenderableType:
    """A line for each group, and the sum."""
    from memstrata.cli.parts import add_row, new_table

    numbers = ("calls", "unreadable", "tokens in", "out", "cached", "seconds", "US$")
    title = f"{costs.calls_a_turn:.2f} calls and {costs.tokens_a_turn:.0f} tokens a turn"
    table = new_table(*costs.by, *numbers, title=title)
    for line in costs.lines:
        add_row(table, *(part or "–" for part in line.group), *_figures(line))
    add_row(table, "all", *[""] * (len(costs.by) - 1), *_figures(costs.total))
    return table


def _figures(line: CostLine) -> list[str]:
    money = "–" if line.money is None else f"{line.money:.4f}"
    tokens = (line.input_tokens, line.output_tokens, line.cached_tokens)
    return [str(line.calls), str(line.unreadable), *(f"{count:,}" for count in tokens), f"{line.seconds:.1f}", money]
