"""Whether a name after "moved to" is a place to live. Pure."""

import re

from services.worker.extraction import tools


def _names(text: str) -> frozenset[str]:
    return frozenset(name.replace("_", " ") for name in text.split())


_PLACES = _names(
    "amsterdam antwerp athens atlanta auckland austin baltimore bangalore bangkok barcelona basel bath beijing"
    " belfast belgrade bergen berlin bern bilbao"
    " birmingham bogota bologna bonn bordeaux boston bratislava bremen brighton brisbane bristol brooklyn brussels bucharest budapest"
    " buenos_aires cairo calgary cambridge cape_town cardiff chennai chicago cologne copenhagen cork cracow dallas delhi denver detroit dortmund"
    " dresden dubai dublin dusseldorf edinburgh eindhoven florence frankfurt gdansk geneva genoa ghent glasgow gothenburg granada graz"
    " hamburg hanoi hanover heidelberg helsinki hong_kong houston innsbruck istanbul jakarta jerusalem karlsruhe kiel krakow kyiv kyoto"
    " lagos lausanne leeds leiden leipzig lille lima linz lisbon liverpool ljubljana london los_angeles lund lyon madrid malaga malmo"
    " manchester manila mannheim marseille melbourne mexico_city miami milan minneapolis montevideo montpellier montreal moscow mumbai munich"
    " nairobi nantes naples new_york nice nuremberg odense osaka oslo ottawa oxford palermo paris perth philadelphia phoenix pisa portland"
    " porto potsdam prague pune quebec queens quito reykjavik riga rio_de_janeiro rome rotterdam salzburg san_diego san_francisco san_jose"
    " santiago sao_paulo seattle seoul seville shanghai sheffield singapore sofia split stavanger stockholm strasbourg stuttgart sydney taipei"
    " tallinn tampere tartu tel_aviv the_hague tokyo toronto toulouse trieste trondheim tunis turin uppsala utrecht valencia vancouver venice"
    " verona vienna vilnius warsaw washington wellington wroclaw york zagreb zurich"
    " albania argentina australia austria belgium brazil bulgaria california canada chile china colombia croatia cyprus czechia denmark ecuador egypt"
    " england estonia europe finland florida france germany greece hungary iceland india indonesia ireland israel italy japan kenya korea"
    " latvia lithuania luxembourg malaysia malta mexico morocco netherlands new_zealand nigeria norway peru philippines poland portugal romania"
    " scotland serbia slovakia slovenia spain sweden switzerland taiwan texas thailand tunisia turkey ukraine uruguay usa vietnam wales"
    " zürich malmö göteborg köln münchen düsseldorf"
)
_NAME = re.compile(r"^(?:the )?[A-ZÀ-Þ][a-zß-ÿ'’-]+(?:[ -][A-ZÀ-Þ]?[a-zß-ÿ'’-]+){0,2}(?:, [A-ZÀ-Þ][\w ]+)?$")


def known(value: str) -> bool:
    """Whether the name is that of a large city or a country."""
    return value.lower().split(",")[0].removeprefix("the ") in _PLACES or value.lower() in _PLACES


def possible(value: str) -> bool:
    """Whether the name could be that of a place: looks like a proper name and is no tool's."""
    return known(value) or (bool(_NAME.match(value)) and not tools.known(value))
