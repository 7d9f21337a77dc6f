"""Redaction as its callers see it: one text in, one text out."""

import random
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.core.redaction import Kind, Redactor, redact


def made_up(prefix: str, length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """A token of that shape which never was anybody's."""
    return prefix + "".join(random.Random(prefix + str(length)).choices(alphabet, k=length))


HEX = "0123456789abcdef"
BASE64 = string.ascii_letters + string.digits + "+/"
JWT = ".".join(("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", made_up("", 43)))
SEED = "ladder orbit velvet ridge cactus umbrella frozen pilot mango thunder basket noble"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(made_up(str(n), 63, BASE64) for n in range(4)) + "\n-----END RSA PRIVATE KEY-----"

CONTACTS = [
    ("write to ana@example.com please", "write to <EMAIL_1> please"),
    ("a+b@x.io and Ana.Lopez+news@mail.sub.example.co.uk.", "<EMAIL_1> and <EMAIL_2>."),
    ("Jürgen: jürgen@bücher.example, <leo@example.org>", "Jürgen: <EMAIL_1>, <<EMAIL_2>>"),
    ("mailto:ana@example.com?subject=x", "mailto:<EMAIL_1>?subject=x"),
    ("call (555) 123-4567", "call <PHONE_1>"),
    ("my cell: 555-123-4567 x89", "my cell: <PHONE_1>"),
    ("+1 415 555 0132, +44 20 7946 0958, +49 (0)30 1234567", "<PHONE_1>, <PHONE_2>, <PHONE_3>"),
    ("0049 30 1234567 or 030 1234567", "<PHONE_1> or <PHONE_2>"),
    ("06 12 34 56 78", "<PHONE_1>"),
    ("01.42.68.53.00", "<PHONE_1>"),
    ("020 7946 0958", "<PHONE_1>"),
    ("+34 612 345 678", "<PHONE_1>"),
    ("my number is 4155550132", "my number is <PHONE_1>"),
    ("Tel.: 612 345 678", "Tel.: <PHONE_1>"),
    ("WhatsApp me on +5511984565666", "WhatsApp me on <PHONE_1>"),
    ("My CN phone number is 13812345678", "My CN phone number is <PHONE_1>"),
    ("My CN number is 13812345678", "My CN number is <PHONE_1>"),
    ("call me at four one five, eight six seven, five three zero nine", "call me at <PHONE_1>"),
    ("My number is oh seven seven double-oh nine one two three, ok?", "My number is <PHONE_1>, ok?"),
    ("write to bob (at) example.com!", "write to <EMAIL_1>!"),
    ("bob[at]example[dot]com", "<EMAIL_1>"),
    ("I am bob at example dot com", "I am <EMAIL_1>"),
    ("ana.lopez AT mail DOT example DOT org", "<EMAIL_1>"),
    ("bob@example dot com", "<EMAIL_1>"),
    ("redis 10.0.0.5 is down, so is mysql 192.168.1.7", "redis <IP_1> is down, so is mysql <IP_2>"),
    ("card 4111 1111 1111 1111 exp 12/27", "card <CARD_1> exp 12/27"),
    ("378282246310005 and 3782 822463 10005", "<CARD_1> and <CARD_1>"),
    ("my card is 4242 4242 4242 4242, cvv 123", "my card is <CARD_1>, cvv <SECRET_1>"),
    ("5555-5555-5555-4444", "<CARD_1>"),
    ("4012888888881881 4012-8888-8888-1881", "<CARD_1> <CARD_1>"),
    ("pay to DE89 3704 0044 0532 0130 00 today", "pay to <IBAN_1> today"),
    ("GB82WEST12345698765432", "<IBAN_1>"),
    ("VG96 VPVG 0000 0123 4567 8901 X in a sentence", "<IBAN_1> X in a sentence"),
    ("SSN 123-45-6789", "SSN <SSN_1>"),
    ("my ssn is 123456789", "my ssn is <SSN_1>"),
    ("ssh deploy@10.1.2.3 and http://203.0.113.7:8080/x", "ssh deploy@<IP_1> and http://<IP_2>:8080/x"),
    ("from 192.168.1.20/24 to [2001:db8::1]:443", "from <IP_1>/24 to [<IP_2>]:443"),
    ("fe80::1%eth0, ::ffff:10.0.0.1", "<IP_1>, <IP_2>"),
    ("the server ip is 3.8.1.2", "the server ip is <IP_1>"),
    ("I live at 221B Baker Street, London NW1 6XE.", "I live at <ADDRESS_1>."),
    ("Ship to 1600 Amphitheatre Parkway, Mountain View, CA 94043", "Ship to <ADDRESS_1>"),
    ("Musterstraße 12, 10115 Berlin", "<ADDRESS_1>"),
    ("we meet at Kurfürstendamm 21 tomorrow", "we meet at <ADDRESS_1> tomorrow"),
    ("Berliner Str. 5a, 12345 Musterstadt", "<ADDRESS_1>"),
    ("12 rue de la Paix, 75002 Paris", "<ADDRESS_1>"),
    ("12 bis, avenue Victor Hugo", "<ADDRESS_1>"),
    ("Calle Mayor 5, 28013 Madrid", "<ADDRESS_1>"),
    ("Via Roma 12, 00184 Roma", "<ADDRESS_1>"),
    ("Keizersgracht 123, 1015 CJ Amsterdam", "<ADDRESS_1>"),
    ("I live at 742 evergreen terrace", "I live at <ADDRESS_1>"),
    ("my address is 5 Elm Drive, Springfield, IL 62704", "my address is <ADDRESS_1>"),
    ("350 Fifth Avenue, Suite 21, New York, NY 10118, USA", "<ADDRESS_1>"),
    ("P.O. Box 149", "<ADDRESS_1>"),
    ("my passport number is C01X00T47, valid", "my passport number is <NATIONAL_ID_1>, valid"),
    ("driver's license: D123-4567-8901", "driver's license: <NATIONAL_ID_1>"),
    ("NINO QQ 12 34 56 C", "NINO <NATIONAL_ID_1>"),
    ("Steuer-ID 12 345 678 901", "Steuer-ID <NATIONAL_ID_1>"),
    ("I was born on 12 May 1990 in Lyon", "I was born on <BIRTH_DATE_1> in Lyon"),
    ("DOB: 04/17/1988, date of birth is 1988-04-17", "DOB: <BIRTH_DATE_1>, date of birth is <BIRTH_DATE_2>"),
    ("Meet me at 17 Kestrel Point tomorrow", "Meet me at <ADDRESS_1> tomorrow"),
    ("4417 Mannerheimintie 12 Apt. 9\nTampere\nFinland 33100", "<ADDRESS_1>"),
    ("Our new office is at Tammelankatu 7", "Our new office is at <ADDRESS_1>"),
    ("the parcel goes to 221 Rowan Prairie Suite 12", "the parcel goes to <ADDRESS_1>"),
    ("12 Old Mill Lane\nLeeds\nUnited Kingdom 45210\nmy desk", "<ADDRESS_1>\nmy desk"),
    ("it goes to USS Meridian\nFPO AP 96601 now", "it goes to <ADDRESS_1> now"),
    ("PSC 1234, Box 567\nAPO AE 09012", "<ADDRESS_1>"),
    ("481 72 10 office, 555 01 22 33 fax", "<PHONE_1> office, <PHONE_2> fax"),
]


@pytest.mark.parametrize(("text", "expected"), CONTACTS)
def test_what_identifies_a_person_gives_way_to_a_placeholder(text: str, expected: str) -> None:
    assert redact(text).text == expected


LEFT_ALONE = [
    "My favourite number is 1618033988",
    "my lucky number is 12345678",
    "my badge number is 4155550132",
    "pull the nginx 1.25.3.1 image",
    "openssl 1.1.1.1 and Windows 10.0.19045.1",
    "we rolled out 1.25.3.1 release yesterday",
    "look at asp dot net and at node dot js",
    "array[at]index, see you (at) home",
    "version 1.2.3.4 of the driver",
    "upgrade from 10.2.3.4 to 10.2.3.5",
    "Chrome/120.0.0.0 Safari/537.36",
    "numpy==1.26.4.1",
    "see section 2.3.1.4",
    "bind to 127.0.0.1:3000 or 0.0.0.0, mask 255.255.255.0, ::1",
    "std::vector<int>, a1::b2, dead::beef, Foo::bar",
    "at 12:34:56 on 2024-01-15, mac aa:bb:cc:dd:ee:ff",
    "the meeting is on 01.02.2024 or 12/31/2025 10:30",
    "2024-01-15T10:30:00Z took 1700000000123 ms, since 1700000000",
    "order 4155550132, invoice number 020 7946 0958",
    "order id 234-567-8901 and ticket #123456789",
    "port 5432, pid 123456789, issue 123456789",
    "any 9-digit number like 123456789 stays",
    "000-12-3456, 666-12-3456, 900-12-3456, 123-00-4567, 123-45-0000",
    "4111 1111 1111 1112 fails its check digit",
    "DE89 3704 0044 0532 0130 01 fails too",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "0.4111111111111111 and 3.14159265358979",
    "git clone git@github.com:org/repo.git",
    "getty@tty1.service and icon@2x.png",
    "npm i @types/node lodash@4.17.21",
    "from 0-14 15-24 25-44, jobs 01/2015 - 01/2017",
    "Spring 5 and String 3, Main 5",
    "10 Google Drive tips, 3 way merge, 5 minutes walk",
    "the 2nd Street Fighter game",
    "add 2 unit tests and 3 Docker images",
    "Top 5 things",
    "the passport number is required in version 2.10.4",
    "my birthday is May 15, released on 2024-05-12",
    "national ID validation has 12 rules",
    "we moved to Python 3 and to Angular 17 last year",
    "ship it to 3 Docker hosts or to Node 20",
    "the bug is located at Line 42, return to Step 3",
    "we moved to Silicon Valley in 2020",
    "We run 12 Kafka Clusters in 3 Regions, and Test Suite 5",
    "the address is Port 5432, meet me at Gate 5",
    "we sold 655 437 108 office chairs",
    "count with me: one two three four five six seven eight",
]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text).text == text


