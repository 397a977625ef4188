"""The frames of single-valued statements in English, as data. They are narrow on purpose: what fits none has no slot."""
# One frame a line is how they are read and compared.
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from typing import Final

from memstrata.extract.slot_frames import FEELING, NEGATIVE, POSITIVE, Frame, frame
from memstrata.text.patterns import regex

_OCCUPATIONS: Final = (
    "accountant|actor|actress|analyst|architect|artist|baker|barista|barber|bartender|biologist|bookkeeper|builder|"
    "bus driver|carpenter|cashier|chef|chemist|coach|consultant|cook|counselor|counsellor|dancer|dentist|designer|"
    "developer|director|doctor|driver|economist|editor|electrician|engineer|farmer|firefighter|florist|gardener|"
    "graphic designer|hairdresser|historian|janitor|journalist|judge|lawyer|lecturer|librarian|manager|mechanic|"
    "midwife|model|musician|nanny|nurse|optician|painter|paramedic|pharmacist|photographer|physicist|pilot|plumber|"
    "police officer|postman|producer|professor|programmer|psychologist|realtor|receptionist|reporter|researcher|"
    "sailor|salesman|scientist|secretary|singer|social worker|soldier|student|surgeon|tailor|teacher|therapist|"
    "translator|truck driver|tutor|vet|veterinarian|waiter|waitress|welder|writer"
)
_NATIONALITIES: Final = (
    "American|Argentinian|Australian|Austrian|Bangladeshi|Belgian|Brazilian|British|Bulgarian|Canadian|Chilean|Chinese|"
    "Colombian|Croatian|Cuban|Czech|Danish|Dutch|Egyptian|English|Ethiopian|Filipino|Finnish|French|German|Ghanaian|"
    "Greek|Hungarian|Indian|Indonesian|Iranian|Iraqi|Irish|Israeli|Italian|Jamaican|Japanese|Kenyan|Korean|Lebanese|"
    "Malaysian|Mexican|Moroccan|Nepalese|Nigerian|Norwegian|Pakistani|Peruvian|Polish|Portuguese|Romanian|Russian|"
    "Scottish|Serbian|Singaporean|Spanish|Swedish|Swiss|Syrian|Taiwanese|Thai|Turkish|Ukrainian|Vietnamese|Welsh"
)
_PETS: Final = (
    "dog|puppy|cat|kitten|rabbit|bunny|hamster|parrot|horse|pony|turtle|tortoise|snake|guinea pig|lizard|goldfish"
)

_MONTHS: Final = "(?:January|February|March|April|May|June|July|August|September|October|November|December)\\b"
_OCCUPATION_WORDS: Final = "|".join(occupation.split()[-1] for occupation in _OCCUPATIONS.split("|"))
_AGES: Final = "|".join(map(str, range(1, 130)))

_NAME = r"[A-Z][\w-]+(?: [A-Z][\w-]+){0,2}"
_KIN = r"[Mm]y (?:mom|mum|mother|dad|father|wife|husband|partner|boyfriend|girlfriend|fianc[eé]e?|boss)"
_OPEN = r"(?:^|[,;:.!–—-] ?|\b(?:and|but|so|because|since|that|well|yeah|yes|oh|actually|currently|now|think) )"
_WHO = rf"(?:\bI\b|{_OPEN}(?P<who>{_KIN}|{_NAME}))"
_WHOSE = rf"(?:\b[Mm]y\b|{_OPEN}(?P<who>{_KIN}|{_NAME})'s)"
_BE = r"(?:'m| am| is|'s)"
_ADV = r"(?: (?:now|currently|also|still|just|really|actually|finally|recently|only|both|happily))*"
_PROPER = r"(?:the )?[A-Z0-9][\w.&'-]*(?:,? (?:(?:of|and|de|the|&|at) )?[A-Z0-9][\w.&'-]*){0,4}"
_NETWORKS = r"(?:Facebook|Instagram|Twitter|X|Mastodon|Bluesky|Threads|TikTok|Reddit|LinkedIn|Netflix|Hulu|Spotify|Discord)\b"
_REST = r"(?P<value>[^,.;:!?()\n]+?)(?= (?:now|right now|these days|because|since|but|so|and I|and my|for now|though|too|at the moment)\b|[,.;:!?()\n]|$)"
_END = r"(?=[\s,.;:!?)]|$)"

