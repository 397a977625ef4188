"""A chat loop: what was said before goes into the prompt, what is said now goes into memory."""

from __future__ import annotations

from memstrata import Memory


def model(prompt: str, message: str) -> str:
    """Stands for a call to a language model: it answers with the best line it was given."""
    lines = [line for line in prompt.splitlines() if line.startswith("[1]")]
    return f"I remember: {lines[0][4:]}" if lines else "Tell me more."


with Memory("chat.db") as memory:
    memory.add("I am vegetarian, and on Thursdays I sing in a choir.", user_id="ana", session_id="may")
    memory.end_session(user_id="ana", session_id="may")
    for message in ("Hello again!", "Which evening am I busy?"):
        prompt = memory.context(message, user_id="ana", session_id="june", max_tokens=800).text
        answer = model(prompt, message)
        memory.add(
            [{"role": "user", "content": message}, {"role": "assistant", "content": answer}],
            user_id="ana",
            session_id="june",
        )
        print(f"ana: {message}\nbot: {answer}")