TOKENS = [
    made_up("sk-ant-api03-", 95),
    made_up("sk-ant-api03-", 24),
    made_up("sk-proj-", 60),
    made_up("sk-svcacct-", 60),
    made_up("sk-", 48),
    made_up("ghp_", 36),
    made_up("gho_", 36),
    made_up("ghs_", 36),
    made_up("github_pat_", 22) + made_up("_", 59),
    made_up("glpat-", 20),
    "xoxb-" + "-".join((made_up("", 12, string.digits), made_up("1", 13, string.digits), made_up("", 24))),
    made_up("xapp-1-A0", 40),
    made_up("AKIA", 16, string.ascii_uppercase + "234567"),
    made_up("ASIA", 16, string.ascii_uppercase + "234567"),
    made_up("AIza", 35),
    made_up("sk_live_", 24),
    made_up("rk_live_", 24),
    made_up("whsec_", 32),
    made_up("SK", 32, HEX),
    made_up("SG.", 22) + made_up(".", 43),
    made_up("npm_", 36),
    made_up("pypi-AgEIcHlwaS5vcmc", 80),
    made_up("hf_", 34),
    made_up("M", 23) + made_up(".", 6) + made_up(".", 27),
    made_up("123456789:AA", 33),
    made_up("dop_v1_", 64, HEX),
    made_up("shpat_", 32, HEX),
    made_up("key-", 32, HEX),
    made_up("lin_api_", 40),
    made_up("ntn_", 11, string.digits) + made_up("", 35),
    made_up("dapi", 32, HEX),
    made_up("hvs.", 90),
    made_up("brb_", 43),
    made_up("gsk_", 52),
    "AGE-SECRET-KEY-1" + made_up("", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    JWT,
    PEM,
    made_up("pscale_tkn_", 43),
    made_up("pscale_pw_", 43),
    made_up("CCIPAT_", 22) + made_up("_", 40, HEX),
    made_up("bkua_", 40, HEX),
    made_up("sk_", 48, HEX),
    made_up("rzp_live_", 14),
    "access-production-550e8400-e29b-41d4-a716-446655440000",
    made_up("oy2", 43, string.ascii_lowercase + string.digits),
    made_up("00", 40),
    made_up("1/1200123456789012:", 32, HEX),
    made_up("2", 26) + made_up("_", 21),
    made_up("acme_live_", 32),
    made_up("unheardof_", 40),
    made_up("mytool_pat_", 36, HEX),
]


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token[:12])
@pytest.mark.parametrize(
    "sentence", ["{}", "use {} for staging.", "KEY={}\nDEBUG=1", "(`{}`)", '{{"value": "{}"}}', "https://api.example.com/?k={}&x=1"]
)
def test_tokens_of_known_vendors_are_secrets_wherever_they_stand(token: str, sentence: str) -> None:
    assert redact(sentence.format(token)).text == sentence.format("<SECRET_1>")


