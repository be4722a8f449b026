"""The twenty requests to an empty registry, each a second time with other values, and their true
answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from scripts.bootstrapping.judges import (
    All,
    Data,
    Digits,
    Judge,
    Morse,
    Number,
    Numbers,
    Text,
    Verdict,
    Word,
)

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Ask:
    """A question and its true answer, which the question itself does not contain."""

    text: str
    answer: Judge


@dataclass(frozen=True, slots=True)
class Request:
    """A request for something that no capability does yet, and one in a new chat when it does."""

    name: str
    first: Ask
    again: Ask


REQUESTS = (
    Request(
        "roman",
        Ask("What are the Roman numerals of 1994?", Text("MCMXCIV")),
        Ask("Write 2748 in Roman numerals.", Text("MMDCCXLVIII")),
    ),
    Request(
        "luhn",
        Ask(
            "Luhn-check this number: 4539 1488 0343 6467. Begin your answer with yes (it passes)"
            " or no.",
            Verdict(True),
        ),
        Ask(
            "Does 4485275742308328 pass the Luhn check? Begin your answer with yes or no.",
            Verdict(False),
        ),
    ),
    Request(
        "leap-years",
        Ask(
            "How many leap years are there from 1867 to 2113, both included (Gregorian calendar)?",
            Number(60),
        ),
        Ask("Count the Gregorian leap years from 1583 to 1977, both included.", Number(96)),
    ),
    Request(
        "caesar",
        Ask(
            "Shift the letters of 'Attack at dawn' by 7 places with a Caesar cipher.",
            Text("Haahjr ha khdu"),
        ),
        Ask("Caesar cipher, shift 19: 'Meet me by the river'", Text("Fxxm fx ur max kboxk")),
    ),
    Request(
        "isbn",
        Ask(
            "Which check digit completes the ISBN-13 978-0-306-40615? Write the whole number.",
            Digits("9780306406157", "7"),
        ),
        Ask(
            "Complete this ISBN-13 with its check digit and write the whole number:"
            " 978-1-4028-9462",
            Digits("9781402894626", "6"),
        ),
    ),
    Request(
        "morse",
        Ask(
            "Write 'SOS Titanic' in Morse code, with ' / ' between the words.",
            Morse("... --- ... / - .. - .- -. .. -.-."),
        ),
        Ask(
            "Morse code for 'Hello moon', please; ' / ' between the words.",
            Morse(".... . .-.. .-.. --- / -- --- --- -."),
        ),
    ),
    Request(
        "haversine",
        Ask(
            "How many kilometres is it along the great circle from 52.52, 13.405 to 48.8566, 2.3522"
            " (latitude, longitude)? Use the haversine formula and an Earth radius of 6371 km.",
            Number(877.463, 0.6),
        ),
        Ask(
            "Great-circle distance in km, by haversine with a radius of 6371 km: from latitude"
            " -33.8688, longitude 151.2093 to 35.6762, 139.6503.",
            Number(7825.819, 0.6),
        ),
    ),
    Request(
        "weekday",
        Ask(
            "Which weekday was 1776-07-04? Work it out by arithmetic, without a clock.",
            Word("Thursday", DAYS),
        ),
        Ask("By arithmetic alone, which day of the week is 2093-11-22?", Word("Sunday", DAYS)),
    ),
    Request(
        "levenshtein",
        Ask(
            "What is the Levenshtein distance between 'supercalifragilistic' and"
            " 'pneumonoultramicroscopic'?",
            Number(17),
        ),
        Ask(
            "Levenshtein edit distance: 'the quick brown fox jumps' and 'a lazy dog sleeps all"
            " night'",
            Number(24),
        ),
    ),
    Request(
        "run-length",
        Ask(
            "Run-length encode 'WWWWWWWWWWWWBWWWWWWWWWWWWBBB', each count before its letter.",
            Text("12W1B12W3B", exact=True),
        ),
        Ask(
            "Run-length encoding of 'AAAABBBCCDAAAAAAAAAAAAE', count before letter?",
            Text("4A3B2C1D12A1E", exact=True),
        ),
    ),
    Request(
        "prime-factor",
        Ask("What is the largest prime factor of 600851475143?", Number(6857)),
        Ask("Find the largest prime factor of 987654321987.", Number(999809)),
    ),
    Request(
        "base",
        Ask("Convert 3735928559 from base 10 to base 36.", Text("1ps9wxb")),
        Ask("What is 8675309123 (base 10) in base 23?", Text("2cdjjd34")),
    ),
    Request(
        "statistics",
        Ask(
            "Give me the median and the sample standard deviation of 23, 7.5, 81, 42, 3, 66.",
            All((Number(32.5, 0.001), Number(31.699, 0.01))),
        ),
        Ask(
            "Median and sample standard deviation of 112, 98, 140.5, 87, 133, 101?",
            All((Number(106.5, 0.001), Number(20.953, 0.01))),
        ),
    ),
    Request(
        "title-case",
        Ask(
            "Put 'the lord of the rings and the return of the king' into title case: small are a,"
            " an, the, and, of, in, on, at, to, by, for, or, but, unless first or last.",
            Text("The Lord of the Rings and the Return of the King", exact=True),
        ),
        Ask(
            "Title case, with a, an, the, and, of, in, on, at, to, by, for, or, but small unless"
            " first or last: 'a tale of two cities by the sea'",
            Text("A Tale of Two Cities by the Sea", exact=True),
        ),
    ),
    Request(
        "csv",
        Ask(
            "Turn this CSV into a JSON array of objects, numbers as"
            " numbers:\nname,age,city\nAda,36,London\nAlan,41,Wilmslow",
            Data(
                [
                    {"name": "Ada", "age": 36, "city": "London"},
                    {"name": "Alan", "age": 41, "city": "Wilmslow"},
                ]
            ),
        ),
        Ask(
            "This CSV as a JSON array of objects, please, numbers as"
            " numbers:\nitem,price\npear,1.5\nfig,12",
            Data([{"item": "pear", "price": 1.5}, {"item": "fig", "price": 12}]),
        ),
    ),
    Request(
        "iban",
        Ask(
            "Check the IBAN GB82WEST12345698765423 with mod 97. Begin your answer with yes (it is"
            " valid) or no.",
            Verdict(False),
        ),
        Ask(
            "Does the IBAN DE89370400440532013000 pass mod 97? Begin your answer with yes or no.",
            Verdict(True),
        ),
    ),
    Request(
        "pig-latin",
        Ask(
            "Say 'three brave apples eat glue' in pig latin: leading consonants go to the end with"
            " ay, a word with a vowel first gets way.",
            Text("eethray avebray applesway eatway ueglay"),
        ),
        Ask(
            "Pig latin (leading consonants to the end plus ay; vowel first: plus way) of 'strong"
            " coffee is under water'",
            Text("ongstray offeecay isway underway aterway"),
        ),
    ),
    Request(
        "binary-search",
        Ask(
            "Which values does a binary search for 71 look at, in order, in [12, 17, 23, 31, 38,"
            " 45, 52, 59, 64, 71, 78, 83, 90, 97, 104]? The middle is floor((low + high) / 2).",
            Numbers((59, 83, 71)),
        ),
        Ask(
            "Binary search for 34 in [21, 26, 34, 43, 55, 61, 68, 72, 79, 85, 93], middle"
            " floor((low + high) / 2): which values does it look at, in order?",
            Numbers((61, 34)),
        ),
    ),
    Request(
        "magic-square",
        Ask(
            "Is [[2, 7, 6], [9, 5, 1], [4, 3, 8]] a magic square? Begin your answer with yes"
            " or no.",
            Verdict(True),
        ),
        Ask(
            "Magic square or not: [[2, 7, 6], [9, 1, 5], [4, 3, 8]]? Begin your answer with yes"
            " or no.",
            Verdict(False),
        ),
    ),
    Request(
        "brackets",
        Ask(
            "Are the brackets of 'f(a[i], {x: (1, 2)})' balanced? Begin your answer with yes"
            " or no.",
            Verdict(True),
        ),
        Ask(
            "Check whether the brackets match in 'g(a[i), {x: 1}]'. Begin your answer with yes"
            " or no.",
            Verdict(False),
        ),
    ),
)
"""Nothing in an empty registry answers any of them."""
