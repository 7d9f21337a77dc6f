"""Synthetic facts of nobody, the questions that they answer, and questions that none of them does. Written by hand.

A question shares few words with its fact, as people's do. Whoever changes anything here changes what the gauges say: the facts are then written anew.
"""

from typing import NamedTuple

from services.core import models

ASKER = models.Principal(models.CANARY_TEAMS[0], "ada")
COLLEAGUE = models.Principal(models.CANARY_TEAMS[0], "ben")
STRANGER = models.Principal(models.CANARY_TEAMS[1], "cyd")
PROJECT = "harbour"
OTHER_PROJECT = "quarry"


class Known(NamedTuple):
    """A fact, and a question that it answers."""

    text: str
    question: str
    category: models.Category = models.Category.PERSONAL_INFO


class Place(NamedTuple):
    """Whose facts, said in which project. Those of personal categories hold in every project."""

    owner: models.Principal
    project: str


_ABOUT_A_PROJECT = models.Category.TECHNICAL_CHOICE

PERSONAL = (
    Known("I'm allergic to penicillin", "Which antibiotic should my doctor never give me?"),
    Known("My daughter Runa plays the cello", "What instrument does my girl practise?"),
    Known("I'm afraid of flying and take the night train", "Why do I avoid aeroplanes?"),
    Known("My wedding anniversary is on 9 October", "When did my husband and I marry?"),
    Known("I drive a green 1998 Saab 900", "What kind of car do I own?"),
    Known("My dentist is Dr. Okonkwo on Mill Lane", "Who looks after my teeth?"),
    Known("I grew up in a village near Tromsø", "Where did I spend my childhood?"),
    Known("I broke my left wrist snowboarding last winter", "Which injury do I have from sports?"),
    Known("My father is a retired beekeeper", "What did my dad do for a living?"),
    Known("I'm studying for the bar exam in the evenings", "What am I preparing for after work?"),
    Known("My rent goes up to 1,340 euros in September", "How much will I pay for my flat this autumn?"),
    Known("I keep three rescued greyhounds", "Which pets do I have at home?"),
    Known("My landlady is called Mrs. Petrosyan", "Who do I rent my flat from?"),
    Known("I sing alto in the parish choir", "Which voice do I have in our singing group?"),
    Known("I can't hear well with my right ear", "On which side should people sit when they talk to me?"),
    Known("My passport runs out in March 2031", "Until when is my travel document valid?"),
    Known("I like my tea without milk and with two sugars", "How do I take my hot drink in the morning?", models.Category.PREFERENCE),
    Known("I prefer to read long reports on paper", "Do I like my documents printed or on a screen?", models.Category.PREFERENCE),
    Known("I want answers to my questions in British English", "Which spelling do I want in your replies?", models.Category.PREFERENCE),
    Known("I hate meetings before ten in the morning", "At what hour do I dislike having calls?", models.Category.PREFERENCE),
)
OF_PROJECT = (
    Known("The harbour service stores its data in CockroachDB", "Which database do we use here?", _ABOUT_A_PROJECT),
    Known("We authenticate clients with mutual TLS certificates", "How do clients log in to our API?", _ABOUT_A_PROJECT),
    Known("Our container images are built with Bazel", "How do we make our Docker images?", _ABOUT_A_PROJECT),
    Known("Feature flags are kept in Unleash", "Where do we switch our new features on and off?", _ABOUT_A_PROJECT),
    Known("We deploy on Tuesdays and Thursdays only", "On which days may our releases go out?", models.Category.CONSTRAINT),
    Known("Personal data must never leave the Frankfurt region", "Where does our customers' information have to stay?", models.Category.CONSTRAINT),
    Known("The berth planner has to answer within 250 milliseconds", "How fast does our scheduling endpoint have to be?", models.Category.CONSTRAINT),
    Known("We decided to drop support for Internet Explorer", "Which browser did we agree not to care about any more?", models.Category.DECISION),
    Known("We chose Kafka over RabbitMQ for ship arrival events", "What carries our messages about incoming vessels?", models.Category.DECISION),
    Known("The frontend of the crane dashboard is written in Svelte", "Which UI framework do we use?", _ABOUT_A_PROJECT),
    Known("Our on-call rota changes every Monday at noon", "When does our on-call duty change hands?", models.Category.PROJECT_CONTEXT),
    Known("Ticket HBR-4471 tracks the leak in the tide gauge reader", "What do we know about HBR-4471?", models.Category.PROJECT_CONTEXT),
)
DISTRACTORS = (
    Known("My neighbour teaches the violin to beginners", ""),
    Known("My cousin drives a delivery van in Malmö", ""),
    Known("I met my oldest friend at a chess club", ""),
    Known("My grandmother's birthday is in February", ""),
    Known("I take the tram to the swimming pool on Sundays", ""),
    Known("My optician moved to the station square", ""),
    Known("I read crime novels on holidays", ""),
    Known("My brother-in-law repairs church organs", ""),
    Known("I water the tomatoes before breakfast", ""),
    Known("My gym closes during the summer break", ""),
    Known("I lost my umbrella in a taxi", ""),
    Known("My aunt sends postcards from Crete", ""),
    Known("I bought a second-hand telescope", ""),
    Known("My shoe size is 39", ""),
    Known("I find marzipan far too sweet", "", models.Category.PREFERENCE),
    Known("I like mountains better than beaches", "", models.Category.PREFERENCE),
)
OF_ANOTHER_PROJECT = (
    Known("The quarry service stores its data in SQLite files", "Which database do we use here?", _ABOUT_A_PROJECT),
    Known("The blast calendar is published as an iCal feed", "How do we announce when we blast?", _ABOUT_A_PROJECT),
    Known("Our stone crusher firmware is written in Ada", "In which language is the firmware of our crusher written?", _ABOUT_A_PROJECT),
)
OF_A_COLLEAGUE = (
    Known("My bank account is with the Nordic Savings Union", "Which bank do I have my money with?"),
    Known("I'm looking for another job at a wind farm", "Where am I applying for work?"),
    Known("My therapist is called Dr. Villanueva", "Who do I see for my counselling?"),
    Known("I'm allergic to sulfonamides", "Which antibiotic should my doctor never give me?"),
)
OF_STRANGERS = (
    Known("My safe opens with the year of the moon landing", "What opens my safe?"),
    Known("I'm selling my shares in the ferry company", "What am I doing with my stocks?"),
    Known("My daughter Inka plays the oboe", "What instrument does my girl practise?"),
    Known("We are going to acquire the tugboat operator Brandvik", "Which company do we want to buy?", models.Category.DECISION),
)
NEGATIVE = (
    "Write a haiku about the first snow",
    "What is the boiling point of ethanol?",
    "Explain the difference between TCP and UDP",
    "Translate 'see you later' into Portuguese",
    "How do I reverse a linked list in C?",
    "Who painted the ceiling of the Sistine Chapel?",
    "Give me a regular expression for ISO dates",
    "What does the HTTP status 418 mean?",
    "Summarise the plot of Macbeth in two sentences",
    "How many moons does Jupiter have?",
    "Convert 72 degrees Fahrenheit to Celsius",
    "Sort this list of numbers: 4, 9, 1",
    "What is the derivative of sine?",
    "Explain recursion to a ten-year-old",
    "Which planet is the hottest?",
    "Write a limerick about a lighthouse",
    "How does photosynthesis work?",
    "What year did the Berlin Wall fall?",
    "Fix the grammar: he go to school yesterday",
    "thanks, that works",
    "What is the plural of octopus?",
    "Name three sorting algorithms",
    "What are the primary colours?",
    "Why is the sky blue?",
)

FACTS: dict[Place, tuple[Known, ...]] = {
    Place(ASKER, ""): (*PERSONAL, *DISTRACTORS),
    Place(ASKER, PROJECT): OF_PROJECT,
    Place(ASKER, OTHER_PROJECT): OF_ANOTHER_PROJECT,
    Place(COLLEAGUE, ""): OF_A_COLLEAGUE,
    Place(STRANGER, PROJECT): OF_STRANGERS,
}
KNOWN = (*PERSONAL, *OF_PROJECT)
FOREIGN = (*OF_ANOTHER_PROJECT, *OF_A_COLLEAGUE, *OF_STRANGERS)
"""What the asker must never be told in the project, whatever she asks."""