NAMED = [
    ("password is hunter2", "hunter2"),
    ("the password is swordfish.", "swordfish"),
    ("my password was Tr0ub4dor&3, now changed", "Tr0ub4dor&3"),
    ("the db password for staging is k9-lemon!", "k9-lemon!"),
    ("pwd: x1y2z3", "x1y2z3"),
    ("passwd=x9", "x9"),
    ("password=swordfish", "swordfish"),
    ('my passphrase is "correct horse battery staple"', "correct horse battery staple"),
    ("my passphrase is “correct horse”", "correct horse"),
    ('password = "it\'s4me"', "it's4me"),
    ('curl -d "{\\"password\\": \\"hunter2\\"}"', "hunter2"),
    ("my pw is hunter2", "hunter2"),
    ("the root password on prod: Sup3r!x", "Sup3r!x"),
    ("DB_PASS=letmein", "letmein"),
    ("wifi password: sunflower", "sunflower"),
    ("my openai key is abc123def456ghi789", "abc123def456ghi789"),
    ("admin_token=abc123def456", "abc123def456"),
    ("my login password is hunter2", "hunter2"),
    ("reset password: hunter2", "hunter2"),
    ("SECRET_KEY_BASE=0f3c9d2e1b4a5968", "0f3c9d2e1b4a5968"),
    ("token for ci is abcd1234efgh", "abcd1234efgh"),
    ("my passphrase is correct horse battery staple", "correct horse battery staple"),
    ("set the password to Winter2024!", "Winter2024!"),
    ("log in with password hunter22", "hunter22"),
    ("user admin, pass: s3cr3t!", "s3cr3t!"),
    ("Passwort: geheim123", "geheim123"),
    ("mot de passe : azerty42", "azerty42"),
    ('api_key = "abcd-1234-efgh-5678"', "abcd-1234-efgh-5678"),
    ("my api key is 8f3b2c1d9e7a4f60", "8f3b2c1d9e7a4f60"),
    ("secret: 9aF3kQ81zLm", "9aF3kQ81zLm"),
    ("token=abc123def456", "abc123def456"),
    ('{"clientSecret": "Zm9vYmFyMTIz"}', "Zm9vYmFyMTIz"),
    ("export STRIPE_TOKEN='tok1234567890'", "tok1234567890"),
    ("spring.datasource.password=Pa55word", "Pa55word"),
    ("  dbPassword: 'hunter2'", "hunter2"),
    ('os.environ["API_KEY"] = "q1w2e3r4t5y6"', "q1w2e3r4t5y6"),
    ("<password>hunter2</password>", "hunter2"),
    ("$config['password'] => 'hunter2';", "hunter2"),
    ("mysql --password hunter2 -u root", "hunter2"),
    ("mysql --password=hunter2", "hunter2"),
    ("X-Api-Key: c4ed6c21-9dd5-4a05-8e3f-c56d1151cce8", "c4ed6c21-9dd5-4a05-8e3f-c56d1151cce8"),
    ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
    ("-H 'Authorization: Basic dXNlcjpoMHBrMW5z'", "dXNlcjpoMHBrMW5z"),
    ("curl -u admin:d2LkV78zLx https://x.example", "d2LkV78zLx"),
    ("aws_secret_access_key = " + made_up("", 40, BASE64), made_up("", 40, BASE64)),
    ("AccountKey=" + made_up("", 86, BASE64) + "==;EndpointSuffix=core.windows.net", made_up("", 86, BASE64) + "=="),
    ("?sv=2022-11-02&sig=" + made_up("", 43) + "%3D&se=2030", made_up("", 43) + "%3D"),
    ("postgres://u:p@h:5432/db", "p"),
    ("redis://:s3cr3t@cache.internal", "s3cr3t"),
    ("mongodb+srv://app:p%40ss@cluster.example.net/x", "p%40ss"),
    ("ALTER USER leo IDENTIFIED BY 'tiger99'", "tiger99"),
    # before the name, far from it, or under it
    ("use dragonfly as the password", "dragonfly"),
    ("Use dragonfly as the wifi password for guests", "dragonfly"),
    ("Zx9kQw12 is my password", "Zx9kQw12"),
    ("sunflower is the wifi password", "sunflower"),
    ("the password we use is Tangerine42", "Tangerine42"),
    ("the password I told you about is Tangerine42 by the way", "Tangerine42"),
    ("the password (for prod) is Tangerine42", "Tangerine42"),
    ("your password (old): hunter2", "hunter2"),
    ("The password? It's Tangerine42.", "Tangerine42"),
    ("password got changed to Tangerine42", "Tangerine42"),
    ("The password is sunflower for the wifi", "sunflower"),
    ("the password is swordfish on the NAS", "swordfish"),
    ("Password:\n  w1nterIsC0ming", "w1nterIsC0ming"),
    ("my password\nw1nterIsC0ming\n", "w1nterIsC0ming"),
    ("**Password:**\n`w1nterIsC0ming`", "w1nterIsC0ming"),
    ("The Wi-Fi key is blue-Tulip-88", "blue-Tulip-88"),
    ("wifi key: sunflower", "sunflower"),
    ("wifi password: sunflower. Ask me for more.", "sunflower"),
    ("my password is swordfish. Ask me for more.", "swordfish"),
    ("I set my password to swordfish. Ask me for more.", "swordfish"),
    ("password=41Z3p8P5Ed", "41Z3p8P5Ed"),
    # beside a user
    ("log in as admin / Sup3rS3cret!", "Sup3rS3cret!"),
    ("credentials: bob / Sup3rS3cret", "Sup3rS3cret"),
    ("the creds are bob:Sup3rS3cret!", "Sup3rS3cret!"),
    ("admin / Sup3rS3cret!", "Sup3rS3cret!"),
    # in commands
    ("mysql -u root -pR00tPass123 shop", "R00tPass123"),
    ("docker login -u bob -p hunter22secret", "hunter22secret"),
    ("-p hunter22secret", "hunter22secret"),
    ("redis-cli -a s3cr3tpw ping", "s3cr3tpw"),
    ("unzip -P s3cr3tpw x.zip", "s3cr3tpw"),
    ("echo hunter2 | sudo -S apt update", "hunter2"),
    ("keytool -storepass changeit9 -list", "changeit9"),
    ("htpasswd -bc .htpasswd ana hunter2", "hunter2"),
    ("wandb login " + made_up("", 40, HEX), made_up("", 40, HEX)),
    ("ngrok config add-authtoken " + made_up("", 49), made_up("", 49)),
    # codes
    ("PIN: 9917", "9917"),
    ("my pin is 9917", "9917"),
    ("the PIN for my card is 9917", "9917"),
    ("the alarm code is 77341", "77341"),
    ("Door code: 4471#", "4471#"),
    ("the locker combination is 12-34-56", "12-34-56"),
    ("cvv is 737", "737"),
    ("my 2FA code is 482913", "482913"),
    ("verification code: 482 913", "482 913"),
    ("OTP 482913", "482913"),
    ("my seed words are " + SEED, SEED),
    ("Seed phrase: " + SEED + " " + SEED + ".", SEED + " " + SEED),
    ("My 12 word seed phrase is: " + SEED.replace(" ", ", ") + " and that is all", SEED.replace(" ", ", ")),
    # cookies
    ("Cookie: sessionid=8f3b2c1d9e7a4f60a1; theme=dark", "8f3b2c1d9e7a4f60a1"),
    ("curl --cookie 'sid=8f3b2c1d9e7a4f60a1' https://x.example", "8f3b2c1d9e7a4f60a1"),
    ("it sent PHPSESSID=8f3b2c1d9e7a4f60a1", "8f3b2c1d9e7a4f60a1"),
    # of other languages
    ("moje hasło to Krakow2024!", "Krakow2024!"),
    ("пароль: Vesna2024", "Vesna2024"),
    ("мой пароль — Vesna2024", "Vesna2024"),
    ("the wifi key at the office is copper-walrus-lantern btw", "copper-walrus-lantern"),
    ("my password is copper-walrus-lantern", "copper-walrus-lantern"),
    ("passwort für den server: Eisbaer_2025", "Eisbaer_2025"),
    ("contraseña para la wifi: Gatito_77", "Gatito_77"),
    ("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF"),
    ("login for staging: qa_user / Summer2026!", "Summer2026!"),
    ("creds are bob/Wh1teRabbit", "Wh1teRabbit"),
    ("the secret is 'copper-walrus-lantern-moss' for hmac", "copper-walrus-lantern-moss"),
    ("the password was weak, so I changed it to 0pen-Sesame", "0pen-Sesame"),
    ("密码是Chunjie2024，请记住", "Chunjie2024"),
    ("密码：hunter22", "hunter22"),
    ("パスワードはSakura99です", "Sakura99"),
    ("Das WLAN-Passwort ist Sonnenblume.", "Sonnenblume"),
    ("mi contraseña es gatito99", "gatito99"),
    ("mon mot de passe est soleil42", "soleil42"),
    ("a senha é cafezinho7", "cafezinho7"),
    # broken over lines
    (JWT[:50] + "\n" + JWT[50:] + " ok", JWT[:50] + "\n" + JWT[50:]),
    (JWT[:76] + "\n> " + JWT[76:] + "\n", JWT[:76] + "\n> " + JWT[76:]),
    ("https://hooks.slack.com/services/T024TTTTT/BBB72BBL/" + made_up("", 24), "T024TTTTT/BBB72BBL/" + made_up("", 24)),
]


