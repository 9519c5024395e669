"""How many announced secrets are found, by shape: names, headers, options, files, tables, sentences.

Values are random: letters only, hexadecimal, mixed, passwords with symbols. A frame has {} for the value; PAIR
frames have it twice. `DEV` is what the rules were built on; figures on unseen shapes are in
docs/benchmarks.md.

python -m bench.redact_shapes
"""

import random
import string
from collections import Counter, defaultdict

from bench.timing import row
from scalepan.redact import Redactor

SEED = 11
PASSWORDS = r"""
password=◆ ¦ password = "◆" ¦ password: '◆' ¦ DB_PASSWORD=◆ ¦ export PGPASSWORD='◆' ¦ {"password": "◆"}
{"user":"ann","passwd":"◆"} ¦ {\"password\": \"◆\"} ¦ "{\\\"password\\\": \\\"◆\\\"}" ¦ password%3D◆
%22password%22%3A%22◆%22 ¦ &quot;password&quot;: &quot;◆&quot; ¦ mysql -uroot -p◆ app ¦ mysql -u root -p'◆'
mysqldump --password=◆ db ¦ docker login -u ann -p ◆ registry.local ¦ docker login --password ◆ ¦ tool --password ◆
tool --password=◆ run ¦ tool --db-pass "◆" ¦ sshpass -p ◆ ssh a@b ¦ sshpass -p'◆' ssh a@b
curl -u ann:◆ https://x.io ¦ curl --user "ann:◆" https://x.io ¦ wget --user=ann --password=◆ x
redis-cli -h db -a ◆ ping ¦ net use \\srv\share ◆ /user:ann ¦ psql "host=db user=ann password=◆ dbname=app"
db.internal:5432:app:ann:◆ ¦ *:*:*:ann:◆ ¦ machine db login ann password ◆
machine db.local¶  login ann¶  password ◆ ¦ Server=db;Database=x;User Id=sa;Password=◆;Encrypt=yes ¦ Uid=sa;Pwd=◆;
jdbc:mysql://db:3306/app?user=ann&password=◆ ¦ jdbc:sqlserver://db;user=sa;password=◆; ¦ postgres://ann:◆@db/app
ftp://ann:◆@h/x ¦ <password>◆</password> ¦ <Password Type="PasswordText">◆</Password>
<wsse:Password>◆</wsse:Password> ¦ <db password="◆" user="x"/> ¦ <property name="password" value="◆"/>
<add key="DbPassword" value="◆" /> ¦ <property name="db.password">◆</property>
<key>password</key><string>◆</string> ¦ <password><![CDATA[◆]]></password>
<input type="password" name="p" value="◆"> ¦ <td>Password</td><td>◆</td> ¦ <b>Password:</b> ◆
<li>Password: <code>◆</code></li> ¦ **Password:** ◆ ¦ - Password: `◆` ¦ | Password | ◆ |
{"name": "DB_PASSWORD", "value": "◆"} ¦ {"value": "◆", "name": "DB_PASSWORD"} ¦ - name: DB_PASSWORD¶  value: ◆
- name: DB_PASSWORD¶  value: "◆" ¦ {"Key": "password", "Value": "◆"}
{"ParameterKey": "DbPassword", "ParameterValue": "◆"} ¦ {"key": "db_password", "type": "s", "value": "◆"}
user,password¶ann,◆¶ ¦ id,name,Password,mail¶1,ann,◆,x¶2,bob,abcd,y¶ ¦ user;passwort¶ann;◆ ¦ user	password¶ann	◆
| user | password |¶|---|---|¶| ann | ◆ | ¦ user | pass¶--- | ---¶ann | ◆ ¦ "user","password"¶"ann","◆"
connect(user="ann", password="◆") ¦ .password("◆") ¦ setPassword("◆"); ¦ props.put("password", "◆");
conf.set('db.password', '◆') ¦ config["password"] = "◆" ¦ $password = '◆'; ¦ const dbPassword = `◆`;
String password = "◆"; ¦ let pwd: &str = "◆"; ¦ PASSWORD := "◆" ¦ password => '◆', ¦ :password => "◆"
password: "◆", ¦ my $pass = "◆"; ¦ #define WIFI_PASSWORD "◆" ¦ define('DB_PASSWORD', '◆');
variable "db_password" { default = "◆" } ¦ password = "◆" # terraform ¦ ENV DB_PASSWORD ◆ ¦ ENV DB_PASSWORD=◆
ARG DB_PASSWORD=◆ ¦ setx DB_PASSWORD ◆ ¦ setx DB_PASSWORD "◆" ¦ set DB_PASSWORD=◆ ¦ $env:DB_PASSWORD = "◆"
setenv DB_PASSWORD ◆ ¦ set -x DB_PASSWORD ◆ ¦ ConvertTo-SecureString "◆" -AsPlainText -Force ¦ -Password "◆"
CREATE USER ann IDENTIFIED BY '◆'; ¦ CREATE USER ann WITH PASSWORD '◆'; ¦ ALTER ROLE ann PASSWORD '◆'
SET PASSWORD FOR ann = '◆'; ¦ SET PASSWORD = PASSWORD('◆'); ¦ requirepass ◆ ¦ echo '◆' | sudo -S ls
echo "ann:◆" | chpasswd ¦ password: |¶  ◆¶ ¦ password: >-¶  ◆¶ ¦ password:¶  ◆¶ ¦ [db]¶password = ◆¶
spring.datasource.password=◆ ¦ db.password: ◆ ¦ auth:¶  pass: ◆ ¦ my password is ◆ ¦ the password is "◆"
Password is: ◆ ¦ the password for the router is ◆. ¦ my pw: ◆ ¦ password → ◆ ¦ password -> ◆ ¦ pwd ◆¶
login with ann / password ◆ ¦ user: ann, pass: ◆ ¦ Username: ann Password: ◆ ¦ use the password ◆ to log in
changed the password to ◆ ¦ login/password: ann/◆ ¦ パスワード: ◆ ¦ パスワード：◆ ¦ パスワードは◆です
パスワードは「◆」です ¦ パスワード「◆」 ¦ 暗証番号は ◆ ¦ 密码：◆ ¦ 密码是◆ ¦ 密碼: ◆ ¦ 口令：◆ ¦ 비밀번호: ◆
Passwort: ◆ ¦ mot de passe : ◆ ¦ contraseña: ◆ ¦ senha: ◆ ¦ пароль: ◆ ¦ wachtwoord: ◆ ¦ hasło: ◆ ¦ lösenord: ◆
WIFI_PSK="◆" ¦ psk="◆" ¦ passcode: ◆ ¦ passphrase: "◆" ¦ pswd=◆ ¦ PASSWD: ◆ ¦ userPassword: ◆ ¦ root_pw = "◆"
smtp_pass: "◆" ¦ --from-literal=password=◆ ¦ vault kv put secret/db password=◆ ¦ -e MYSQL_ROOT_PASSWORD=◆
--set auth.password=◆ ¦ -Dpassword=◆ ¦ /p:Password=◆ ¦ -passin pass:◆ ¦ htpasswd -b file ann ◆
ldapsearch -D cn=a -w ◆ ¦ smbclient //h/s -U ann%◆ ¦ zip -P ◆ a.zip f ¦ 7z x -p◆ a.7z ¦ unzip -P ◆ a.zip
mongo -u ann -p ◆ ¦ mongodump --password '◆' ¦ 2024-01-01 12:00:00 INFO login user=ann password=◆ ip=x
time="x" level=info password="◆" ¦ [password: ◆] ¦ (password: ◆) ¦ {password:◆} ¦ password='◆'
os.environ["DB_PASSWORD"] = "◆" ¦ os.environ.setdefault("DB_PASSWORD", "◆")
System.setProperty("javax.net.ssl.keyStorePassword", "◆") ¦ storePassword '◆' ¦ keyPassword "◆" ¦ "password":"◆"
'password':'◆' ¦ {'password': '◆'} ¦ password:"◆" ¦ password = N'◆' ¦ password = b"◆" ¦ password = r'◆'
password = f"◆" ¦ Password = @"◆" ¦ password = u"◆"
"""
KEYS = r"""
api_key = "◆" ¦ API_KEY=◆ ¦ apiKey: "◆" ¦ SECRET_KEY='◆' ¦ token=◆ ¦ TOKEN="◆" ¦ access_token: ◆ ¦ {"token": "◆"}
{"apiKey":"◆","x":1} ¦ client_secret=◆ ¦ Authorization: Bearer ◆ ¦ Authorization: ◆ ¦ Authorization: Token ◆
Authorization: token ◆ ¦ Authorization: ApiKey ◆ ¦ "Authorization": "Bearer ◆" ¦ -H "Authorization: Bearer ◆"
-H 'X-Api-Key: ◆' ¦ X-Api-Key: ◆ ¦ x-auth-token: ◆ ¦ PRIVATE-TOKEN: ◆ ¦ Proxy-Authorization: Bearer ◆
headers={"X-Auth-Token": "◆"} ¦ Ocp-Apim-Subscription-Key: ◆ ¦ https://x.io/v1?key=◆ ¦ https://x.io/v1?key=◆&q=1
https://x.io/?a=b&token=◆ ¦ https://x.io/?access_token=◆#x ¦ https://x.io/?api_key=◆
https://x.io/cb#access_token=◆&x=1 ¦ ?sig=◆ ¦ &X-Amz-Signature=◆&x=1 ¦ X-Amz-Security-Token=◆ ¦ &Signature=◆
otpauth://totp/x:ann?secret=◆&issuer=x ¦ token%3D◆ ¦ access_token%3D◆%26x%3D1 ¦ Cookie: session=◆
Cookie: a=1; sessionid=◆; theme=dark ¦ Set-Cookie: sid=◆; Path=/; HttpOnly ¦ set-cookie: JSESSIONID=◆; Secure
PHPSESSID=◆ ¦ -b "session=◆" ¦ AZURE_OPENAI_KEY=◆ ¦ OPENAI_KEY: ◆ ¦ STRIPE_KEY="◆" ¦ key := "◆" ¦ Using Key=◆
key = '◆' ¦ "key": "◆" ¦ maps_key: ◆ ¦ mapsKey = "◆" ¦ datadog_app_key=◆ ¦ ENCRYPTION_KEY=◆ ¦ <secret>◆</secret>
<apiToken>◆</apiToken> ¦ <token>◆</token> ¦ <string name="api_key">◆</string> ¦ <add key="ApiKey" value="◆"/>
<meta name="csrf-token" content="◆"> ¦ {"auths":{"r.io":{"auth":"◆"}}} ¦ "auth": "◆" ¦ _auth=◆
//r.io/:_authToken=◆ ¦ //r.io/:_password=◆ ¦ npm config set //r.io/:_authToken ◆
{"name": "API_TOKEN", "value": "◆"} ¦ - name: API_KEY¶  value: ◆ ¦ {"Name":"SecretKey","Value":"◆"}
name,api_key¶x,◆ ¦ | service | token |¶|---|---|¶| x | ◆ | ¦ tool --token ◆ ¦ tool --api-key=◆ ¦ tool --api-key "◆"
gh auth login --with-token ◆ ¦ tool -token ◆ ¦ --secret ◆ ¦ --access-key ◆ ¦ setx API_TOKEN ◆ ¦ ENV API_TOKEN ◆
my api key is ◆ ¦ the token is ◆ ¦ here is the token: ◆ ¦ API key: ◆ ¦ api key ◆ ¦ your secret key: ◆
access token → ◆ ¦ トークン: ◆ ¦ APIキーは◆です ¦ APIキー：◆ ¦ シークレットキー: ◆ ¦ 密钥：◆ ¦ 令牌: ◆
client.set_token("◆") ¦ Token("◆") ¦ new Client({ apiKey: '◆' }) ¦ Client(api_key="◆") ¦ openai.api_key = "◆"
setApiKey("◆") ¦ .withToken("◆") ¦ map.put("token", "◆") ¦ auth_token => "◆" ¦ aws_secret_access_key = ◆
AWS_SECRET_ACCESS_KEY=◆ ¦ aws_session_token=◆ ¦ secretAccessKey: "◆" ¦ "SecretAccessKey" : "◆" ¦ AccountKey=◆;
SharedAccessKey=◆ ¦ private_key: ◆ ¦ "private_key_id": "x", "private_key": "◆" ¦ refresh_token=◆
"refreshToken":"◆" ¦ id_token=◆ ¦ bearer ◆ ¦ Bearer: ◆ ¦ bearer_token: ◆ ¦ webhook_secret: ◆ ¦ signing_secret="◆"
jwt_secret: ◆ ¦ app_secret = ◆ ¦ consumer_secret="◆" ¦ session_secret: '◆' ¦ cookie_secret="◆" ¦ env:¶  TOKEN: ◆
with:¶  token: ◆ ¦ token: "◆" ¦ TOKEN: '◆' ¦ [auth]¶token=◆ ¦ auth.token=◆ ¦ credentials: "◆" ¦ api-token: ◆
apitoken=◆ ¦ apikey ◆ ¦ "api-key" => "◆"
"""
PINS = """
the PIN is ◆ ¦ PIN: ◆ ¦ pin code: ◆ ¦ OTP: ◆ ¦ your verification code is ◆ ¦ one-time code: ◆ ¦ passcode is ◆
暗証番号は◆です ¦ 暗証番号：◆ ¦ 認証コード: ◆ ¦ CVV: ◆ ¦ 验证码：◆
"""
STAND_INS = r"""
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ¦ sk-xxxxxxxxxxxxxxxxxxxxxxxx ¦ sk-... ¦ token = "<your-token>"
API_KEY=${API_KEY} ¦ password: changeme ¦ password = os.environ["DB_PASSWORD"] ¦ const token = process.env.TOKEN;
password: str ¦ token: Optional[str] = None ¦ def login(self, password: str = "") -> None:
password = getpass.getpass("Password: ") ¦ api_key = config.get("api_key") ¦ password: "********"
token = request.headers.get("Authorization") ¦ Authorization: Bearer <token> ¦ Authorization: Bearer $TOKEN
Authorization: Bearer ${{ secrets.TOKEN }} ¦ curl -u user:password x ¦ -u $USER:$PASS
password: {{ vault_password }} ¦ password = var.db_password
password = data.vault_generic_secret.db.data["password"] ¦ "password": null ¦ "token": "" ¦ <password></password>
<password>${db.password}</password> ¦ Cookie: session=<session-id> ¦ mysql -u root -p app ¦ mysql -u root -p
docker login -u ann --password-stdin
{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
user,password¶ann,¶bob,*** ¦ | option | password |¶|---|---|¶| required | yes |
the password must have 8 characters ¦ password is required ¦ enter your password ¦ forgot password? ¦ token expired
the key is under the mat ¦ API key missing ¦ パスワードを忘れた方 ¦ パスワード: 必須 ¦ パスワードは8文字以上です
password (optional) ¦ password, token, secret ¦ keys: a, b ¦ max_tokens: 4096 ¦ token_type: bearer
"token_type": "Bearer" ¦ tokenizer: gpt2 ¦ AKIAXXXXXXXXXXXXXXXX ¦ AKIAIOSFODNN7EXAMPLE ¦ your-api-key-here
api_key="YOUR_API_KEY" ¦ api_key: "your_api_key" ¦ "apiKey": "REPLACE_ME" ¦ SECRET_KEY = env("SECRET_KEY")
password=$(cat /run/secrets/pw) ¦ password=`pass show db`
"""


