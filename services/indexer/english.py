"""English words: their base forms, which mean the same, which are broader, and which add nothing. Pure; everyday vocabulary.

A word that is missing here costs a merge, never a memory: what is not known to mean the same counts as different.
"""

import Stemmer  # type: ignore[import-not-found]

_VERBS = """
be am is are was were been being; have has had having; do does did done doing; go goes went gone going
bear bore borne; beat beaten beating; become became; begin began begun beginning; bend bent; bind bound; bite bit bitten; bleed bled
blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; cling clung
come came; cost; creep crept; cut cutting; deal dealt; dig dug digging; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fling flung; fly flew flown; forbid forbade forbidden
forget forgot forgotten forgetting; forgive forgave forgiven; freeze froze frozen; get got gotten getting; give gave given; grind ground
grow grew grown; hang hung; hear heard; hide hid hidden; hit hitting; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led
lean leant; leap leapt; learn learnt; leave left; lend lent; let letting; lie lain lying; light lit; lose lost; make made; mean meant
meet met; mow mown; pay paid; put putting; quit quitting; read; rebuild rebuilt; rewrite rewrote rewritten; ride rode ridden; ring rang rung
rise rose risen; run ran running; say said; see saw seen; seek sought; sell sold; send sent; set setting; sew sewn; shake shook shaken
shear shorn; shed shedding; shine shone; shoot shot; show shown; shrink shrank shrunk; shut shutting; sing sang sung; sink sank sunk
sit sat sitting; sleep slept; slide slid; sling slung; smell smelt; sow sown; speak spoke spoken; spell spelt; spend spent; spill spilt
spin spun spinning; split splitting; spread; spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung
strike struck stricken; string strung; swear swore sworn; sweep swept; swell swollen; swim swam swum swimming; swing swung; take took taken
teach taught; tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven
weep wept; win won winning; wind wound; withdraw withdrew withdrawn; write wrote written
"""
_NOUNS = """
man men; woman women; child children; foot feet; tooth teeth; goose geese; mouse mice; knife knives; life lives; wife wives; leaf leaves
loaf loaves; half halves; shelf shelves; wolf wolves; person persons people
"""
_SYNONYMS = """
kid child youngster; toddler infant; person somebody someone anybody individual human; guy bloke fellow chap man male gentleman; lady woman female
dad father daddy; mum mom mother mommy; grandma granny grandmother; grandpa grandfather; kitten kitty; puppy pup; bunny rabbit; automobile car auto
bike bicycle cycle; motorcycle motorbike; plane airplane aeroplane aircraft; cyclist biker bicyclist; ship boat vessel; lorry truck; taxi cab
sofa couch; shop store; film movie; picture photo photograph; sunglasses shades; pants trousers; sweater jumper; cap hat; robe gown; purse handbag
backpack rucksack knapsack; spectacles eyeglasses; mobile cellphone; television tv telly; laptop notebook; street road; path trail track
seashore shore beach seaside coast; sea ocean; boulder rock stone; woods forest; lawn grass; hill slope; creek stream brook; rope cord; pan skillet
bowl dish; cup mug; garbage trash rubbish; rug carpet; bag sack; box carton; fence barrier; pavement sidewalk; soil dirt earth; crowd throng
job occupation profession; error bug fault defect; firm company; colleague coworker workmate; boss manager; salary pay wage; holiday vacation
flat apartment; house home; lunch luncheon; dinner supper; sweets candy; cookie biscuit; doctor physician; lawyer attorney; steps stairs staircase
wedding marriage; football soccer; competition contest tournament; match game; gift present; noise sound; outside outdoors outdoor
inside indoors indoor; near nearby beside; alone lone solitary; over above; under beneath underneath below; among amid
quickly fast rapidly swiftly speedily hurriedly; slowly unhurriedly; carefully cautiously; often frequently; rarely seldom; big large
small little tiny; huge enormous giant gigantic; glad happy cheerful joyful; angry mad furious; tired exhausted weary; muddy dirty filthy; sick ill
whole entire; correct right; wrong incorrect; important essential crucial vital; simple easy; hard difficult; rich wealthy; quiet silent; wide broad
beautiful pretty; smart clever intelligent; strange odd weird; sad unhappy; scared scare afraid frightened frighten; grey gray; elderly old
cut slice chop dice carve; mix stir blend amalgamate combine; hit strike; walk stroll pace; run sprint jog race dash; jump leap hop bounce
drive ride; eat devour consume; fight battle brawl wrestle; talk chat speak converse; watch look gaze stare observe study view
throw toss hurl fling; put place; make create produce; build construct assemble; begin start commence; end finish complete conclude; stop cease halt
shut close; buy purchase; fix repair mend; clean cleanse; rest relax; perform do execute; stunt trick acrobatics
practise practice train rehearse; pull drag tug; push shove; carry transport; pick choose select; obtain get acquire; show display exhibit
help assist aid; try attempt; hide conceal; erase delete wipe remove; draw sketch; wash rinse; crack break smash; cry weep; sleep nap doze
send dispatch; use utilise utilize employ; like love enjoy adore prefer favour favor; hate detest loathe despise; want wish; live reside dwell
check verify; allow permit; forbid prohibit ban; require need; answer reply respond; ask enquire inquire; explain describe
understand grasp comprehend; increase raise; reduce decrease lower; gather collect; rip tear; peel skin; smile grin; laugh giggle; climb ascend
float drift; guard defend protect; teach instruct; phone telephone; follow chase pursue; shout yell scream; joke jest; discuss debate; connect link
mow trim; fill load; lift hoist; grab seize snatch; exercise workout
"""
_BROADER = """
man woman boy girl child baby kid teenager lady guy father mother player rider runner singer dancer chef cook worker cyclist surfer climber swimmer
    skater soldier officer policeman fireman athlete clown cowboy dj student teacher farmer artist musician guitarist pianist drummer doctor nurse
    driver racer engineer developer designer manager colleague hiker skier snowboarder golfer boxer wrestler fisherman waiter bride groom: person
boy girl son daughter toddler baby: child
brother son father uncle groom: man
sister daughter mother aunt bride: woman
dog cat horse cow pig sheep goat monkey bear panda tiger lion elephant rabbit mouse hamster fox wolf deer bird fish turtle lemur kangaroo squirrel
    donkey camel zebra giraffe hippo rhino frog lizard snake ape gorilla chimpanzee koala otter seal bull calf lamb duck chicken: animal
puppy poodle collie labrador retriever terrier bulldog greyhound: dog
kitten: cat
duck parrot eagle gull seagull pigeon owl penguin chicken swan: bird
car truck bus van jeep motorcycle tractor scooter taxi ambulance: vehicle
canoe kayak raft yacht sailboat: boat
rifle gun pistol sword knife: weapon
meat fish bread egg noodle rice pasta cheese vegetable fruit potato tomato onion soup salad pizza sandwich cake beef pork chicken shrimp: food
potato onion carrot tomato cucumber zucchini garlic broccoli pepper cabbage lettuce celery spinach leek: vegetable
apple banana orange mango strawberry pear peach cherry melon grape lemon: fruit
beef pork chicken steak ham bacon sausage lamb: meat
guitar piano flute violin drum trumpet cello harp saxophone clarinet keyboard: instrument
shop school hospital church hotel office castle barn: building
lake pond river sea pool stream: water
beer juice coffee tea milk wine water lemonade: drink
shirt jacket coat dress skirt sweater pants jeans uniform: clothes
fry roast boil bake grill: cook
ball doll: toy
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LIGHT = _words("""
    one ones few several group pack bunch bit piece body age size pair set kind sort type lot couple number version whole own same
    very quite really just
    wear wearing worn dress dressed clad colored coloured use uses using one's itself himself herself themselves each other
    another every which who whose whom where being having happen happens take takes place
