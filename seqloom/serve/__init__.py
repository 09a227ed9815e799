"""HTTP server: the protocols of existing clients, and a page to translate in.

app              the ASGI application with all endpoints
server           start, listen, stop
service          the served models by language pair, each with a queue and a thread
translation      texts, languages and options become translations, for every protocol
libre            the LibreTranslate protocol
deepl            the DeepL protocol
deepl_glossaries  DeepL's glossaries: made, listed, read, deleted
glossary         terms of a glossary found in a text
deepl_documents  DeepL's documents: uploaded, asked for, downloaded once
libre_files      LibreTranslate's files
file_translation  the file of a client: read, translated, put together
files            files that are being translated, and results that wait to be fetched
openai           the OpenAI chat protocol
openai_completions  OpenAI's older completions: a prompt, a text
openai_responses  OpenAI's responses, whole or as a stream of events
own              our own endpoints under /v1
named            models that do not translate, by name
hugging_face     labels, tags and gaps, as Hugging Face's inference API gives them
writing          what models write for prompts, for all addresses of OpenAI's API
continuing       a language model that continues several prompts in turn
beside           models that are only explained, beside a served one
look_inside      /v1/explain: the explain document of a text, with what-ifs
connection       one connection: limits of size, pace and number
limits           the limits of everything, and the client they are counted by
uploads          bodies that are being received
quiet_log        a log that clients cannot fill
allowed_hosts    host names the server answers to, and sites whose pages may ask
endpoint         one address: key, deadline, disconnected clients
messages         the types of requests and answers
body             request bodies: JSON, form, multipart, query
segments         text or HTML split into what is translated and what stays, and joined again
markup           HTML as tags, comments and texts
inline           HTML as sentences with inline markup
documents        .html, .srt, .po and .json files with other texts
placing          inline markup put into a translation by the word alignment
marks            the types of these (segments and the marks in them), and plain text as lines
detect           language detection
languages        language codes and names
batcher          batches texts of many requests
fair_queue       the queue of a model: fair shares, and who is refused when it is full
worker           a thread for long work that the end does not wait for
refusal          error answers
metrics          Prometheus metrics
openapi          the OpenAPI document
finding          the search that a client asks for, and how the model's thread runs it
"""