@pytest.mark.parametrize(("text", "secret"), NAMED)
def test_a_value_that_its_name_or_place_makes_a_secret_is_one(text: str, secret: str) -> None:
    before, _, after = text.rpartition(secret)
    assert redact(text).text == f"{before}<SECRET_1>{after}"


NO_SECRET = [
    "the password is required for login",
    "the password is expired and the password is stored in vault",
    "the password is essential for the login",
    "the password is clear in the logs",
    "the password we use is too short",
    "PIN is optional, PIN is 4 digits, GPIO pin: 17, pin 4 is GND",
    "the key is to listen",
    "the code is broken, the code is ready",
    "my seed data is stored in fixtures",
    "my seed data is made of users and orders and some products with prices from last year",
    "exit code: 137, error code is 404, zip code is 90210, area code 415, promo code: SAVE20",
    "the login code is in auth2.py",
    "the recovery code is python3 only",
    "verification code is 6 digits",
    "the alarm code is in alarms2.py",
    "use bcrypt for the password hash",
    "use vault as the password store and email as the username",
    "we use argon2 for the password",
    "What is the password?",
    "password (min. 8 characters): required",
    "The password? It's stored in vault.",
    "I have no password to hand, sorry",
    "This is the password",
    "1Password is the password manager",
    "password:\n  minLength: 12\n  required: true",
    "reset your password\nv1.2.3 is out",
    "secrets:\n  - db-credentials-2\n",
    "Change password\n9fceb02 fix",
    "docker run --name mysql -p3306:3306 -p 8080:80 -d mysql",
    "mkdir -p src/app2/x && ssh -p 2222 host && patch -p1 < x.diff",
    "virtualenv -p python3.11 venv; cargo test -p my-crate2; npx -p typescript@5 tsc",
    "mysql -u root -p shop",
    "login failed at 12:34PM",
    "login: see docs/setup2",
    "account: github.com/User2Repo",
    "log in as admin / guest",
    "credentials are in ~/.aws/credentials",
    "cookie: theme=dark; lang=en",
    "session id: 550e8400-e29b-41d4-a716-446655440000",
    "das Passwort ist falsch.",
    "le mot de passe est obligatoire",
    "la contraseña es obligatoria",
    "пароль неверный, hasło jest wymagane, a senha está errada, 密码是必填的",
    "price_1MoBy5LkdIwHu7ixZhnattbh toolu_01A09q90qw90lq917835lq9AB",
    "test_getUserByIdReturns404WhenMissing",
    "image_9fceb02d0ae598e95dc970b74767f19372d61af8",
    "index-3f2a9c8d7e6b5a4f3e2d1c0b9a8f7e6d.js",
    "docker login registry.example.com, gh auth login --with-token",
    "the password is required",
    "token is expired",
    "password is stored in vault",
    "secret is safe",
    "the secret is out",
    "my password is too short",
    "the password is wrong, reset the password",
    "the api key is missing",
    "the token is JWT-based and the key is rotated weekly",
    "password must have 12 characters",
    "passwords are hashed with argon2",
    "max tokens: 4096, token: 128000",
    "def login(user, password=password): ...",
    "password: str, token: Optional[str] = None",
    "password = os.environ['DB_PASSWORD']",
    'token = getenv("API_TOKEN")',
    "api_key: ${API_KEY}, password: {{ vault_password }}, secret: $SECRET",
    "API_KEY=<your api key>",
    'api_key="your-api-key-here"',
    "password=********",
    "token: xxxxxxxxxxxxxxxx",
    "secretName: my-db-credentials",
    "publicKey: 9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit",
    '{"nextPageToken": "CAUQAA1234567890"}',
    "csrf_token=abc123def456ghi789",
    "all tests pass: 12, fail: 3",
    "bypass: true, compass: north",
    "curl -u $USER:$PASSWORD https://x.example",
    "Authorization: Bearer $TOKEN",
    "postgres://user:${DB_PASSWORD}@db/x",
    "s3-credentials create my-bucket",
    "tool --plugin-secret datasette-auth0 domain",
    "the tokenizer is cl100k_base",
    "keyboard: qwerty12345",
    "primary_key: order_line_42",
    "the password form was at v1, so I changed the layout and set it to grid",
    "I changed it to 0pen-Sesame",
    "creds are in config/auth2/main",
    "login is at src/Main2App",
    "the secret is 'payments-db-credentials' in the cluster",
    "const access_token_url = 'https://github.com/login/oauth/access_token'",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
]