FRAMES: Final[tuple[Frame, ...]] = (
    frame("name", "name", rf"\b[Mm]y\b (?:full |real |first )?name(?: is|'s) (?P<value>{_NAME})"),
    frame("name", "called", rf"\bI\b(?:'m| am) called (?P<value>{_NAME})"),
    frame("name", "call", rf"(?:^|[,;.] |\b(?:just|please|can|could) )[Cc]all me (?P<value>{_NAME})"),
    frame("age", "years", rf"{_WHO}{_BE}{_ADV} (?P<value>\d{{1,3}}) years old"),
    frame("age", _AGES, rf"\bI\b(?:'m| am){_ADV} (?P<value>\d{{1,3}})(?= now\b| and\b|[.,;!]|$)"),
    frame("age", "turned", rf"{_WHO}{_ADV} turned (?P<value>\d{{1,3}}){_END}(?! (?:[a-z]+s|off|on)\b)"),
    frame("birthday", "birthday", rf"{_WHOSE} birthday(?: is|'s)(?: on)? (?P<value>(?:the )?[\w ]*\d+[\w ]*)"),
    frame("birthday", "born", rf"{_WHO} was born on (?P<value>(?:the )?[\w ]*\d+[\w ,]*)"),
    frame("lives_in", "live|lives|living", rf"{_WHO}(?:{_ADV} lives?|{_BE}{_ADV} living) in (?P<value>{_PROPER})"),
    frame("lives_in", "moved|relocated", rf"{_WHO}(?:'ve| have| has|'s)?{_ADV} (?:moved|relocated)(?: back)?(?: from {_PROPER})? to (?P<value>{_PROPER})"),
    frame("home_town", "grew", rf"{_WHO} grew up in (?P<value>{_PROPER})"),
    frame("home_town", "town|hometown", rf"{_WHOSE} home ?town(?: is|'s) (?P<value>{_PROPER})"),
    frame("birthplace", "born", rf"{_WHO} was born in (?!{_MONTHS})(?P<value>[A-Z][\w.'-]*(?:,? [A-Z][\w.'-]*){{0,3}})(?! \d)"),
    frame("works_at", "work|works|working", rf"{_WHO}(?:{_ADV} works?|{_BE}{_ADV} working) (?:at|for) (?P<value>{_PROPER})(?!'s|’s)"),
    frame("works_at", "job", rf"{_WHO}(?:'ve)?{_ADV} (?:got|started|have|took) (?:a|my)(?: new)? job at (?P<value>{_PROPER})"),
    frame("works_at", "joined|join|started", rf"{_WHO}(?:'ve| have| has)?{_ADV} (?:quit|left|resigned from)(?: (?:my|his|her) job)?(?: (?:at|with))?(?: {_PROPER})?(?: [a-z]+ [a-z]+)?,? (?:and|to)(?: then)?(?: (?:I|he|she))? (?:joined|join|started (?:working )?(?:at|with|for)) (?!{_NETWORKS})(?P<value>{_PROPER})"),
    frame("works_at", "started", rf"{_WHO}(?:'ve| have| has)?{_ADV} started working (?:at|for) (?P<value>{_PROPER})(?!'s|’s)"),
    frame("works_at", "switched|changed", rf"{_WHO}(?:'ve| have| has)?{_ADV} (?:switched|changed) (?:jobs?|employers?) from {_PROPER} to (?P<value>{_PROPER})"),
    frame("works_at", "employer", rf"{_WHOSE}(?: new| current)? employer(?: is|'s) (?P<value>{_PROPER})"),
    frame("job_title", "job", rf"{_WHOSE}(?: new| current)? job(?: is|'s)(?: as)? (?:an? )?(?P<value>(?:[a-z]+ ){{0,2}}?(?:{_OCCUPATIONS})){_END}"),
    frame("job_title", "work|works|working", rf"{_WHO}(?:{_ADV} works?|{_BE}{_ADV} working) as an? (?P<value>[a-z][\w -]{{2,30}}?)(?= at\b| for\b| in\b| and\b|[,.;!]|$)"),
    frame("job_title", _OCCUPATION_WORDS, rf"{_WHO}{_BE}{_ADV} an? (?P<value>(?:[a-z]+ ){{0,2}}?(?:{_OCCUPATIONS})){_END}"),
    frame("favourite", "favorite|favourite", rf"(?<!of ){_WHOSE}(?: all[- ]time| new| current| absolute)? favou?rite (?P<thing>(?!(?:things?|parts?|ones?|memory|moment|time)\b)[a-z]+(?: [a-z]+){{0,2}}?)(?:{_ADV} is|'s){_ADV} {_REST}"),
    frame("favourite", "favorite|favourite", rf"(?:^|[,;.!] |\b(?:and|but) )(?P<value>(?:{_NAME}|[A-Z]?[a-z]+(?: [a-z]+)?)) is my(?: all[- ]time| new| absolute)? favou?rite (?P<thing>(?!(?:things?|parts?|ones?|memory|moment|time)\b)[a-z]+(?: [a-z]+)?){_END}"),
    frame("marital_status", "married", rf"{_WHO}(?:{_BE}| got| just got|'ve been| have been){_ADV} married{_END}", "married"),
    frame("marital_status", "engaged", rf"{_WHO}(?:{_BE}| got| just got){_ADV} engaged(?! in\b| with\b){_END}", "engaged"),
    frame("marital_status", "divorced", rf"{_WHO}(?:{_BE}| got| just got){_ADV} divorced{_END}", "divorced"),
    frame("marital_status", "single", rf"{_WHO}{_BE}{_ADV} single{_END}(?! [a-z])", "single"),
    frame("marital_status", "widow|widower|widowed", rf"{_WHO}{_BE}{_ADV}(?: a)? widow(?:ed|er)?{_END}", "widowed"),
    frame("phone", "number", rf"{_WHOSE}(?: new)?(?: phone| mobile| cell)? number(?: is|'s) (?P<value>\+?[\d][\d ().-]{{5,}}\d)"),
    frame("email", "mail|email", rf"{_WHOSE}(?: new)? e-?mail(?: address)?(?: is|'s) (?P<value>[\w.+-]+@[\w-]+\.[\w.-]*\w)"),
    frame("name", "name", rf"{_WHOSE} (?P<thing>{_PETS})'s name(?: is|'s) (?P<value>{_NAME})"),
    frame("name", "called|named", rf"\b[Mm]y\b (?P<thing>{_PETS}) is (?:called|named) (?P<value>{_NAME})"),
    frame("school", "go|goes|going", rf"{_WHO} (?:go|goes|am going) to (?P<value>(?:{_PROPER} )?(?:University|College|High School|School|Academy)(?: of {_PROPER})?)"),
    frame("school", "study|studies|studying", rf"{_WHO}(?:{_ADV} stud(?:y|ies)|{_BE}{_ADV} studying)(?: [a-z]+){{0,2}} at (?P<value>{_PROPER})"),
    frame("school", "attend|attends", rf"{_WHO} attends? (?P<value>(?:{_PROPER} )?(?:University|College|High School|School|Academy)(?: of {_PROPER})?)"),
    frame("nationality", _NATIONALITIES.lower(), rf"{_WHO}{_BE}{_ADV} (?P<value>{_NATIONALITIES})(?= and\b| but\b|[,.;!]|$)"),
    frame("nationality", "nationality", rf"{_WHOSE} nationality(?: is|'s) (?P<value>[A-Z]\w+)"),
    frame("native_language", "language|tongue", rf"{_WHOSE} (?:native|first|mother) (?:language|tongue)(?: is|'s) (?P<value>[A-Z]\w+)"),
    frame("native_language", "native", rf"{_WHO}{_BE} a native (?:speaker of (?P<value>[A-Z]\w+)|(?P<value2>[A-Z]\w+) speaker)"),
    frame("diet", "vegan|vegetarian|pescatarian", rf"{_WHO}(?:{_BE}{_ADV}|(?:'ve)? (?:became|become|went|turned|gone))(?: an?| strictly)? (?P<value>vegan|vegetarian|pescatarian){_END}(?! [a-z])"),
    frame("timezone", "time|timezone", rf"{_WHOSE} time ?zone(?: is|'s) (?P<value>[A-Z][\w/+:-]*(?: [A-Z]\w+)?)"),
)

