from functions.sent_parts import NOTES_MOST, WHOLE, SentParts


def test_what_left_is_known_until_the_store_knows_it():
    sent = SentParts()
    assert sent.count("chat", "hello") == 0
    sent.note("chat", "hello", 1)
    assert sent.count("chat", "hello") == 1
    sent.note("chat", "hello", WHOLE)
    assert sent.count("chat", "hello") == WHOLE
    sent.forget("chat")
    assert sent.count("chat", "hello") == 0


def test_another_reply_of_the_same_chat_has_not_left():
    sent = SentParts()
    sent.note("chat", "hello", WHOLE)
    assert sent.count("chat", "goodbye") == 0
    assert sent.count("another chat", "hello") == 0


def test_the_oldest_notes_go_first_when_there_are_too_many():
    sent = SentParts()
    for number in range(NOTES_MOST + 1):
        sent.note(str(number), "hello", 1)
    assert sent.count("0", "hello") == 0
    assert sent.count("1", "hello") == 1
    assert sent.count(str(NOTES_MOST), "hello") == 1
