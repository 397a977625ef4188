"""Overlapping chunks of a long text, each short enough for an encoder's window."""

from __future__ import annotations

from memstrata.errors import InputError
from memstrata.text.patterns import regex

# Scripts written without spaces: CJK with its punctuation and full-width forms, Thai, Lao, Burmese, Khmer.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uffef"
    "\U00020000-\U0003ffff"
)
# There two characters count as a word. Elsewhere a run without spaces does, but no more than 40 characters of it: an
# address or a blob has many tokens.
_LONGEST = 40  # characters of such a run that count as one word
_WORD = regex(rf"[{_UNSPACED}]{{1,2}}|[^\s{_UNSPACED}]{{1,{_LONGEST}}}")


def chunks(text: str, *, words: int = 80, overlap: int = 20) -> list[str]:
    """`text` in pieces of at most `words` words (CJK: twice as many characters), cut between words.

    Neighbours share `overlap` words, so what a cut would part is whole in one of them. The pieces are literal parts of
    the text and together cover it. A text of up to `words` words is one chunk; a blank one has none.

    >>> chunks("one two three four five", words=3, overlap=1)
    ['one two three', 'three four five']

    Raises:
        InputError: not 0 <= overlap < words.
    """
    if not 0 <= overlap < words:
        raise InputError(f"chunks need 0 <= overlap < words, not overlap={overlap}, words={words}")
    if text.isascii() and len(pieces := text.split()) <= words and max(map(len, pieces), default=0) <= _LONGEST:
        return [text.strip()] if pieces else []
    spans = [match.span() for match in _WORD.finditer(text)]
    if not spans:
        return []
    # A start whose window would hold nothing but the overlap is left out.
    starts = range(0, max(len(spans) - overlap, 1), words - overlap)
    return [text[spans[start][0] : spans[min(start + words, len(spans)) - 1][1]] for start in starts]