# What no longer holds: the same slot and value, denied. "I don't live in Porto" alone may never have been otherwise.
_NO_LONGER = r"(?:'m| am| is|'s)? no longer"
_MORE = r"(?: [\w' -]{1,30}?)? (?:any ?more|any longer)\b"
ENDINGS: Final[tuple[Frame, ...]] = (
    frame("lives_in", "live|lives|living", rf"{_WHO}{_NO_LONGER} (?:lives?|living) in (?P<value>{_PROPER})"),
    frame("lives_in", "live", rf"{_WHO} (?:do|does)(?:n't| not) live in (?P<value>{_PROPER}){_MORE}"),
    frame("works_at", "work|works|working", rf"{_WHO}{_NO_LONGER} (?:works?|working) (?:at|for) (?P<value>{_PROPER})"),
    frame("works_at", "work", rf"{_WHO} (?:do|does)(?:n't| not) work (?:at|for) (?P<value>{_PROPER}){_MORE}"),
    frame("works_at", "job", rf"{_WHO}(?:'ve| have)?{_ADV} (?:quit|left) (?:my|his|her|their) job (?:at|with) (?P<value>{_PROPER})"),
    frame("diet", "vegan|vegetarian|pescatarian", rf"{_WHO}{_NO_LONGER}(?: an?)? (?P<value>vegan|vegetarian|pescatarian){_END}"),
    frame("diet", "vegan|vegetarian|pescatarian", rf"{_WHO}(?:'m| am| is|'s)(?: not|n't)(?: an?)? (?P<value>vegan|vegetarian|pescatarian){_MORE}"),
)