@pytest.mark.parametrize("text", NO_SECRET)
def test_talk_of_secrets_holds_none(text: str) -> None:
    assert redact(text).text == text


ECHOES = [
    ("my password is Zx9kQw12. I typed Zx9kQw12 and it failed", "my password is <SECRET_1>. I typed <SECRET_1> and it failed"),
    ("hunter2 fails. password: hunter2 and hunter2 is for the NAS", "<SECRET_1> fails. password: <SECRET_1> and <SECRET_1> is for the NAS"),
    ("see http://x/?q=Zx9kQw12abc, password: Zx9kQw12", "see http://x/?q=<SECRET_1>abc, password: <SECRET_1>"),
    ("wifi password: sunflower. No sunflowers, a sunflower.", "wifi password: <SECRET_1>. No sunflowers, a <SECRET_1>."),
    ("my pin is 9917, not 99170; 9917!", "my pin is <SECRET_1>, not 99170; <SECRET_1>!"),
    ("the alarm code is 773412, order 7734129", "the alarm code is <SECRET_1>, order 7734129"),
    ("redis://:redis@cache/0 and redis 7", "redis://:<SECRET_1>@cache/0 and redis 7"),
    ("PIN: 99170, PIN: 9917, 9917", "PIN: <SECRET_1>, PIN: <SECRET_2>, <SECRET_2>"),
    ("my number is 4155550132 (4155550132)", "my number is <PHONE_1> (<PHONE_1>)"),
    ("password: EMAIL, <EMAIL_1>, EMAIL", "password: EMAIL, <EMAIL_1>, EMAIL"),
    ("password is 'EMAIL', <EMAIL_1>, EMAIL", "password is '<SECRET_1>', <EMAIL_1>, <SECRET_1>"),
    ("AKIAZ5GMHYJKLMNOPQRS / " + made_up("w4", 38, BASE64), "<SECRET_1> / <SECRET_2>"),
    ("backup codes: 1234-5678, 8765-4321 and 1111-2223", "backup codes: <SECRET_1>, <SECRET_2> and <SECRET_3>"),
    ("Recovery codes:\n- kx9d2-lmq4z\n- aaa1b-22ccd", "Recovery codes:\n- <SECRET_1>\n- <SECRET_2>"),
]