""")
"""Words that may come or go without making another statement."""

PARTICLES = _words("up down in out on off over under away back through across into onto against behind front side top next near outsid insid")
"""Concepts that turn what is done or where it is into something else: "flows out", "jumps off"."""


def base(word: str) -> str:
    """The form under which all forms of a word are one. Lower case in, a stem or base form out."""
    return _BASES.get(word) or _stemmed(word)


def concept(word: str) -> str:
    """One name for all words that mean the same."""
    form = base(word)
    return _CONCEPTS.get(form, form)


def broader(narrow: str, wide: str) -> bool:
    """Whether the second concept is what the first one is a kind of: every boy is a child."""
    return narrow in _KINDS_OF.get(wide, frozenset())


def participle(word: str) -> bool:
    """Whether it can be the verb of a passive: ridden, washed."""
    return word.endswith("ed") or word in _PAST


def manner(word: str) -> bool:
    """Whether it says how something is done: an adverb in -ly."""
    return len(word) > len("only") and word.endswith("ly") and word not in _NO_ADVERBS


_NO_ADVERBS = _words(
    "family early daily weekly monthly yearly hourly nightly supply apply reply italy assembly anomaly multiply butterfly jelly belly bully"
)


def _stemmed(word: str) -> str:
    return str(Stemmer.Stemmer("english", 0).stemWord(word))  # without its cache, which would keep the words of everybody


def _groups(table: str) -> list[list[str]]:
    return [group.split() for line in table.strip().splitlines() for group in line.split(";") if group.strip()]


def _concepts() -> dict[str, str]:
    found: dict[str, str] = {}
    for words in _groups(_SYNONYMS):
        for word in words:
            found.setdefault(base(word), base(words[0]))
    return found


def _kinds() -> dict[str, frozenset[str]]:
    lines = (line.partition(":") for line in _BROADER.replace("\n    ", " ").strip().splitlines())
    return {concept(wide.strip()): frozenset(map(concept, narrow.split())) for narrow, _, wide in lines}


_BASES = {form: forms[0] for forms in reversed(_groups(_VERBS) + _groups(_NOUNS)) for form in forms}
_PAST = frozenset(form for forms in _groups(_VERBS) for form in forms if not form.endswith(("ing", "s")))
_CONCEPTS = _concepts()
_KINDS_OF = _kinds()
