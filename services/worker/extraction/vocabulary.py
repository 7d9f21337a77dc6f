"""Word tables of the rules: closed sets, lower case, lemmas for verbs."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LIKES = _words("like love enjoy adore hate dislike detest loathe despise favor favour appreciate fancy")
DISLIKES = _words("hate dislike detest loathe despise")
USES = _words("use utilize utilise rely employ leverage run")
KEEP_ON = _words("keep start begin love continue")
GIVE_UP = _words("stop quit cease drop ditch abandon deprecate sunset retire avoid ban")
CHANGES = _words("switch move migrate upgrade transition convert port")
DECIDES = _words("decide agree choose pick select settle opt standardize standardise adopt commit resolve vote")
HABIT_ADVERBS = _words("always never usually generally normally typically mostly rarely primarily exclusively only mainly often")

HOLDS = {  # what a person (or "we") does for long: verb → (attribute, prepositions that must follow or "" for a bare object, one value at a time)
    "live": ("residence", "in at near outside", True),
    "reside": ("residence", "in at near", True),
    "speak": ("speaks", "", False),
    "own": ("owns", "", False),
    "maintain": ("maintains", "", False),
    "lead": ("leads", "", False),
    "manage": ("manages", "", False),
    "teach": ("teaches", "", False),
    "study": ("studies", "", False),
    "play": ("plays", "", False),
    "drive": ("drives", "", False),
    "write": ("writes", "in", False),
    "code": ("uses", "in with", False),
    "program": ("uses", "in with", False),
    "develop": ("uses", "in on with", False),
    "report": ("manager", "to", True),
    "come": ("origin", "from", True),
    "handle": ("handles", "", False),
    "run": ("runs", "", False),
    "contribute": ("contributes", "to", False),
    "drink": ("drinks", "", False),
    "eat": ("eats", "", False),
    "smoke": ("smokes", "", False),
    "compete": ("competes", "in", False),
    "collect": ("collects", "", False),
    "breed": ("breeds", "", False),
    "coach": ("coaches", "", False),
    "restore": ("restores", "", False),
}
GROUP_HOLDS = _words(
    "host deploy ship release store keep follow target support build develop maintain own serve sell log monitor track test format lint squash merge"
    " write version tag pin require allow forbid ban avoid enforce rely depend integrate work meet do offer charge bill "
    "hire communicate review publish"
    " manage name prefix sign encrypt back backup cache authenticate authorize stick share standardize plan sprint pay "
    "rent operate run have practise practice"
    " close open invoice order rent train onboard archive delete purge retain translate teach"
    " document generate push validate process ingest export provision orchestrate collaborate freeze bundle compile package scale"
)
THING_HOLDS = _words(
    "use run depend require need live support talk expose listen expire own maintain start end begin happen launch go communicate store handle"
    " belong target follow consist sit connect rely cost last publish consume authenticate deploy manage lead ship rotate refresh"
)
THING_DATES = {
    "start": "start",
    "begin": "start",
    "end": "end",
    "finish": "end",
    "expire": "expiry",
    "launch": "date",
    "happen": "date",
    "ship": "date",
}
CONSTRAINT_VERBS = _words(
    "support comply keep stay remain run work be use follow meet pass encrypt store avoid respect log maintain adhere "
    "conform include have go live ensure"
)
RULED = _words("allow permit forbid ban require prohibit limit cap restrict support freeze protect lock reserve")
WEAK_MODALS = _words("might may could would should shall can")

ADVERBS = _words(
    "also actually currently really just still already now probably maybe perhaps possibly definitely personally strongly absolutely truly"
    " simply recently finally basically both all kinda sorta sometimes officially originally genuinely honestly almost even ever then"
    " internally totally long far much explicitly strictly heavily deeply today rather once"
)
NATIONALITIES_AND_STATES = _words(
    "done back here sure sorry ok okay not new good fine german french spanish italian english portuguese american british canadian dutch"
    " indian chinese japanese russian polish swedish brazilian mexican irish scottish european asian african australian turkish greek korean"
    " ukrainian swiss austrian danish norwegian finnish belgian israeli iranian argentinian colombian catholic jewish muslim christian"
    " buddhist vegan belarusian romanian bulgarian serbian croatian slovenian slovak czech hungarian estonian latvian lithuanian icelandic egyptian "
    " moroccan nigerian kenyan ethiopian ghanaian tunisian algerian lebanese syrian iraqi saudi pakistani bangladeshi indonesian malaysian "
    " singaporean taiwanese vietnamese thai filipino chilean peruvian cuban venezuelan ecuadorian uruguayan bolivian albanian armenian georgian "
    " kazakh uzbek mongolian welsh english londoner parisian berliner bavarian texan californian nordic scandinavian latino latina asian "
    " hindu sikh atheist agnostic protestant lutheran orthodox serious pregnant hungry"
)
MADE_WITH = _words(
    "build write code implement base host deploy power handle manage store serve monitor cache run do make sign render style test register"
)

PERSONAL_TOOLS = re.compile(
    r"\b(?:n?vim|neovim|emacs|vs ?code|visual studio(?: code)?|pycharm|intellij|webstorm|jetbrains|sublime|helix|nano|zsh"
    r"|fish|bash|tmux|iterm2?|alacritty|kitty"
    r"|wezterm|mac(?:os|book)?\b.*|windows(?: \d+)?|linux|ubuntu|debian|arch|fedora|nixos|wsl2?|dvorak|colemak|qwerty"
    r"|firefox|chrome|safari|obsidian|notion"
    r"|cursor|zed|thinkpad|iphone|android|dark (?:mode|theme)|light (?:mode|theme))\b",
    re.IGNORECASE,
)
PEOPLE = _words(
    "wife husband partner girlfriend boyfriend fiance fiancee spouse daughter son kid child children kids baby mother mom "
    "mum father dad brother sister"
    " cousin aunt uncle grandmother grandfather niece nephew friend boss manager colleague coworker teammate mentor "
    "roommate flatmate neighbor neighbour dog"
    " cat pet puppy kitten parrot rabbit twins parents pi advisor adviser supervisor professor client"
)
FAMILY = _words(
    "wife husband girlfriend boyfriend fiance fiancee spouse daughter son kid child children baby mother mom mum father dad brother sister cousin"
    " aunt uncle grandmother grandfather grandma grandpa niece nephew dog cat puppy kitten parrot rabbit hamster horse twins parents toddler"
)
PERSONAL_NOUNS = _words(
    "anniversary name surname nickname birthday age email address phone timezone hometown country city nationality"
    " job role title employer pronouns hobby hobbies"
    " language tongue laptop machine keyboard car bike handle username allergy blood zodiac religion salary hours schedule "
    "degree major university school diet"
)
FAVORITE = re.compile(r"\b(?:favou?rite|preferred|go-to|preference|default)\b", re.IGNORECASE)
THINGS = _words(  # nouns that name a project's parts and agreements; "the <noun> is/uses ..." states something durable
    "project product app application service services microservice microservices repo repository codebase monorepo backend "
    "frontend api apis server servers"
    " client clients database db team company startup site website platform standup standups stand-up stand-ups"
    " sync pipeline ci cd build builds deployment "
    "deployments deploys staging production prod"
    " environment env cluster infrastructure infra stack gateway worker workers dashboard system bot broker queue cache "
    "bucket cdn domain registry vm host"
    " meeting standup sprint release releases launch deadline demo retro budget license licence migration roadmap "
    "milestone conference audit customer customers"
    " users mvp beta limit quota timezone convention policy rule standard standards style version branch port region "
    "instance datacenter framework orm library"
    " tests suite coverage linter formatter schema endpoint endpoints url path backups logs metrics sla slo rotation "
    "oncall on-call owner maintainer lead"
    " architect pm cto ceo designer stakeholder vendor provider office contract invoice invoices subscription plan pricing "
    "logo brand codename goal target"
    " scope freeze password secret token tokens certificate commits commit prs pull requests code review reviews tickets "
    "ticket docs documentation config"
    " group department lab browser platform retention"
    " room start end kickoff indentation encoding length formatting spacing quotes offsite defense sabbatical survey store "
    "shop warehouse panel portal storage backup model scheduler monitoring auth authentication"
)
JUNK_NOUNS = _words(
    "error errors problem problems issue issues bug bugs question questions point idea thing things reason result results "
    "output outputs function functions"
    " method methods class line lines loop variable variables button page component exception message stacktrace trace traceback answer answers guess"
    " understanding hope fear concern doubt suspicion solution fix change changes code example snippet query script file test attempt try feeling bad"
    " task assignment homework response request command regex screenshot image picture input string array list dictionary "
    "object value type app's way one"
    " first second third last next other same rest fault mistake intention plan goal aim turn trouble difficulty thought thoughts confusion"
    " brain effort progress mistakes sense"
)
GENERIC_OBJECTS = _words(
    "it this that these those them him her you something anything everything nothing one ones some both either neither none all what whatever which"
    " here there so such same former latter mine yours ours myself yourself option options approach approaches"
)
TRANSIENT_STATES = _words(
    "stuck lost confused tired sick busy sorry sure unsure happy glad curious afraid ready done back here late hungry "
    "bored excited worried grateful thankful"
    " impressed surprised interested frustrated annoyed aware able unable willing about trying getting seeing having going "
    "wondering thinking hoping looking"
    " fine good great ok okay well bad better worse right wrong close almost nearly still just not so very too quite "
    "pretty really kind sort open free available"
    " positive certain convinced afk away home online offline in on at out off up down broken failing working green red "
    "slow fast empty null undefined"
    " missing nice cool awesome perfect clear unclear correct incorrect true false possible impossible hard easy difficult "
    "important weird strange odd"
    " obvious similar different same big small long short old new full blocked unblocked live dead deployed running "
    "crashing flaky amazing interesting"
    " wonderful super high low complete incomplete finished helpful useful useless terrible horrible"
)
ROLES = re.compile(
    r"\b(?:\w+(?:engineer|developer|programmer|designer|manager|er|or|ist|ian|ant|man|woman)|dev|sre|dba|cto|ceo|cfo|coo|pm"
    r"|po|lead|head|chief|student|phd"
    r"|intern|junior|senior|founder|freelance|architect|analyst|nurse|lawyer|chef|admin|sysadmin|devops|professor|postdoc"
    r"|undergrad|grad|contractor|consultant"
    r"|cook|pilot|coach|tutor|director|vp|owner|parent|mother|father|mom|dad|vegan|vegetarian|pescatarian|engineer|developer|designer|manager)\b",
    re.IGNORECASE,
)
JOBS = re.compile(
    r"(?:engineer|developer|programmer|designer|manager|scientist|analyst|architect|administrator|consultant|technician|specialist|researcher|teacher"
    r"|lecturer|professor|writer|editor|translator|interpreter|photographer|illustrator|animator|accountant|auditor|banker|trader|broker|economist"
    r"|lawyer|attorney|paralegal|judge|nurse|doctor|surgeon|dentist|pharmacist|therapist|psychologist|psychiatrist|physician|physicist|chemist"
    r"|biologist|geologist|linguist|historian|statistician|mathematician|librarian|veterinarian|vet|electrician|plumber|carpenter|mechanic|driver"
    r"|pilot|baker|chef|cook|waiter|waitress|barista|bartender|farmer|gardener|florist|hairdresser|musician|composer|actor|actress|director"
    r"|producer|journalist|reporter|officer|sergeant|soldier|firefighter|paramedic|midwife|tutor|coach|trainer|recruiter|marketer|strategist|planner"
    r"|coordinator|supervisor|assistant|secretary|clerk|cashier|salesman|salesperson|agent|operator|tester|maintainer|contractor|freelancer"
    r"|entrepreneur|founder|cofounder|co-founder|owner|owner-operator|lead|head|chief|president|vp|ceo|cto|cfo|coo|cio|ciso|pm|po|sre|dba|dev|devops"
    r"|admin|sysadmin|student|phd|postdoc|undergrad|intern|trainee|apprentice|junior|senior|fellow|postgrad|grad|candidate|hacker|coder|worker"
    r"|guide|recluse|activist|veteran|homemaker|artist|potter|tailor|builder|welder|machinist|surveyor|cartographer|meteorologist|astronomer|archaeologist|anthropologist|sociologist"
    r"|principal|priest|pastor|rabbi|monk|diplomat|politician|minister|mayor|stockbroker|realtor|landlord|craftsman|foreman|seamstress"
    r"|\w+(?:ologist|ographer|ician|smith|maker|keeper|wright))s?$",
    re.IGNORECASE,
)
"""The last word of what one does for a living or studies to be."""
DIETS = re.compile(r"^(?:an? )?(?:strict |mostly )?(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|omnivore|carnivore)s?$", re.IGNORECASE)
SMALL_NUMBERS = (
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty)"
)
FIELDS = _words(
    "marketing sales finance it hr qa legal support healthcare education insurance banking logistics retail consulting academia research security"
    " procurement accounting operations engineering design product publishing law medicine government hospitality construction"
)
"""What one works in, other than a place or a tool."""
NOT_ROLES = _words("beginner number user member matter lover over ever never other newcomer expert bother computer letter order power paper")
TRAITS = re.compile(
    r"^(?:allergic to|fluent in|new to|familiar with|not familiar with|comfortable with|experienced (?:in|with)|vegan"
    r"|vegetarian|pescatarian|lactose intolerant"
    r"|left-handed|right-handed|colou?r-?blind|dyslexic|deaf|hard of hearing|blind|married|single|divorced|engaged|retired"
    r"|self-employed|unemployed|self-taught|freelance\b|ex[- ]military"
    r"|in (?:college|high school|law school|med(?:ical)? school|grad(?:uate)? school|the \w+ grade|an? (?:\w+ ){0,2}relationship"
    r"|my (?:early |mid[- ]?|late )?(?:teens|twenties|thirties|forties|fifties|sixties|seventies|[2-7]0s))\b"
    r"|partly (?:deaf|blind)|a stay[- ]at[- ]home \w+"
    r"|in the (?:army|navy|air force|military|reserves)"
    r"|freelancing|bilingual|trilingual|diabetic|celiac|gluten[- ]free|a morning person|an early bird|a night owl|visually "
    r"impaired|autistic|(?:really |quite |pretty |very )?(?:terrible|bad|good|great|experienced|rusty) (?:at|with|in|on) "
    r"(?!this\b|that\b|it\b)|responsible for"
    r"|in charge of|certified in)\b",
    re.IGNORECASE,
)
ENVIRONMENTS = {
    "staging": "staging",
    "production": "production",
    "prod": "production",
    "dev": "development",
    "development": "development",
    "qa": "qa",
    "ci": "ci",
    "uat": "uat",
    "locally": "local",
    "local": "local",
    "preview": "preview",
    "testing": "test",
}
"""Environment words and the one form in which they qualify."""

MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAYS = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)days?"
DATE = re.compile(
    rf"\b(?:{MONTHS}\.? \d|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTHS}\b|{DAYS}\b|(?:in|by|until|since|early|late|mid) {MONTHS}\b"
    rf"|\d{{4}}-\d\d|Q[1-4]\b|end of|mid-?|\d{{1,2}}/\d{{1,2}})|^{MONTHS}$",
    re.IGNORECASE,
)
WHEN_DUE = re.compile(
    rf"\b(?:(?:by|before|until|due|on|this|next|end of|no later than) (?:the )?(?:end of |next )?(?:{DAYS}|{MONTHS}|\d|week"
    rf"|weekend|month|sprint|quarter|year|release"
    r"|launch|demo|meeting|deadline|eod|eow|noon|tonight|tomorrow|beta|Q[1-4])\w*|tomorrow|month-end|year-end|(?:next|this) "
    r"\w+day|later this \w+|some day|"
    r"in (?:\w+ )?(?:days|weeks|months))\b",
    re.IGNORECASE,
)
