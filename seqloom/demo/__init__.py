"""The demo corpus: dates as people write them, in English and French, with the ISO date each means.

dates            generates the pairs
numbers          a further corpus: English and French words for numbers, and their digits
calendar_words   the words for days, months and years
typos            misspelled months that still have one reading
"""
