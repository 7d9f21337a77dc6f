"""Street addresses in the common forms of the US, the UK and continental Europe: the street line first, then what follows it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from services.core.redaction.spans import Kind, Span

_CAP = r"[^\W\d_a-zß-öø-ÿ][\w'’.-]{0,24}"  # a capitalised word or an abbreviation
_HOUSE = r"[0-9]{1,5}(?:[ ]?[A-Za-z](?![A-Za-z0-9])|[A-Za-z])?(?:[-/][0-9]{1,4}[A-Za-z]?)?"
_START = r"(?<![\w.:/#-])"
_COMPASS = r"(?:[ ](?:[NSEW]{1,2}|North|South|East|West)(?![A-Za-z]))?"
_STRONG = r"Street|St|Avenue|Ave|Av|Road|Rd|Boulevard|Blvd|Lane|Ln|Parkway|Pkwy|Highway|Hwy|Terrace|Crescent|Cres|Mews|Turnpike|Esplanade|Str\."
# Words that also end the names of other things (among them the endings that the US mail knows); they need a town after them, or words before
# them that speak of a place.
_WEAK = (
    r"Drive|Dr|Courts?|Ct|Place|Pl|Squares?|Sq|Way|Close|Row|Walks?|Circles?|Cir|Trail|Trl|Groves?|Gardens?|Gdns|Hills?|Park|Loop|Plaza|Alley|Quay|"
    r"Wharf|Greens?|Rise|Views?|Bridge|Heights|Union|Pass|Passage|Point|Prairie|Forges?|Flats?|Ridges?|Valleys?|Crossing|Crossroad|Station|Meadows?|"
    r"Mills?|Ports?|Shores?|Springs?|Stream|Summit|Village|Ville|Vista|Bend|Bluffs?|Branch|Brooks?|Burgs?|Bypass|Camp|Canyon|Cape|Causeway|"
    r"Center|Cliffs?|Club|Common|Corners?|Course|Cove|Creek|Crest|Curve|Dale|Dam|Divide|Estates?|Expressway|Extension|Falls|Ferry|Fields?|Fords?|"
    r"Forest|Forks?|Fort|Freeway|Gateway|Glens?|Harbors?|Haven|Hollow|Inlet|Islands?|Isle|Junctions?|Keys?|Knolls?|Lakes?|Landing|Lights?|Locks?|"
    r"Lodge|Mall|Manors?|Mission|Motorway|Mountains?|Mount|Neck|Orchard|Oval|Overpass|Path|Pike|Pines?|Plains?|Radial|Ramp|Ranch|Rapids?|Rest|"
    r"River|Roads|Route|Run|Shoals?|Skyway|Spurs?|Stravenue|Throughway|Trace|Track|Trafficway|Tunnel|Underpass|Viaduct|Wall|Wells?"
)
_JOINED = (
    r"stra(?:ß|ss)e|str\.|gasse|allee|platz|weg|damm|ufer|chaussee|promenade|straat|laan|gracht|plein|kade|dijk|gatan|gata|gatu|vägen|"
    r"vegen|veien|vej|vei|gade|"
    r"stræde|katu|kuja|tänav"
)


_UNIT_WORD = r"(?i:Apt|Apartment|Suite|Ste|Appt|Flat|Bldg)\.?[ ]?#?[ ]?[0-9][\w-]{0,6}"
_WORD = r"(?:[^\W\d_][\w'’-]{0,24}\.?|[0-9]{1,3}(?:st|nd|rd|th))"


def _english(way: str) -> re.Pattern[str]:
    return re.compile(rf"{_START}{_HOUSE},?[ ](?:(?:{_CAP}|[0-9]{{1,3}}(?:st|nd|rd|th))[ ]){{1,4}}(?:{way})(?:\.|\b){_COMPASS}")


_STREETS = (
    _english(_STRONG),
    re.compile(rf"{_START}(?:{_CAP}[ -]){{0,3}}[^\W\d_][\w-]{{1,30}}(?<![Bb]ri)(?<!rene)(?<!rbeits)(?:{_JOINED})[ ]{_HOUSE}(?!\w|\.[0-9])"),
    re.compile(rf"{_START}(?:{_CAP}[ -]){{1,3}}(?:Stra(?:ß|ss)e|Str\.|Allee|Damm|Ufer|utca|út|tér|u\.)[ ]{_HOUSE}(?!\w)"),
    re.compile(rf"{_START}Stra(?:ß|ss)e de[sr][ ](?:[0-9]{{1,2}}\.[ ])?{_CAP}[ ]{_HOUSE}(?!\w|\.[0-9])"),
    re.compile(
        rf"{_START}{_HOUSE}(?:[ ]?(?:bis|ter))?,?[ ](?:[Rr]ue|[Aa]venue|[Aa]v\.|[Bb]oulevard|[Bb]d\.?|place|[Cc]hemin|[Aa]llée|[Ii]mpasse|"
        rf"[Qq]uai|[Rr]oute|[Cc]ours|passage|[Ff]aubourg)[ ]"
        rf"(?:(?:de|du|des|la|le|les|saint|sainte|à|aux|et|en)[ ]|[ld]['’]){{0,4}}{_CAP}(?:[ -](?:{_CAP}|de|du|des|la|le|les)){{0,4}}"
    ),
    re.compile(
        rf"{_START}(?:Calle|C/|Av\.|Avenida|Avda\.?|Paseo|Carrer|Ronda|Viale|Piazza|Corso|Vicolo|Rua|Travessa|Praça|Ulica|ul\.|Rue)[ ]"
        rf"(?:(?:de|del|della|dei|di|da|do|dos|das|la|las|los|el)[ ]|l['’]){{0,3}}{_CAP}(?:[ ](?:{_CAP}|de|del|di|da|"
        rf"do)){{0,3}},?[ ](?:n[º°.][ ]?)?{_HOUSE}(?!\w|\.[0-9])"
    ),
    # a house number before or after the street, and a flat behind it, whatever the street is called
    re.compile(rf"{_START}{_HOUSE},?[ ](?:{_CAP}[ ]){{1,4}}(?:{_HOUSE}\.?)?(?=[ ]?,?\s{{1,4}}[>?]{{0,3}}[ ]?{_UNIT_WORD})"),
    re.compile(rf"{_START}(?:{_CAP}[ ]){{1,4}}{_HOUSE}\.?(?=[ ]?,?\s{{1,4}}[>?]{{0,3}}[ ]?(?i:Apt|Apartment|Suite|Ste|Flat)\.?[ ]?#?[0-9])"),
    re.compile(rf"{_START}{_HOUSE},?[ ](?:{_WORD}[ ]){{1,4}}(?:{_HOUSE}\.?)?(?=[ ]?,?\s{{1,4}}[>?]{{0,3}}[ ]?(?i:apt|apartment)\.?[ ]?#?[0-9])"),
    re.compile(
        rf"{_START}(?:Apt|Apartment|Suite|Ste|Flat)\.?[ ]?#?[0-9][\w-]{{0,6}},?\s{{1,4}}{_HOUSE},?[ ](?:{_CAP}[ ]?){{1,4}}(?:{_HOUSE}(?!\w))?"
    ),
    # street names and numbers of the north and east
    re.compile(
        rf"{_START}(?:{_HOUSE},?[ ])?(?:{_CAP}[ -]){{0,3}}[^\W\d_a-zß-öø-ÿ][\w-]{{3,30}}(?:tie|kuja|polku|braut|stígur|vegur|stræti|hlíð|brekka|"
        rf"bakki|gränd|backen|stigen|torget|krogen|terrasse|bakken|lunden|ulica|gasse|graben|hof|hove|dreef|singel|steeg|laan|gata|gatan|vej|veg)[ ]"
        rf"{_HOUSE}(?!\w|\.[0-9])"
    ),
    re.compile(rf"{_START}(?:{_CAP}[ ]){{1,4}}(?:utca|út|útja|tér|köz|rkp\.|u\.|ulica|ulice|cesta|třída|náměstí|Str)[ .]{{0,2}}{_HOUSE}(?!\w)"),
    re.compile(rf"{_START}(?:Λεωφόρος|Οδός|улица|ул\.|проспект|Ulice|Ulica|Cesta)[ ](?:{_CAP}[ ]){{1,4}}{_HOUSE}(?!\w)"),
    re.compile(r"\b(?:P\.?[ ]?O\.?[ ]?Box|Postfach|(?:PSC|CMR|Unit)[ ][0-9]{1,5},?[ ]Box)[ ][0-9]{1,6}\b", re.IGNORECASE),
    re.compile(
        rf"(?:\b(?i:USNS|USNV|USCGC|USS|PSC|CMR|Unit)[ ](?:{_CAP}|[0-9]{{1,5}})(?i:,?[ ]Box[ ][0-9]{{1,6}})?\s)?"
        r"\b(?i:(?:APO|FPO|DPO),?[ ]A[AEP][ ][0-9]{5})\b",
    ),
)
_STREETS_IN_A_PLACE = (
    _english(_WEAK),
    re.compile(
        rf"{_START}(?:Via|Plaza|Largo|Strada|Camino)[ ](?:(?:del|della|dei|delle|di|da|de|"
        rf"la)[ ]){{0,2}}(?:{_CAP}[ ]){{1,3}},?[ ]?{_HOUSE}(?!\w|\.[0-9])"
    ),
    re.compile(rf"{_START}(?:{_CAP}[ -]){{1,3}}(?:Platz|Weg|Ring)[ ]{_HOUSE}(?!\w|\.[0-9])"),
    re.compile(rf"{_START}(?:Am|An der|An den|Auf der|Im|In der|Zum|Zur|Unter den|Bei der)[ ](?:{_CAP}[ ]){{1,3}}{_HOUSE}(?!\w|\.[0-9])"),
    re.compile(
        rf"{_START}[0-9]{{1,5}}[a-z]?[ ](?:\w{{2,20}}[ ]){{1,3}}(?:street|st|avenue|ave|road|rd|boulevard|blvd|lane|parkway|drive|terrace|"
        rf"court|crescent)\b\.?"
    ),
)
# What follows these is a place, be it called a street or not.
_LIVES_AT = re.compile(
    r"\b(?:address(?:es)?(?:[ ](?:of|for|linked|on|in|line|from)(?:[ ][\w'’-]{1,20}){1,4}?)?(?:[ ](?:is|are|to|with|was)|:)(?:[ ]the[ ]same:)?|"
    r"(?:what(?:['’]s|[ ]is)[ ][\w ]{0,12}address\??|here[ ]they[ ]are:?|validate[ ]the[ ]following\??|"
    r"following[ ]address:?)(?:[ ]it(?:['’]s|[ ]is))?|"
    r"li(?:ves?|ved|ving)[ ](?:at|on)(?:[ ]the[ ](?:north|south|east|west)[ ]side[ ]of)?|resid(?:e|es|ing)[ ](?:at|on)|"
    r"(?:meet|see|pick|join)(?:[ ](?:me|you|us|him|her|them)(?:[ ]up)?)?[ ]at|"
    r"(?:drops?|picks?|dropped|picked)[ ](?:[a-z]{2,4}[ ])?(?:off|up)[ ](?:at|on|from)|"
    r"(?:letter|parcel|package|post)[ ]arrived[ ]at|taxi[ ]to|located[ ]at|(?:the[ ])?corner[ ]of|"
    r"(?:offices?|restaurant|store|shop|station|house|flat|apartment|home|clinic|party|venue)[ ](?:is|are)[ ](?:at|on))[ ]",
    re.IGNORECASE,
)
# These lead to other things, too: a house number and a name of two words, or a street by its name.
_GOES_TO = re.compile(
    r"\b(?:(?:sen[dt]|deliver(?:ed)?|mail(?:ed)?|ship(?:ped)?|return(?:ed)?|forward(?:ed)?|moved|relocated)[ ](?:it[ ]|this[ ]|them[ ])?to|"
    r"a[ ]new[ ]one[ ]to|lived?[ ]in|to[ ]be[ ]sent[ ]to\?[ ]\w+:|enter[ ]on|refers[ ]to)[ ]",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(
    r"(?:the[ ]corner[ ]of[ ])?(?:[0-9]+[ ])?"
    r"(?:Line|Page|Section|Step|Port|Version|Row|Column|Chapter|Level|Layer|Stage|Phase|Table|Figure|Day|Week|Slot|Node|Server|Issue|"
    r"Ticket|PR|Gate|Booth|Room|Platform|Task|Sprint|Milestone|Cluster|Zone|Region|Python|Java|Angular|React|Vue|Postgres(?:QL)?|Ubuntu|Debian|"
    r"Windows|Kafka|Redis|MySQL|Rails|Django|PHP|Go|Rust|Kubernetes|Docker|HTTP|TLS|API)\b"
)
_SAID_PLACE = re.compile(
    rf"(?:the[ ]corner[ ]of[ ])?(?:[0-9]{{1,5}}[A-Za-z]?,?[ ](?:[0-9]{{1,5}}[ ])?(?:{_CAP}[ ,]{{0,2}}){{1,5}}(?:[0-9]{{1,5}}(?!\w|\.[0-9]))?|"
    rf"(?:{_CAP}[ ]){{1,4}}[0-9]{{1,4}}[A-Za-z]?(?!\w|\.[0-9])|(?:{_CAP}[ ]){{1,4}}(?:{_STRONG}|{_WEAK})\b\.?)"
)
_SURE_PLACE = re.compile(
    rf"(?:the[ ]corner[ ]of[ ])?(?:[0-9]{{2,5}}[A-Za-z]?,?[ ](?:[0-9]{{1,5}}[ ])?(?:{_CAP}[ ]){{1,4}}(?:{_CAP}|[0-9]{{1,5}}(?!\w|\.[0-9]))|"
    rf"(?:{_CAP}[ ]){{1,4}}(?:{_STRONG})\b\.?)"
)
_AND_PLACE = re.compile(r"(?:,?[ ]and|,)[ ]")
_PLACE_BEFORE = re.compile(
    r"(?:\b(?:address|lives?|living|located|reside[sd]?|residence|moved|home|house|office|hq|headquarters|deliver(?:ed|y)?|ship(?:ped|"
    r"ping)?|mail(?:ed|ing)?|visit|meet|based)"
    r"\b[^\n]{0,40}|\bat )$",
    re.IGNORECASE,
)
_NO_STREET = re.compile(
    r"\b(?:Google|One|Hard|Flash|Disk|Pen|USB|Shared|Team|Test|Proton|My)[ ]Drive\b|\b(?:By|No|One|Other|Two|Three|"
    r"Right|Wrong|Which)[ ]Way\b"
)

_STATE = (
    r"(?:A[LKZRAEP]|C[AOT]|D[EC]|FL|GA|HI|I[DLNA]|K[SY]|LA|M[EDAINSOTH]|N[EVHJMYCD]|O[HKR]|P[AWR]|RI|S[CD]|T[NX]|UT|V[TAI]|W[AVIY]|"
    r"ON|QC|BC|AB|MB|SK|NS|NB|NSW|VIC|QLD|TAS|ACT)(?![A-Za-z])"
)
_POSTCODE = (
    r"(?:[0-9]{5}-[0-9]{4}|[A-Z]{1,2}[0-9][A-Z0-9]?[ ]?[0-9][A-Z]{2}|[A-Z][0-9][A-Z][ ]?[0-9][A-Z][0-9]|[0-9]{4}[ ]?[A-Z]{2}|"
    r"(?:[A-Z]{1,2}-)?[0-9]{4,5}|"
    r"[0-9]{2}-[0-9]{3}|[0-9]{3}[ ][0-9]{2})(?![A-Za-z0-9])"
)
_GAP = r"[ \t]{0,2}(?:,|\r?\n|,\r?\n|\r?\n,)?[ \t]{0,2}"
_CITY = rf"{_CAP}(?:[ -](?:{_CAP}|de|la|le|sur|upon|on|am|an|der|im|di|del)){{0,3}}"
_HAS_DIGIT = re.compile("[0-9]")
_COMMA_TOWN = re.compile(rf",[ ]{_CAP}")
_UNIT = re.compile(
    rf"{_GAP}[>?]{{0,3}}[ ]?(?:(?i:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Room|Building|Bldg|Appt)\b\.?[ ]?#?[ ]?[0-9A-Z][\w-]{{0,6}}|"
    rf"#[ ]?[0-9]\w{{0,5}}|[0-9]{{1,2}}(?:st|nd|rd|th)[ ][Ff]loor)"
)
_TOWN = re.compile(
    rf"(?:{_GAP}{_CITY})?{_GAP}{_STATE}[ ,]{{1,2}}(?:{_POSTCODE})|{_GAP}(?:{_POSTCODE})(?:[ ]{_CITY})?|"
    rf"{_GAP}{_CITY}{_GAP}(?:{_STATE}{_GAP}|{_CAP}[ ])?(?:{_POSTCODE})|"
    rf",[ ]{_CITY},[ ]{_STATE}"
)
_LAND = re.compile(
    rf"{_GAP}(?:USA|U\.S\.A\.|United States|UK|United Kingdom|England|Scotland|Wales|Ireland|Germany|Deutschland|France|Italy|Spain|"
    rf"Portugal|Switzerland|Austria|"
    r"Netherlands|Belgium|Denmark|Sweden|Norway|Finland|Poland|Canada|Australia)(?![A-Za-z])"
)
# Up to three short lines or parts with a town, a region and a country, and the postcode that ends them.
_PART = (
    rf"(?:{_CAP}|de|del|la|le|di|da|do|van|nad|upon|na|in|and|St\.?)(?:[ -](?:{_CAP}|\({_CAP}\)|de|del|la|le|di|da|do|der|nad|upon|na|K|and)){{0,4}}"
)
_LINE = r"[ \t]{0,2}(?:,[ \t]{0,2})?(?:\r?\n[ \t>?|*]{0,8}){1,2},?[ \t]{0,2}"
_BLOCK = re.compile(rf"(?:(?:{_LINE}|,[ ]|[ ])(?:{_PART})){{0,4}}(?:{_LINE}|,?[ ])(?:{_POSTCODE}|[0-9]{{4,6}}(?!\w|[.,:-][0-9]))")


class _Rest(NamedTuple):
    """Where the address ends, and whether anything after the street line says that it is one."""

    end: int
    found: bool


def find(text: str) -> Iterator[Span]:
    if not _HAS_DIGIT.search(text):
        return
    for pattern in _STREETS:
        for match in pattern.finditer(text):
            yield Span(Kind.ADDRESS, match.start(), _rest(text, match.end()).end)
    for pattern in _STREETS_IN_A_PLACE:
        for match in pattern.finditer(text):
            rest = _rest(text, match.end())
            placed = rest.found or _COMMA_TOWN.match(text, match.end()) or _PLACE_BEFORE.search(text[max(0, match.start() - 60) : match.start()])
            if placed and not _NO_STREET.search(match[0]):
                yield Span(Kind.ADDRESS, match.start(), rest.end)
    for leads, shape in ((_LIVES_AT, _SAID_PLACE), (_GOES_TO, _SURE_PLACE)):
        for said in leads.finditer(text):
            yield from _said(text, said.end(), shape)


def _said(text: str, start: int, shape: re.Pattern[str]) -> Iterator[Span]:
    """A place, or several with "and" between them."""
    place = shape.match(text, start)
    while place and not _NO_PLACE.match(place[0]):
        end = _rest(text, place.start() + len(place[0].rstrip(" ,"))).end
        yield Span(Kind.ADDRESS, place.start(), end)
        following = _AND_PLACE.match(text, end)
        place = shape.match(text, following.end()) if following else None


def _rest(text: str, end: int) -> _Rest:
    start = end
    for part in (_UNIT, _UNIT):
        match = part.match(text, end)
        end = match.end() if match else end
    block = _BLOCK.match(text, end)
    for part in (_TOWN, _LAND):
        match = part.match(text, end)
        end = match.end() if match else end
    end = max(end, block.end()) if block else end
    return _Rest(end, end > start)
