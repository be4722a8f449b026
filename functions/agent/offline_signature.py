"""The name of the offline model, and the line by which its replies say that it is one.

Every process knows these two; few load the model itself.
"""

from __future__ import annotations

from typing import Final

from functions.texts.en import Texts

NAME: Final = "offline"
TERMINAL: Final = "terminal"
"""The platform of the conversations of `uncaged chat`."""


def sign_text(text: str, model: str, platform: str, texts: Texts) -> str:
    """Return a reply, signed when the offline model did a language model's work.

    The terminal shows by itself which model answers.
    """
    if not text or model != NAME or platform == TERMINAL:
        return text
    return f"{text}\n\n{texts.offline_signature}"