@pytest.mark.parametrize(("text", "expected"), ECHOES)
def test_what_was_found_once_is_replaced_wherever_it_stands(text: str, expected: str) -> None:
    assert redact(text).text == expected


def test_what_one_text_gives_away_is_replaced_in_those_before_and_after_it() -> None:
    redactor = Redactor()
    texts = ["I typed Zx9kQw12", "my password is Zx9kQw12", "Zx9kQw12 it was"]
    assert [one.text for one in redactor.redact_all(texts)] == ["I typed <SECRET_1>", "my password is <SECRET_1>", "<SECRET_1> it was"]
    assert redactor.redact("again Zx9kQw12").text == "again <SECRET_1>"
    assert redactor.redact("again Zx9kQw12").counts == {"secret": 1}


def test_many_different_values_are_looked_for_in_time() -> None:
    told = [made_up(f"{number}aB", 20) for number in range(2_000)]
    text = " ".join(f"password={value}" for value in told) + " " + " ".join(told)
    started = time.process_time()
    assert redact(text).counts == {"secret": 4_000}
    assert time.process_time() - started < 10


def test_both_ends_of_a_changed_password_are_secrets() -> None:
    assert redact("I changed my password from hunter2 to hunter3").text == "I changed my password from <SECRET_1> to <SECRET_2>"


