"""The demo corpus: dates as people write them, in English and French, with the ISO date each means.

dates            generates the pairs
numbers          a second corpus: numbers in words and in digits
calendar_words   the words for days, months and years
typos            misspelled months that still have one reading
"""
