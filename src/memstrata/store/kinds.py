"""Numbers that stand for kinds of things in the tables."""

NOTE, PAGE, TURN = 0, 1, 2  # units.kind
FORGOTTEN_BIT, SUPERSEDED_BIT, UNDONE_BIT = 1, 2, 4  # turns.hidden: why the transcript leg does not serve a turn
