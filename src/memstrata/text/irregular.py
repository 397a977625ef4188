"""English forms that suffix stripping cannot bring together: each line is a base form and its irregular forms."""

from __future__ import annotations

_LINES = """
become became
begin began begun
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
deal dealt
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
sing sang sung
sit sat
sleep slept
speak spoke spoken
spend spent
stand stood
steal stole stolen
stick stuck
swim swam swum
swear swore sworn
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
write wrote written
child children
person people
foot feet
tooth teeth
mouse mice
goose geese
man men
woman women
wife wives
knife knives
shelf shelves
half halves
wolf wolves
"""

BASE_FORMS: dict[str, str] = {
    form: base for base, *forms in (line.split() for line in _LINES.strip().splitlines()) for form in forms
}
"""Irregular form to base form. Ambiguous ones go to the commoner reading ("saw" to "see")."""