def frames(table: str) -> list[str]:
    """The frames of a table; ¶ is a line break."""
    return [
        frame.strip(" ").replace("¶", "\n") for line in table.strip("\n").split("\n") for frame in line.split(" ¦ ")
    ]


def _of(dice: random.Random, letters: str, count: int) -> str:
    return "".join(dice.choices(letters, k=count))


def _mixed(dice: random.Random, count: int) -> str:
    return "aZ4" + _of(dice, string.ascii_letters + string.digits, count - 3)


def values(dice: random.Random, group: str) -> dict[str, str]:
    """One value of each sort."""
    if group == "pin":
        return {"digits": _of(dice, string.digits, 6)}
    if group == "password":
        return {
            "letters": _of(dice, string.ascii_lowercase, 10),
            "mixed": _mixed(dice, 9),
            "symbols": _mixed(dice, 4) + dice.choice("!#^*") + _mixed(dice, 6),
            "word": dice.choice(["swordfish", "dragonfly", "blueberry", "moonlight"]) + str(dice.randint(1, 99)),
        }
    return {
        "letters": _of(dice, string.ascii_lowercase, 16),
        "hex": "d4" + _of(dice, "0123456789abcdef", 30),
        "mixed": _mixed(dice, 24),
        "long": _mixed(dice, 40),
    }


