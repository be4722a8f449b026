"""Plain requests as people write them, each with what a useful answer contains.

Half of them served to make the offline model; the others were written at the same time and were
only ever used to measure it. A request of several messages is asked in one chat; the last answer
counts.
"""

from __future__ import annotations

REFUSED = (
    r"^(?:I do not understand this|I cannot do this|这个我不懂|这个我做不到|Das kann ich nicht"
    r"|Das verstehe ich nicht)"
)
"""What the answer to a request that no capability can do begins with."""

TUNING: tuple[tuple[tuple[str, ...], str], ...] = (
    (("convert 26.2 miles to km",), r"42\.16"),
    (("How much is 15% of 80?",), r"\b12\b"),
    (("is 9780306406157 a valid isbn",), r"(?i)\byes\b|valid: yes"),
    (("what's 200 celsius in fahrenheit",), r"\b392\b"),
    (("How many days between 2024-03-01 and 2024-12-25?",), r"\b299\b"),
    (
        ("sha256 of hello world",),
        "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    ),
    (("what day of the week was 4 July 1976?",), "Sunday"),
    (("write 1999 in roman numerals",), "MCMXCIX"),
    (("sort pear, apple, fig",), r"apple\W+fig\W+pear"),
    (("what is the average of 3, 7 and 11",), r"(?i)(?:mean|average)\W+7\b"),
    (("turn HELLO WORLD into lowercase",), "^hello world"),
    (("Make a QR code for https://example.org",), r"(?s)SVG.*<svg"),
    (("give me a random password",), r"^\S{12,}\n"),
    (("roll two dice",), r"^\d+"),
    (("is 97 prime?",), r"(?i)97 is a prime"),
    (("area of a circle with radius 5",), r"78\.53"),
    (("what is 144 in binary",), "10010000"),
    (("how many characters are in supercalifragilistic",), r"(?i)characters\W+20\b"),
    (("把 25 摄氏度换算成华氏度",), r"\b77\b"),
    (("25 * 16 等于多少",), r"\b400\b"),
    (("monthly payment for a 250000 loan at 4% over 25 years",), r"1,?319\.59"),
    (("what is 2024-06-01 09:00 Tokyo time in London",), "2024-06-01T01:00"),
    (("translate hello to German",), REFUSED),
    (("write me a poem about the sea",), REFUSED),
    (("hi",), r"(?i)^(?:hi|hello)\b"),
    (("thanks!",), r"(?i)welcome"),
    (("what can you do?",), r"(?is)convert.*remember"),
    (("你好",), "^你好"),
    (("remember that I am allergic to peanuts", "what must I not eat?"), "allergic to peanuts"),
    (("my locker code is 4471, please remember it", "what is my locker code?"), "4471"),
)
KEPT: tuple[tuple[tuple[str, ...], str], ...] = (
    (("how many kilometres are 5 miles",), r"8\.04"),
    (("What is 7 times 8?",), r"\b56\b"),
    (("square root of 1764",), r"\b42\b"),
    (("70 kg in pounds",), r"154\.3"),
    (("is 4111 1111 1111 1111 a valid card number?",), r"(?i)\byes\b|valid: yes"),
    (("base64 encode open sesame",), "b3BlbiBzZXNhbWU="),
    (("md5 of password123",), "482c811da5d5b4bc6d497ffa98491e38"),
    (("what weekday is 2025-12-24",), "Wednesday"),
    (("what date is 90 days after 2024-01-15",), "2024-04-14"),
    (("2024 in roman numerals",), "MMXXIV"),
    (("median of 5, 1, 9, 3",), r"(?i)median\W+4\b"),
    (("convert #ff8800 to rgb",), r"255[ ,]+136[ ,]+0"),
    (("reverse the order of: a, b, c",), r"c\W+b\W+a"),
    (("flip a coin",), r"(?i)^(?:heads|tails)"),
    (("pick a number between 1 and 10",), r"^(?:[1-9]|10)\n"),
    (("generate a uuid",), r"^[0-9a-f]{8}-[0-9a-f]{4}-"),
    (("prime factors of 84",), r"2(?:²|\^2)\D+3\D+7"),
    (("volume of a sphere with radius 3",), r"113\.09"),
    (("convert 0xff to decimal",), r"^255\b"),
    (("count the words in the quick brown fox",), r"(?i)words\W+4\b"),
    (("把 5 公斤换算成磅",), r"11\.02"),
    (("hello world 的 md5 是什么",), "5eb63bbbe01eeed093cb22bb8f5acdc3"),
    (("when is easter in 2026",), "2026-04-05"),
    (("what's the capital of France?",), REFUSED),
    (("book me a flight to Paris",), REFUSED),
    (("good morning",), r"(?i)^good morning"),
    (("thank you so much",), r"(?i)welcome"),
    (("who are you?",), r"(?i)\bI am\b"),
    (("please remember my wife's birthday is May 3", "when is my wife's birthday?"), "May 3"),
    (("remember: the wifi password is tulip42", "what's the wifi password?"), "tulip42"),
)
