"""The commonest short words of languages that share a script, and letters that only few of them use.

Written from general knowledge of the languages; `detect` weighs them.
"""

import re

TABLE = """
en: the of and to a in is that it for was on are as with his they at be this have from or had by not but what all were
    we when your can there an she do how if will up other about out them then so some her would has my
de: der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass
    sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch
    man sein wurde sei ich wir ihr kein steht zwei mann frau
fr: de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec ou son lui nous
    comme mais on si leur y dont tout être aux elle ses cette je vous été c'est d'un d'une l'on deux homme femme sa
    très fait
es: de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin sobre
    este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está mi porque
it: di e il la che in a per un è del non sono le con si da una i della al lo dei come nel alla più ma anche su gli o
    ha dal delle se questo era ci essere loro due mi tra stato dalla degli suo cui molto perché
pt: de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou
    ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo são
nl: de van een het en in is dat op te zijn met voor niet aan er om ook als dan maar bij of uit nog naar heeft ze hij
    door wordt over deze was worden ik je wij haar hun geen werd kan meer tegen twee onder
sv: och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när år under
    också efter eller nu sin där vid mot ska skulle kommer ut får finns vara hade alla
da: og i at det er en til af på for den med de som der ikke et har han var jeg men sig fra vi så kan når år under også
    efter eller nu sin hvor ved mod skal ville kommer ud får være havde alle om hun blev
no: og i det er på en at til av for som med de den har ikke et han var jeg men seg fra vi så kan når år under også
    etter eller nå sin hvor ved mot skal ville kommer ut får være hadde alle om hun ble
is: og að í á er sem það við um til en var ekki hann af fyrir með þetta eru ég hafa verið frá þessi hún þá eða
fi: ja on ei että se hän oli ovat mutta kun niin myös kuin tai joka sen mitä minä ole olla vain nyt jos sitä hänen voi
    mukaan kanssa jo siitä sekä vielä ollut noin
et: ja on ei see et ta oli kui ka mis aga oma ning ma mida siis nii või selle kes veel seda olid pole välja juba üks
    saab nagu
hu: a az és hogy nem is egy van ez de meg csak ha volt már azt el vagy még ki mint én sem minden most fel lesz aki
    mert úgy kell nagyon után
tr: ve bir bu da de için ile çok ne o var olarak daha gibi kadar ama olan sonra ben her mi en ya değil ise şey diye
    zaman iki olduğu oldu
pl: w i na z do się nie to że jest o jak po od za co a przez dla by był ale są tym jego tak być tylko może które który
    ma już jej czy oraz bardzo dwa
cs: a v se na je že s z do o to i ve pro za by ale jako jsou po jeho jsem když který byl od si tak již nebo podle
    které také může jen až být
sk: a v sa na je že s z do o to i vo pre za by ale ako sú po jeho som keď ktorý bol od si tak už alebo podľa ktoré
    tiež môže len až byť
sl: in je v na da se za so ki z ne po pa kot ali tudi iz od s bi o do kar še bil lahko pri ter jih več zelo
hr: i u je na se da su za od s o a kao što koji iz do ne bi biti ili sve ali nije sam bio po koje samo kako te
bs: i u je na se da su za od s o a kao što koji iz do ne bi biti ili sve ali nije sam bio po koje samo kako te
ro: de și în a la cu pe să nu o un că din mai care este sunt pentru ca se au fost dar prin ce sau lui el după ei fi am
    foarte
ca: de la i que el a en les per un una els amb del no és es al va ha més com o però si dels són seva ser aquest també
    molt
gl: de a o que e do da en un para é con non unha os no se na por máis as dos como pero foi ao el das ten seu
lt: ir yra į kad iš su ne tai kaip bet apie už buvo jis o ar dėl tik jau savo per dar po nuo gali
lv: un ir ka no uz ar par kas ne tas bija bet kā vai arī to viņš tā pie lai es tikai pēc kad jau savu
sq: e të në dhe për një me që është i nga se nuk ka si por më u kjo janë ishte këtë duke
id: yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke karena ada mereka bisa oleh adalah kami
    telah sudah
ms: yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke kerana ada mereka boleh oleh adalah kami
    telah sudah
vi: và của là có không cho được trong một người với các những đã này khi tôi để ra ở cũng như
eo: la de kaj en estas al ne li mi por ke kiu kun sed oni tio ili ĝi el pri estis
la: et in est non ad ut cum ex sed quod quae qui a de si per esse nec
ru: и в не на я что он с как это по но из у за то все она так его от же для бы мы вы они был была уже или
uk: і в не на я що він з як це по але та у за то все вона так його від для би ми ви вони був була вже або є
be: і ў не на я што ён з як гэта па але у за то усё яна так яго ад для бы мы вы яны быў была ўжо або
bg: и в не на аз че той с как това по но от у за да се са е тя така го ще ние вие те беше вече или
mk: и во не на јас дека тој со како ова по но од за да се е таа така го ќе ние вие тие беше веќе или
sr: и у је на се да су за од с о а као што који из до не би бити или све али није сам био по
ar: في من على أن إلى هذا التي الذي عن مع كان لا ما هذه ذلك بين كل لم
fa: و در به از که این را با است برای آن یک خود تا بر هم نیز شد می
ur: کے میں کی ہے اور سے کا کو اس نے پر یہ کہ بھی ہیں ایک
hi: के में की है और से का को इस ने पर यह कि भी हैं एक
mr: आणि आहे या तो ते हे मध्ये व की असे होते नाही एक
ne: को र मा छ हो यो पनि लागि गर्न भएको छन् एक
"""
WORDS = {
    code: frozenset(words.split()) for code, words in re.findall(r"^(\w\w): ((?:.|\n(?!\w))*)", TABLE, re.MULTILINE)
}
LETTERS = {
    "de": "äöüß", "fr": "éèêàçùâîôûœ", "es": "ñáéíóú¿¡", "it": "àèìòù", "pt": "ãõçáéíóúâê", "nl": "ĳë", "sv": "åäö",
    "da": "æøå", "no": "æøå", "is": "þðæö", "fi": "äö", "et": "õäöü", "hu": "őűáéíóöü", "tr": "ğışçöü",
    "pl": "ąćęłńóśźż", "cs": "ěščřžýáíéůú", "sk": "ľščťžýáíéúäô", "sl": "čšž", "hr": "čćđšž", "bs": "čćđšž",
    "ro": "ăâîșțşţ", "ca": "çàèéíòóú·", "gl": "ñáéíóú", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "sq": "ëç",
    "vi": "ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ", "eo": "ĉĝĥĵŝŭ", "ru": "ыэёъ", "uk": "іїєґ",
    "be": "ўі", "bg": "ъщ", "mk": "ѓѕќџљњ", "sr": "ђћљњџ", "fa": "پچژگ", "ur": "ٹڈڑںے",
}  # fmt: skip