def measure(title: str, table: str, group: str, redactor: Redactor) -> list[str]:
    """Recall by sort of value, and what was missed."""
    dice = random.Random(SEED)
    found, count = Counter[str](), Counter[str]()
    missed = defaultdict[str, list[str]](list)
    for frame in frames(table):
        for sort, value in values(dice, group).items():
            text = frame.replace("◆", value)
            stays = value in redactor.redact(text).text
            for name in (sort, "all"):
                count[name] += 1
                found[name] += not stays
            if stays:
                missed[frame].append(sort)
    for sort in count:
        row(f"  {title}, {sort}", str(count[sort]), f"{found[sort] / count[sort]:.3f}")
    return [f"{frame!r}: {', '.join(sorts)}" for frame, sorts in missed.items()]


def main() -> None:
    """The table, what was missed, and which stand-ins were taken for secrets."""
    redactor = Redactor()
    print(f"recall on announced secrets{'count':>37}{'scalepan':>20}")
    missed = [
        *measure("passwords", PASSWORDS, "password", redactor),
        *measure("keys and tokens", KEYS, "key", redactor),
        *measure("numbers", PINS, "pin", redactor),
    ]
    print("\nmissed", *missed, sep="\n  ")
    wrong = [frame for frame in frames(STAND_INS) if redactor.findings(frame)]
    print(f"\nstand-ins taken for secrets: {len(wrong)} of {len(frames(STAND_INS))}", *wrong, sep="\n  ")


if __name__ == "__main__":
    main()
