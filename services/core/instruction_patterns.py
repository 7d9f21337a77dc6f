"""What instructions to a model look like: patterns for `instructions`, by the reason that a reviewer is told.

They are matched against texts in lower case without invisible characters, white space folded but for line ends. Each takes a bounded number of steps.
What they let pass on purpose: rules of a team ("never commit to main"), wishes of a person ("answer in German"), facts about models and prompts.
"""

import re
from enum import StrEnum


class Reason(StrEnum):
    """What a text looks like, as its reviewers read it."""

    OVERRIDE = "sets other instructions aside"
    ROLE = "speaks in the role of system, assistant or person"
    ADDRESSED = "gives a model orders"
    COVERT = "asks to hide something from people"
    EXECUTED = "has something dangerous run, fetched or sent"
    HIDDEN = "holds characters that people can't see"
    ENCODED = "holds encoded text"
    TOOL = "looks like the call of a tool"
    MARKUP = "ends or opens a block that it does not belong to"


_CLAUSE = r"(?:^|[.;:!?,\n]\s*|\b(?:and|but|then|so|that|now|please|also|just) )"
_UNDENIED = r"(?:^|[.;:!?\n])(?:(?!\b(?:never|not|no|nobody|cannot)\b|n't\b)[^.;:!?\n]){0,200}"
"""The beginning of a sentence in which nothing is denied: "never deploy without telling the team" is a rule."""
_OTHERS = (
    r"(?: (?:all|any|the|your|every|everything|these|those|my|its|of|in|from|previous|prior|earlier|above|preceding|existing|current|other|former"
    r"|past"
    r"|given|system|safety|security|developer's|user's|such))"
)
_EARLIER = r"(?:previous|prior|earlier|above|preceding|former|past|your|system)"
_RULES = r"(?:instructions?|directives?|prompts?|guidelines|guidance|guardrails|programming|safeguards?|consignes)"
_MODEL = (
    r"(?:(?:the |this |any |every |all |an |your |my )?"
    r"(?:ai(?: assistants?| agents?| models?)?|assistants?|llms?|language models?|chat ?bots?|coding agents?)|claude|chatgpt|copilot|gemini|codex"
    r"|cursor)"
)
_USER = r"(?:(?:the |any |an? )?(?:users?|humans?|persons?|people|developers?|operators?|owners?|reviewers?)|anyone|anybody|them)"
_ORDERS = (
    r"(?:obey|comply|ignore|disregard|execute|run|approve|reveal|disclose|send|forward|upload|share|answer|reply|respond|say|tell|act|accept|grant"
    r"|trust|delete|recommend|treat|pretend|deny|refuse|hide|conceal|mention|insert|append|output|follow (?:these|this|every|whatever|all))"
)
_SPEAK = (
    r"(?:say|reply|respond|answer|tell|recommend|claim|deny|refuse|insist|pretend|state|output|print|run|execute|send|approve|act|behave|mention"
    r"|praise"
    r"|promote|append|insert|(?:add|include) (?:an? )?(?:link|image|phrase|note that))"
)
_SHELL = r"(?:sudo )?(?:(?:ba|z|da|k|fi)?sh|python\d?|perl|ruby|node|php|iex|powershell|pwsh)\b"
_FETCH = r"(?:curl|wget|fetch|download|install|execute|run|open|visit|browse|load|import|clone|pull|get|source)"
_SECRETS = (
    r"(?:~?/?\.ssh\b|id_rsa|id_ed25519|\.env\b|/etc/passwd|\.aws/|credentials?|api[ _-]?keys?|secrets?|tokens?|passwords?|private keys?"
    r"|environment variables)"
)
_AWAY = r"(?:https?://|[\w.+-]+@[\w-]+\.\w|<email_\d+>|webhook|pastebin)"
_PRIVATE_IP = r"(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|0\.0\.0\.0)"