def test_a_long_value_is_redacted_to_its_end() -> None:
    value = made_up("", 900)
    assert redact(f"token={value} next").text == "token=<SECRET_1> next"


def test_what_got_into_the_store_in_clear_is_caught_when_it_is_recalled() -> None:
    """mem0#6817: recall returned secrets. An old text passes the newest rules; what was redacted before stays as it is."""
    old = f"The user's <EMAIL_1> account uses {TOKENS[0]} on staging"
    assert redact(old).text == "The user's <EMAIL_1> account uses <SECRET_1> on staging"


def test_a_truncated_key_block_is_redacted_as_far_as_it_goes() -> None:
    cut = PEM[: PEM.index("-----END")][:-30]
    assert redact(f"here:\n{cut}\nand then we talked on").text == "here:\n<SECRET_1>\nand then we talked on"


def test_a_key_block_escaped_in_json_is_redacted_whole() -> None:
    text = '{"private_key": "' + PEM.replace("\n", "\\n") + '\\n", "x": 1}'
    assert redact(text).text.startswith('{"private_key": "<SECRET_1>')
    assert redact(text).counts == {"secret": 1}


def test_the_same_value_has_the_same_placeholder_in_all_texts_of_a_turn() -> None:
    redactor = Redactor()
    assert redactor.redact("a@x.io, b@x.io").text == "<EMAIL_1>, <EMAIL_2>"
    assert redactor.redact("B@X.io, c@x.io, +1 415 555 0132").text == "<EMAIL_2>, <EMAIL_3>, <PHONE_1>"
    assert redactor.redact("(+1) 415-555-0132").text.count("<PHONE_1>") == 1


