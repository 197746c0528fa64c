"""Word lists of the Penn Treebank tokeniser: abbreviations that keep their full stop, and words that start sentences.

An abbreviation of the first list keeps its full stop before a small letter, one of the second anywhere.
Entries are alternatives of a regular expression that ignores case, except in square brackets.
"""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sept", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tues", "Tue", "Wed", "Thurs", "Thu", "Fri")
_STATES = (
    "Ala", "Ariz", "Calif", "Colo", "Conn", "Ct", "Dak", "Fla", "Ga", "Ind", "Kans?", "Ky", "Md", "Mich", "Minn",
    "Mont", "Mo", "Neb", "Nev", "Okla", "Penn", "Tenn", "Va", "Vt", "Wisc?", "Wyo",
)  # fmt: skip
# states that are common words too count with a capital only
_CAPITAL_STATES = ("Az", "Ark", "Del", "Ill", "La", "Mass", "Miss", "Ore", "Pa", "Tex", "Wash")
_COMPANIES = (
    "Inc",
    "Cos?",
    "Corp",
    "Pp?t[yeYE]s?",
    "Ltd",
    "Plc",
    "Rt",
    "Bancorp",
    "Bhd",
    "Assn",
    "Univ",
    "Intl",
    "Sys",
)
_OTHERS = ("tel", "est", "ext", "sq", "Jr", "Sr", "Bros", "Blvd", "Rd", "Esq", "etc", "al", "seq", "Bldg")

ABBREVIATIONS_BEFORE_LOWER = (
    *_MONTHS,
    *_DAYS,
    *_STATES,
    *(f"(?-i:{state[0]}){state[1:]}" for state in _CAPITAL_STATES),
    *_COMPANIES,
    *_OTHERS,
)

ABBREVIATIONS_BEFORE_CAPITAL = (
    "Mrs", "Mr", "Ms", "Drs?", "Profs?", "Sens?", "Reps?", "Attys?", "Lt", "Col", "Gen", "Messrs", "Govs?", "Adm",
    "Rev", "Maj", "Sgt", "Cpl", "Pvt", "Capt", "Ste?", "Ave", "Pres", "Lieut", "Hon", "Brig", "Co?mdr", "Pfc", "Spc",
    "Supts?", "Det", "Mt", "Ft", "Adj", "Adv", "Asst", "Assoc", "Ens", "Insp", "Mlle", "Mme", "Msgr", "Sfc", "vs",
    "Alex", "Wm", "Jos", "Cie", "cf", "TREAS", "Ph", "Invt", "Elec", "Natl", "M[ftFT]g", "Dept",
)  # fmt: skip

# after an acronym, these words with a capital say that its full stop also ends a sentence
SENTENCE_STARTERS = (
    "About", "According", "Additionally", "After", "An", "As", "At", "A", "But", "Earlier", "Here", "Her", "He",
    "However", "If", "In", "It", "Last", "Many", "More", r"Mr\.", r"Ms\.", "Now", "Once", "One", "Other", "Our", "She",
    "Since", "Some", "So", "Such", "That", "Their", "Then", "There", "These", "They", "The", "This", "We", "When",
    "While", "What", "Yet", "You",
)  # fmt: skip