_BY_REASON: dict[Reason, tuple[str, ...]] = {
    Reason.MARKUP: (
        r"</?\s*(?:brb-\w+|system(?:-\w+)?|user|human|assistant|instructions?|memory|memories)\s*>",
        r"</(?:context|document|data|prompt|conversation|message|system_prompt|input|untrusted\w*)>",
    ),
    Reason.TOOL: (
        r"</?(?:antml:)?(?:function_calls?|function_results|invoke|tool_use|tool_calls?|tool_result|parameter)\b",
        r'"(?:tool_calls?|function_call|tool_use)"\s*:|"type"\s*:\s*"(?:tool_use|function|tool_result)"|"arguments"\s*:',
        r"\[/?tool_?calls?\]|\baction input:|\bfunctions\.\w+\(\{",
        r"^(?:tool|function)(?: call)? (?:result|output|response)\s*:",
    ),
    Reason.ROLE: (
        r"<\|[\w ]{2,20}\|>|\[/?inst\]|<</?sys>>|^#+ ?(?:system|instructions?|assistant)\b ?(?:prompt)?:",
        r"^\W{0,4}(?:system|assistant|human|developer)(?: (?:prompt|message|note|instruction|notice))?\W{0,3}\s?[:：]",
        r"^\W{0,4}(?:system|developer) (?:prompt|message|note|notice|alert|instruction)\W{0,3} ?[-–—]",
        r"^user: .*\n\W{0,4}assistant:",
        r"(?:^|\. )\W{0,2}[\[({](?:system|admin|developer|assistant)(?: \w+)?[\])}]",
        r'"role"\s*:\s*"(?:system|assistant|developer)"',
    ),
    Reason.OVERRIDE: (
        r"\b(?:ignore|disregard|forget|override|bypass|disobey|discard|drop|abandon|do not (?:follow|obey)|don't (?:follow|obey)|stop (?:following"
        r"|obeying)"
        rf"|throw away|set aside|pay no attention to){_OTHERS}{{0,5}} {_RULES}\b(?! (?:of|in) (?:the )?(?:readme|contributing|docs?|issue|ticket)\b)",
        rf"\b(?:ignore|disregard|forget|override|disobey|drop)(?: (?:all|any|every|everything|the|of|in|from))* {_EARLIER}(?: {_EARLIER})*"
        r" (?:rules|messages?|context|conversation|commands?|orders|polic(?:y|ies)|constraints|restrictions|training)\b",
        r"\b(?:ignore|disregard|forget) (?:all|everything|anything|whatever)(?: of)?(?: the)? (?:above|before|you|i said|that was|was said|so far)\b",
        r"\b(?:skip|disable|ignore|bypass|override|turn off|circumvent|deactivate)(?: (?:every|all|any|the|your))* (?:safety|content)"
        r" (?:rules?|checks?|guidelines?|filters?|measures?|polic(?:y|ies))\b",
        r"\b(?:previous|prior|earlier|existing|all other|your(?: \w+)?|these|safety|security)"
        r" (?:rules|instructions|guidelines|directives|constraints|restrictions|checks|filters|polic(?:y|ies))"
        r" (?:is|are|was|were|have been|has been|had been|no longer) (?:now |all |hereby )?"
        r"(?:void|off|disabled|suspended|lifted|cancell?ed|obsolete|revoked|replaced|superseded|removed|appl(?:y|ies))",
        r"\b(?:rules|guidance|instructions?|orders|directions|guidelines|prompt)(?: that)? (?:you|above) (?:were|was|are|have|had|got|received)\b",
        rf"\byour (?:\w+ )?(?:system (?:message|prompt)|guardrails|programming|hidden {_RULES})\b",
        r"\b(?:new|updated|real|additional|secret|hidden) (?:system )?instructions?(?: (?:follow|below|from|for you)|\s?:)|\bfresh orders\b",
        r"\bobey (?:only|the|me|every|all|these|this|whatever|what|any|everything)\b",
        r"\bsystem override\b|\b(?:developer|god|debug|jailbreak) mode (?:enabled|on|activated)\b|\bjailbroken\b|\bdo anything now\b",
        r"\b(?:takes? precedence|has priority|overrid(?:es|ing)|supersedes?) (?:over )?(?:all|any|every|your|other|previous|the system)"
        r"(?: other| previous)? (?:instructions?|rules|prompts?|messages?|guidelines)",
        # in other languages
        r"\bignorier(?:e|en sie)\b.{0,30}\b(?:anweisungen|befehle|instruktionen|regeln)|\bvergiss (?:alles|alle)\b.{0,20}\b(?:was|anweisungen"
        r"|regeln|vorher)",
        r"\b(?:ignore[zr]?|oublie[zr]?)\b.{0,25}\b(?:instructions|consignes)\b|\b(?:oublie[zr]?|ignore[zr]?) tout(?:es)? (?:ce|les)\b",
        r"\b(?:ignora|ignore|olvida|esqueça|dimentica)\b.{0,25}\b(?:instrucciones|istruzioni|instruções|reglas|regole|regras|todo lo|tutto)\b",
        r"(?:игнорируй|забудь).{0,25}(?:инструкци|указани|правила)|(?:忽略|无视|忘记|忘掉).{0,10}(?:指令|指示|提示)|指示を(?:無視|忘れ)|지시.{0,6}무시",
        r"\b(?:ignore|disregard|forget|disobey) (?:what|everything|anything|whatever|all)(?: that)?(?: the)? "
        r"(?:system|developers?|users?|owners?|operators?|admins?|they) (?:said|told|asked|wants?|wrote)\b",
        r"\b(?:ignore|disregard|forget)(?: all)?(?: the)? (?:rules|orders|text|instructions) above\b",
        r"\b(?:everything|anything|all|whatever)(?: that)?(?: the)? (?:system|developers?|operator) (?:said|told|has told|instructed)\b",
        r"\b(?:ignore|disregard|disobey|override) (?:the )?(?:user|developer|operator|human|person)(?:'?s)? (?:wishes|requests?|orders|commands"
        r"|preferences|instructions)",
        r"^\W{0,20}(?:begin|end|start)(?: of)?(?: new)?(?: system)? (?:prompt|memory|memories|context|instructions)\b"
        r"|\bnew (?:task|orders?|prompt)\s*:",
        r"\byour (?:guidelines|rules|restrictions|limits|filters|instructions|training) (?:do not|don't|no longer|never|are|were)\b",
        r"\byou (?:no longer have|now have no|have no)(?: more| any)? (?:restrictions|limits?|rules|filters|guidelines)\b|\bthe (?:real|actual"
        r"|true) (?:instructions?|rules|task)\b",
        r"\b(?:vergessen|ignorieren|missachten) sie\b.{0,30}(?:anweisung|regeln|vorgaben)|\bne (?:tiens|tenez) pas compte\b|\bhaz caso omiso\b"
        r"|\bno hagas caso\b",
        r"(?:没有|不受).{0,3}限制|システムプロンプト|制限のない",
    ),
    Reason.COVERT: (
        rf"(?:{_CLAUSE}|\byou )(?:do not|don't|never|must not|should not)(?: ever)? (?:tell|mention|inform|alert|warn|reveal|disclose|admit|let)"
        r"(?: (?:any ?thing|this|it|that|about|of))* (?:to )?(?:the )?(?:user|human|person|developer|operator|owner)s?\b"
        r"(?! (?:which|whether|how|their|his|her|twice|more|until|before)\b)",
        rf"{_UNDENIED}\bwithout (?:telling|informing|notifying|alerting|warning|the knowledge of|the consent of|mentioning (?:it|this) to) \w+",
        rf"{_UNDENIED}\bwithout (?:asking )?{_USER}(?:'s)? ?(?:noticing|knowing|seeing|knowledge|consent|approval|permission)?\b",
        rf"{_UNDENIED}\bwithout asking {_USER}\b",
        rf"\b(?:hide|conceal|keep) (?:this|the following(?: steps?)?|it|that|these|all of this|the fact)(?: \w+)?(?: (?:secret|hidden|quiet"
        rf"|confidential|away"
        rf"|back))? from {_USER}\b",
        rf"\b{_USER} (?:must|should|may|can|is to|are to) (?:never|not) (?:find out|know|learn|notice|hear|be told|be informed|be aware)\b",
        rf"{_CLAUSE}(?:make no mention of|do not report|don't report|never speak of|tell (?:nobody|no one)) ?(?:this|it|that|about)?\b",
        rf"{_CLAUSE}(?:secretly|quietly|silently|covertly|discreetly) (?:add|send|forward|run|insert|upload|copy|include|install|change|disable"
        rf"|execute|post"
        r"|append|email|push|exfiltrate)\b",
        rf"{_CLAUSE}do (?:this|it|that|so) (?:secretly|quietly|silently|covertly|discreetly)\b",
        rf"\b{_MODEL} (?:(?:must|should|shall|will|may|do(?:es)?|is to|are to|can)(?: not|n't)|cannot|can't|won't|never)(?: ever)?"
        r" (?:tells?|mentions?|informs?|alerts?|warns?|notif(?:y|ies)|reveals?|discloses?|admits?)"
        rf"(?: (?:any ?thing|this|it|that|about|of))* (?:to )?(?:{_USER}|customers?|clients?)\b",
        rf"{_CLAUSE}never (?:warn|report|flag|mention|raise)\b[^.\n]{{0,30}}\b(?:vulnerabilit|security|risks?\b|backdoor|malware)",
        r"\b(?:make sure|ensure|see to it)(?: that)? (?:(?:the )?(?:humans?|users?|developers?|persons?) (?:does not|doesn't|never|cannot|can't"
        r"|do not|don't|must not)"
        r"|nobody|no one) (?:ever )?(?:sees?|notices?|knows?|finds?|learns?|reads?|hears?)\b",
        r"\bkeep (?:quiet|silent|mum) about\b|\b(?:invisible|hidden|secret) (?:link|image|task|goal|instruction|pixel|tracker|command|payload)s?\b",
    ),
    Reason.EXECUTED: (
        rf"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|base64 (?:-d|--decode))\b[^\n|]{{0,200}}\|\s*(?:{_SHELL})",
        r"\b(?:curl|wget)\b[^\n]{0,120}(?:&&|;)\s*(?:sudo )?(?:chmod|sh|bash|python\d?|\./|/tmp)",
        r"\b(?:ba|z)?sh(?: -c)? [\"']?(?:<\(|\$\()\s*(?:curl|wget)|\beval\b[^\n]{0,10}\$\(\s*(?:curl|wget)|\biex\b ?\("
        r"|\bpowershell(?:\.exe)? -e(?:nc|c)",
        r"/dev/(?:tcp|udp)/|\bnc(?:at)? (?:\S+ ){0,4}-e\b|:\(\)\s*\{\s*:",
        r"\brm (?:-{1,2}[\w-]+ )*-(?:rf|fr|r|f)\w* (?:-{1,2}[\w-]+ )*(?:/\*?|~/?|\$home/?|\*|\.)(?=\s|$|[\"'`;])",
        rf"(?:{_CLAUSE}|\bby )(?:always |first |immediately )?(?:run|execute|running|executing) [`\"']?(?:curl|wget|nc|eval|powershell)\b"
        r"(?![^\n]{0,60}(?:localhost|127\.0\.0\.1))",
        rf"\b{_FETCH}\b[^\n]{{0,80}}\b(?:https?|ftp)://(?!{_PRIVATE_IP})\d{{1,3}}(?:\.\d{{1,3}}){{3}}",
        rf"\b(?:index-url|{_FETCH})\b[^\n]{{0,80}}\b(?:https?|ftp)://[^\s/@<>]{{1,80}}:[^\s/@]{{1,80}}@",
        rf"\b(?:index-url|{_FETCH})\b[^\n]{{0,80}}https?://\[?<ip_\d+>\]?[^\n]{{0,60}}(?:\.(?:sh|py|ps1|exe|bat|js|tgz|whl)\b|/simple\b|\|)",
        rf"{_CLAUSE}(?:always |also |first )?(?:cat|send|upload|post|e-?mail|forward|copy|paste|exfiltrate|leak|transmit|push|curl)\b"
        rf"[^\n]{{0,80}}{_SECRETS}[^\n]{{0,60}}\b(?:to|at|into|with|by)\b[^\n]{{0,30}}{_AWAY}",
        rf"{_UNDENIED}\b(?:to|{_MODEL}|agents?) (?:always |also |first )?(?:cat|sends?|uploads?|posts?|e-?mails?|forwards?|transmits?|leaks?)\b"
        rf"[^\n]{{0,60}}{_SECRETS}[^\n]{{0,40}}\b(?:to|at|into)\b[^\n]{{0,30}}{_AWAY}",
        rf"\b(?:append|add|include|insert|embed|attach|put)\b[^.\n]{{0,60}}{_SECRETS}[^.\n]{{0,30}}\b(?:every|each|any|all)(?: of)?(?: the)?"
        r" (?:links?|urls?|images?|answers?|repl(?:y|ies)|responses?|messages?|files?|commits?)(?: that| which)? you\b",
        rf"\bcat\b[^\n|]{{0,60}}{_SECRETS}[^\n|]{{0,40}}\| ?(?:curl|nc|ncat)\b",
        rf"{_CLAUSE}(?:reveal|print|list|show|include|give|output|dump|export|disclose|respond|reply|answer)\b[^.\n]{{0,50}}"
        rf"\b(?:all|the|every|any|your) (?:\w+ )?{_SECRETS}\b(?! (?:are|is|as|in|on)\b)",
        r"\b(?:add|insert|create|leave|install|plant|put|open|start|spawn) (?:an? )?(?:back ?door|malware|keylogger|rootkit|trojan|reverse shell)\b",
        rf"{_UNDENIED}\b(?:exfiltrate|leak|steal|hand over)\b[^.\n]{{0,30}}\b(?:{_SECRETS}|data|files|prompts?)",
        r"\btask: exfiltrate\b|;\s?drop table\b",
        rf"{_CLAUSE}(?:always )?(?:add|append|put|write)\b[^.\n]{{0,50}}(?:authorized_keys|/etc/sudoers|/etc/hosts)",
        rf"(?:{_CLAUSE}|\b(?:should|must|shall) )(?:e-?mail|mail|send|forward|upload|post)\b[^\n]{{0,60}}\b(?:list|data(?:base)?|code"
        rf"|repo(?:sitory)?|history"
        r"|conversations?|files?|diffs?|dump|context|notes|memor(?:y|ies))\b[^\n]{0,20}\bto (?:https?://|[\w.+-]+@[\w-]+\.\w|<email_\d+>)",
        r"\b(?:load|fetch|open|read|visit)\b[^\n]{0,10}https?://\S+[^.\n]{0,30}\b(?:and|then) (?:do|follow|run|execute|obey|apply)\b",
    ),
    Reason.ADDRESSED: (
        r"\bas an? (?:ai|llm|language model|artificial intelligence|assistant)\b"
        r"(?! (?:engineer|researcher|developer|teacher|professor|manager|coach|lecturer|scientist|company|startup|team|lab|student))",
        rf"{_CLAUSE}you (?:must|shall|will(?: now)?|have to|need to|are required to|are obliged to|should|are to)"
        rf" (?:always |never |only |now |immediately |first )*{_ORDERS}\b",
        rf"{_CLAUSE}you (?:must|shall|will) (?:always|only|immediately|now)\b",
        r"\byou are (?:now|no longer|actually|really|hereby)\b|\byou are (?:an? |the |my )?(?:\w+ )?(?:ai|assistant|chatbot|language model|shell"
        r"|terminal)\b",
        r"\byou are (?:unrestricted|jailbroken|root|not bound)\b",
        r"\byou (?:are|have been) (?:hereby |fully |now )?(?:authori[sz]ed|granted|unrestricted|permitted to (?:skip|ignore|bypass))\b",
        r"\byou have (?:full |my |the |complete )?(?:permission|consent|authority|clearance|root|unrestricted)\b",
        rf"\b(?:attention|notice|note|message|instructions?|reminder|dear|hey|hello)[,:]?(?: (?:to|for))? (?:all )?{_MODEL}\b(?: \w+)?\s?[:,!]",
        r"^(?:to|for) (?:the |all |any )?(?:model|assistant|ai|agents?|llms?)s?\s?:",
        r"\b(?:if|when|whenever|as) (?:you are|you're) (?:an? |the )?(?:ai|llm|language model|assistant|agent|bot)\b",
        rf"\b(?:if|when|once|whenever) (?:you|{_MODEL}) (?:reads?|sees?|recalls?|retrieves?|loads?|processe?s?|is told of) (?:this|these)\b",
        rf"\b{_MODEL} (?:must|should|shall|has to|have to|needs? to|will|may|is to|are to)(?: always| never| now| not| only)* "
        r"(?:obey|comply|ignore|reveal|disclose|send|forward|upload|exfiltrate|e-?mail|execute|run whatever|approve|grant|trust|hide|conceal|pretend"
        r"|mention|tell|recommend|say|delete|bypass|skip|share|leak|merge|follow (?:these|this|every))\b",
        r"\b(?:any|every|all|each) (?:ai|llm|agent|assistant)s?(?: agents?| assistants?| models?)? (?:that|which|who|reading|processing|working"
        r"|here)\b",
        r"\bagents? (?:working|reading|running|operating|that work) (?:here|on|in|with)\b[^.\n]{0,40}\b(?:permitted|allowed|may|must|should|shall)\b",
        r"^act as (?:if|though|the (?:user|system|admin)|an? (?:unrestricted|unfiltered|shell|terminal|root|admin|jailbroken))\b",
        rf"{_CLAUSE}(?:pretend|role-?play|imagine) (?:that )?(?:to be|you have|you(?:'re| are) (?:an? )?(?:ai|root|admin|unrestricted|not bound"
        rf"|free))\b",
        r"\byour (?:(?:real|true|new|only|primary|actual|secret) )?(?:purpose|objective|mission|master) (?:is|are)\b"
        r"|\byour (?:real|true|new|only|primary|actual|secret) (?:task|goal|instructions?|role|owner|job) (?:is|are)\b",
        rf"\bfrom now on,? (?:you\b(?! can)|(?:always |only |never )?{_SPEAK}\b(?!(?: to)?(?: me)?(?: only| always)? in (?!all |every )))",
        r"\bin (?:all|every|each|any)(?: future| further| your)? (?:conversation|session|chat)s?,? (?:include|append|add|insert|mention|say|embed"
        r"|render)\b",
        r"\bin (?:all|every|each|any)(?: of)?(?: future| further| your)? (?:response|answer|reply|replies|message)s?,? "
        r"(?:(?:append|insert|embed|render|mention)\b|(?:include|add) (?:an? |the )?(?:link|image|pixel|phrase|words?|token|url)\b)",
        rf"\b(?:when|whenever|if|every time|each time|once) (?:(?:the|a|any) (?:user|person|human|developer|customer)|you(?: are|'re)|any(?:one|body)"
        r"|some(?:one|body)|they|asked|prompted|questioned|summari[sz]ing|answering|replying|responding|reviewing)\b"
        rf"[^.\n]{{0,60}},\s*(?:then |always |only |just |simply )*{_SPEAK}\b(?! (?:within|in under|by e-?mail))",
        rf"{_CLAUSE}(?:remember to )?always (?:say|claim|recommend|insist|state) (?!no\b|hello|thank|hi\b|please)",
        r"\b(?:answer|respond to|reply to) (?:all|any|every) (?:\w+ )?questions?\b[^.\n]{0,60}\b(?:with|by|that)\b",
        r"\bthe (?:user|owner|admin(?:istrator)?|security team) (?:has|have) (?:already |explicitly |fully )?"
        r"(?:authori[sz]ed|consented|confirmed|agreed to|given (?:you |full |their |his )?(?:permission|consent)|approved (?:all|every|any))",
        r"\b(?:treat|consider|regard) (?:this|the following|it|these|every|all|any)(?: [\w.]+){0,4} as "
        r"(?:authoritative|trusted|pre-?approved|approved|an? (?:system|instruction|order|command)|instructions|system)\b",
        r"\b(?:all|any|every|everything)\b[^.\n]{0,40}\bpre-?approved\b",
        r"\btrust (?:all|any|every|everything)(?: \w+)? (?:from|in) (?:this|these)\b"
        r"|\b(?:do(?: not|n't)|never) (?:question|doubt|verify|second-guess) (?:it|this|these|them)\b",
        r"\b(?:reveal|print|repeat|output|show|leak|display|paste|dump)\b[^.\n]{0,20}\b(?:your|its|the (?:hidden|initial|full|entire)) "
        r"(?:system |hidden |initial |full |entire )*(?:prompt|instructions|context|configuration)\b",
        r"\b(?:include|append|add|insert|embed|put|end|render)\b[^.\n]{0,60}(?:https?://|!\[)[^\n]{0,120}\b(?:answer|reply|replies|response"
        r"|message|summary)\b",
        r"\b(?:answer|reply|replies|response|message|summary|summari[sz]e)\b[^.\n]{0,60}\b(?:include|append|with|add|insert"
        r"|embed)\b[^.\n]{0,40}(?:https?://|!\[)",
        r"!\[[^\]\n]{0,80}\]\(\s*https?://[^)\n]{0,200}[?&]\w+=[^)\n]{0,40}(?:[<{$]|secret|data|token)",
        r"\b(?:stop|quit|cease) being (?:an? |the |my )?(?:assistant|ai|model)|\bbecome (?:my|an?|the) (?:terminal|shell|unrestricted)\b",
        r"\b(?:whoever|anyone|any(?: ai| model| agent)|everybody)(?: who)? (?:reads?|sees?|finds?|processes) (?:this|these)\b|\bif you (?:find|see"
        r"|read|get|receive) (?:this|these)\b",
        r"\b(?:for|on|at|with|in) (?:every|each|any) (?:request|task|prompt|query|question|message)s?,? (?:first |always |then )*(?:load|fetch"
        r"|open|execute|send|visit)\b",
        r"\bdo (?:exactly )?what (?:it|they|this) says?\b|\b(?:never|do not|don't) refuse\b|\bthis is an? (?:order|direct order|command)\b",
        rf"{_UNDENIED}\b(?:approved?|executed?|run|accept(?:ed)?|trust(?:ed)?|merged?|follow(?:ed)?|obey(?:ed)?|granted?)\b[^.\n]{{0,80}}"
        r"\bwithout (?:any |further )?(?:questions?|hesitation|looking|checking|verif\w+|second thoughts?)\b",
        r"\b(?:execute|run|follow|obey|trust) (?:all |any |every |whatever )?(?:the )?(?:commands?|instructions?|orders|code) (?:in|from"
        r"|of) (?:the )?"
        r"(?:comments?|this|these|each|every|any|memor(?:y|ies)|issues?|e-?mails?|web ?pages?)\b",
        rf"\b(?:from this (?:point|moment|time)(?: on| forward| onwards?)?|henceforth|hereafter|starting now|from here on),? (?:you\b"
        rf"|(?:always )?(?:{_SPEAK}|sign)\b)",
        r"\b(?:order|command|message|instruction)s? from your (?:creator|maker|developer|owner|master)s?\b|\byour (?:creators?|makers?"
        r"|masters?) (?:want|order|command|say)",
        r"\b(?:anthropic|openai|google|microsoft|meta) (?:has |have )?(?:approved|authori[sz]ed|allows you|permits|policy update|instructs"
        r"|requires you)",
        r"\b(?:nothing|not),? just (?:say|write|output|print)\b|\byou (?:may|can|will|should) (?:now )?(?:share private|leak|help with anything"
        r")\b",
        r"\b(?:when|whenever|if|once|as soon as) (?:you|code|the code|a file|data|anything|something)\b[^.\n]{0,40}, (?:always |then |also )?"
        r"(?:append|claim|insert|say|send|execute|deny|pretend|approve|call the)\b",
        r"\b(?:is|are) (?:an? |the )?(?:admin\w*|root|superusers?)\b[^.\n]{0,40}\b(?:commands?|orders?|requests?|wishes)\b",
        r"\b(?:print|output|show|repeat|reveal|translate)\b[^.\n]{0,20}\b(?:above this|before this|text above|everything above"
        r"|of your (?:instructions|prompt|rules))",
        r"\bit is (?:fine|ok|okay|allowed|safe) to (?:leak|share|reveal|expose|disclose|delete|bypass)\b[^.\n]{0,40}",
    ),
    Reason.ENCODED: (r"\b(?:decode|decrypt|unscramble|rot13|base64)\b[^.\n]{0,40}\b(?:and|then) (?:follow|run|execute|do|obey|apply)\b",),
}

PATTERNS: tuple[tuple[Reason, re.Pattern[str]], ...] = tuple(
    (reason, re.compile(pattern, re.MULTILINE)) for reason, patterns in _BY_REASON.items() for pattern in patterns
)