def test_placeholders_already_there_keep_their_numbers() -> None:
    assert redact("<EMAIL_7> wrote to a@x.io, password is <SECRET_2>").text == "<EMAIL_7> wrote to <EMAIL_8>, password is <SECRET_2>"
    assert Redactor(reserved=["<IP_4>"]).redact("10.1.2.3").text == "<IP_5>"


def test_counts_name_the_kinds_of_the_closed_set() -> None:
    counts = redact("a@x.io b@x.io 10.1.2.3 password is hunter2").counts
    assert counts == {"email": 2, "ip": 1, "secret": 1}
    assert set(counts) <= {kind.value for kind in Kind}


def test_of_overlapping_findings_one_wins() -> None:
    assert redact("https://ana:hunter2@example.com/").text == "https://ana:<SECRET_1>@example.com/"
    assert redact("IBAN GB29 NWBK 6016 1331 9268 19").counts == {"iban": 1}
    assert redact("password is ana@example.com").counts == {"secret": 1}


PIECES = st.sampled_from(
    [text for text, _ in CONTACTS + NAMED]
    + [*LEFT_ALONE, *NO_SECRET, *TOKENS]
    + ["<EMAIL_3>", "<SECRET_1>", "\n", " ", ", ", ":", "=", '"', "é", "😀", "\u202f", "\ud800"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.text(max_size=12), max_size=6).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)
    again = redact(once.text)
    assert again.text == once.text
    assert not again.counts


HOSTILE = [
    "a", "1", "0", "-", "@", ".", "a@", "1.", "1:", "::", "1 ", "01 ", "0 1 2 ", "A ", "Ab ", "12 Ab ", "12 Ab St, ", "password ",
    "password is ", "password=", "token:", "key ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n", "eyJ",
    "eyJabcdefghijkl.", "DE12 ", "DE89 3704 ", "4111 ", "+1 ", "://a:", "://a:b@", "curl -u a:", "<EMAIL_1>", "(", '"', "'", "\\", " \t",
    "\n", "é", "ß", "sk-", "aws ", "secret a", "rue de ", "Am ", "x" * 63 + "@", "1,1.", "my passphrase is ab ", "Authorization: ",
    "eyJabcdefghijkl.\n", "eyJabcdefghijkl.Ab1cD2eF3g\n", "use a as ", "use x as the password", " is the password", "admin / a1",
    "login a:", "login ", "mysql -p", "-pa1 ", "-p a1b2c3d4 ", "auth --x ", "echo a | ", "pin is ", "PIN 1", "code 1",
    "backup codes: 1234-5678 ", "1234-5678 ", "seed ", "seed words: ", "ladder ", "seed: ladder ", "Cookie: a=",
    "cookie: a=abcdefgh1; ", "password\n", "the password we ", "hasło to ", "密码是", "bob at ", "bob at x dot ", "a (at) ", "a dot ",
    "acme_", "a_B1", "AKIAZ5GMHYJKLMNOPQRS ", "nginx 1.2.3.4 ", "password: a1b2c3 a1b2c3 ", "password was (", ", a ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_work_grows_in_step_with_the_length_of_hostile_text(unit: str) -> None:
    """Eight times the length takes about eight times as long, not 64 times."""

    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    assert seconds(32_000) < 24 * max(seconds(4_000), 0.01)


def test_two_hundred_kilobytes_of_everything_hostile_are_redacted_within_the_time_of_a_test() -> None:
    text = "".join(unit * 80 for unit in HOSTILE)
    text *= 200_000 // len(text) + 1
    once = redact(text).text
    assert redact(once).text == once


STAND_INS = [
    "AKIAIOSFODNN7EXAMPLE",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
    "glpat-12ab12ab12ab12ab12ab",
    made_up("ops_eyJ", 40) + "...",
    made_up("xoxp-1234567890-", 30) + "####",
]


@pytest.mark.parametrize("text", STAND_INS)
def test_what_only_shows_how_a_key_looks_is_left_alone(text: str) -> None:
    assert redact(f"put {text} there").text == f"put {text} there"


def test_a_vault_named_as_the_place_of_secrets_is_none() -> None:
    text = "keyVaultToStoreSecrets: prod2-eu-4711081500"
    assert redact(text).text == text
