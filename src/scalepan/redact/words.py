"""Words that are too common to be a secret, and a test whether letters look like a word."""

# Words after "password", "token" or "key" in sentences, forms, types and settings that are not the secret.
_COMMON = """
about above accepted access account action active actual added address admin after again against alias allowed alone
already also alternative always among another answer anything append application apply argument array assert async
attempt attribute auth authentication author authorization available await base base64 based basic because been before
behind being below better between binary blank block body boolean both bound branch break broken browser buffer button
bytes cache call callback called cannot case cases change changed character characters check choice choose class clear
client close code column command comment common complete config configuration configured confirm connect connection
constant contact contain contains content context continue control copy correct count create created credential
credentials current currently custom data database date default define defined delete deleted demo deny deprecated
describe description detail details develop development device dict different digest directory disable disabled
display document documentation does domain done down dummy during each easy edit either element else email empty
enable enabled encoded encoding encrypted encryption ending endpoint enough ensure enter entry environment equal error
even event every everything example except exception exist existing exists expected expired expires expiry export
external extra failed failure false fetch field fields file filename files filter final find first fixed flag flags
float follow following foreign forgot form format found from full function generate generated generic getter given
global good granted group guest handle handler hash hashed have header headers hello help here hidden high history
home host hostname however identifier identity ignore ignored import important include included incorrect index info
information inherit initial input insert inside install instance instead integer internal into invalid issue issued
item itself just keep keychain keyword keywords kind known label language large last later latest least left length
less letter letters level library like limit limited line list literal load local localhost location lock locked
logged login long longer look loop lower lowercase made mail main make manager mandatory manual many mapping match
matches maximum maybe meaning member memory message method might minimum mismatch missing mode model modify module
more most move much must name named native need needed needs nested network never newline next nobody node none normal
note nothing notice null number numbers object obtain offset often once only open operator option optional options
order other otherwise output outside over override owner package page param parameter parameters parent parse parser
part partial pass passed passes passing password passwords path pattern pending permission person phone place plain
plaintext please plugin policy port position possible postgres prefix present previous primary print private problem
process product production profile program project prompt property protected protocol provide provided provider proxy
public query quote random range rather read readable ready real really reason receive received record redirect
reference refresh regex region register regular related release remember remote remove removed rename repeat replace
report repository represent request require required requires reserved reset resource response rest result return
returned returns revoked right role root rotate rotated rule running safe salt same sample save saved scope screen
script search second secret secrets section secure security select self send sensitive sent separate separator
sequence serial server service session set setting settings setup several shared shell short should show shown sign
signature similar simple simply since single size some something source space special specific specified specify
stable staging standard start state statement static status still storage store stored stream strict string strings
strong structure style subject submit success such suffix super support supported supposed sure switch symbol system
table take target task template temporary test testing tests text than that their them then there these they thing
this those though through time timeout title today token tokens tomorrow tool total transfer tree true try tuple type
types undefined under unicode unique unit unknown unless unset until update updated upper uppercase url usage used
user username users using usually valid validate validation value values variable variables vault version very via
view visible wait want wants warning weak well were what when where whether which while whitespace whole will window
with within without word words work works worth would write writing written wrong year yes yesterday your yourself
"""
COMMON = frozenset(_COMMON.split())

# For each letter its frequent successors: 260 pairs. They are 93 % of the pairs in English words and identifiers, and a
# third of the pairs in random letters.
_PAIRS = """
abcdefgiklmnprstuvy baeilorsu cacehiklorstuy dadeiorsu eabcdefgilmnopqrstuvx faefilortu gaeghilnorsu haeiortuy
iabcdefglmnoprstvz jae kaei ladeilostuy mabeimopsuy nacdefginostuv oabcdfgiklmnoprstuvwx paehiloprstuy qu
racdegiklmnoprstuvy sacehiklmopstuy tacehilorstuy uabcdegilmnprst vaeio waei xipt yaelopst zae
"""
_USUAL = frozenset(row[0] + letter for row in _PAIRS.split() for letter in row[1:])
_WORDLIKE = 0.7
_LOOKED_AT = 64


def wordlike(letters: str) -> bool:
    """Whether letters follow each other as in words: 99 % of words do, and 5 % of strings of 12 random letters.

    >>> wordlike("authentication"), wordlike("nextPageToken"), wordlike("abcdefghijklmnop"), wordlike("xqzkvbnmwrtp")
    (True, True, False, False)
    """
    lower = letters[:_LOOKED_AT].lower()
    pairs = [lower[at : at + 2] for at in range(len(lower) - 1)]
    return sum([pair in _USUAL for pair in pairs]) >= _WORDLIKE * len(pairs)
