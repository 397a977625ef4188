"""The kinds of searchable units, as `units.kind` stores them."""

NOTE, PAGE, TURN = 0, 1, 2