_FEEL_ADV = r"(?: (?:really|absolutely|just|still|also|now|do|truly|totally|always|actually|honestly|particularly|especially|so|both))*"
_OBJECT = r"(?P<thing>[\w'’-]+(?: [\w'’-]+){0,7})"
# "I love", "Ana loves": the ending tells a third person's verb from "sounds like".
_LOVE = rf"(?:\bI\b{_FEEL_ADV} (?:love|like|adore|enjoy)|{_OPEN}(?P<who>{_KIN}|{_NAME}){_FEEL_ADV} (?:loves|likes|adores|enjoys))"
_HATE = rf"(?:\bI\b{_FEEL_ADV} (?:hate|dislike|detest|loathe)|{_OPEN}(?P<who>{_KIN}|{_NAME}){_FEEL_ADV} (?:hates|dislikes|detests|loathes))"
FEELINGS: Final[tuple[Frame, ...]] = (
    frame(FEELING, "don't|doesn't", rf"{_WHO}{_FEEL_ADV} (?:do|does)n't{_FEEL_ADV} (?:like|love|enjoy) {_OBJECT}", NEGATIVE),
    frame(FEELING, "no|not", rf"{_WHO}(?: do| does)? (?:no longer|not) (?:likes?|loves?|enjoys?) {_OBJECT}", NEGATIVE),
    frame(FEELING, "stand", rf"{_WHO}{_FEEL_ADV} (?:can't|cannot) stand {_OBJECT}", NEGATIVE),
    frame(FEELING, "fan", rf"{_WHO}{_BE} not(?: really)? an?(?: \w+)? fan of {_OBJECT}", NEGATIVE),
    frame(FEELING, "fan", rf"{_WHO}{_BE}{_FEEL_ADV} an?(?: \w+)? fan of {_OBJECT}", POSITIVE),
    frame(FEELING, "hate|hates|dislike|dislikes|detest|detests|loathe|loathes", rf"{_HATE} {_OBJECT}", NEGATIVE),
    frame(FEELING, "love|loves|like|likes|adore|adores|enjoy|enjoys", rf"{_LOVE} {_OBJECT}", POSITIVE),
)

# "Now it's B", "it's B now": said after a statement whose slot is known.
CORRECTION: Final = regex(
    r"\b(?:(?:[Nn]ow|[Tt]hese days|[Nn]owadays|any ?more|[Nn]o longer)(?: but)?,? (?:it's|it is|that's)|[Ii]t(?: has|'s)? changed to) (?P<value>[\w'&.-]+(?: [\w'&.-]+){0,3}?)(?=[.!,;]|$)"
    r"|\b[Ii]t(?:'s| is) (?P<value2>[\w'&.-]+(?: [\w'&.-]+){0,3}?) now(?=[.!,;]|$)"
)
# "It's B, not A", where A was just said.
SET_RIGHT: Final = regex(
    rf"\b[Ii]t(?:'s| is) (?P<value>{_PROPER}),? (?:and )?not (?P<old>{_PROPER})(?=[.!,;]|$)"
    rf"|\b[Ii]t(?:'s| is) not (?P<old2>{_PROPER}),? (?:but|it's|it is) (?P<value2>{_PROPER})(?=[.!,;]|$)"
)
