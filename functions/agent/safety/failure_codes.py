"""The codes of failures, each with its phrase, its kind and whether it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.errors import SigilError

Kind = Literal["execution", "transient", "fatal"]
"""`execution`: the caller can fix it. `transient`: it may succeed a moment later. `fatal`: nothing
that the model does helps.

A limit of a sandbox is never fatal: it held, and the model can ask for less. A capability's own
error is never fatal either.
"""


@dataclass(frozen=True, slots=True)
class Code:
    """One code: its name for people, and whether a failure with it counts against the model."""

    phrase: str
    meaning: str
    kind: Kind = "execution"
    counts: bool = True


CODES: Final = {
    "EPERM": Code("Permission Denied", "it may not do that"),
    "EAPPROVAL": Code("Waits For Approval", "an owner has to approve it first", counts=False),
    "EASK": Code("Asks Back", "the person has to say first what is meant", counts=False),
    "EAUTH": Code("Not Authenticated", "a token is missing or wrong"),
    "EACCES": Code("Access Denied", "the other side does not let it in"),
    "ENOENT": Code("Not Found", "what was asked for does not exist"),
    "EEXIST": Code("Already Exists", "the name is somebody else's"),
    "EINVAL": Code("Invalid Argument", "the input does not fit"),
    "EJSON": Code("Invalid JSON", "the arguments are no JSON object"),
    "ENOTOOL": Code("No Such Tool", "no tool of that name was offered"),
    "ENOTRESIDENT": Code(
        "Not Resident", "a page fault: it exists, and has to be found again first", counts=False
    ),
    "ENAME": Code("Invalid Name", "not a name of a capability"),
    "EMANIFEST": Code("Invalid Manifest", "what a capability says of itself is wrong"),
    "ESCHEMA": Code("Invalid Schema", "a schema that no endpoint takes"),
    "EMODULE": Code("Invalid Module", "the code cannot be compiled or may not run"),
    "ETESTS": Code("Tests Failed", "a deploy's golden tests did not pass"),
    "EREQUIRES": Code("Requirement Missing", "a capability that it calls does not exist"),
    "ECYCLE": Code("Circle", "capabilities that would call themselves"),
    "ETOOBIG": Code("Too Large", "it is larger than it may be"),
    "EQUOTA": Code("Quota Exceeded", "no place or room is left for it"),
    "ELIMIT": Code("Limit Exceeded", "more calls, output or depth than a run may have"),
    "ETIMEDOUT": Code("Timed Out", "it took longer than it may"),
    "ESTACK": Code("Stack Overflow", "recursion without an end"),
    "ETRAP": Code("Trapped", "the module stopped itself"),
    "ETHROWN": Code("Uncaught Error", "an error that the code did not name"),
    "EOUTPUT": Code("Invalid Output", "what came out is not valid"),
    "ENOSYS": Code("Not Implemented", "the sandbox has no such thing"),
    "EPENDING": Code("Never Settled", "a promise that nothing settles"),
    "EGUEST": Code("Capability Failed", "the capability says that it failed"),
    "EREMOTE": Code("Remote Failure", "a remote tool says that it failed"),
    "ENOMEM": Code("Out Of Memory", "it took more memory than it may"),
    "ENET": Code("Network Failure", "a server was not reached", kind="transient"),
    "ERATE": Code("Rate Limited", "too often; a pause helps", kind="transient"),
    "EBUSY": Code("Busy", "somebody else has it at the moment", kind="transient"),
    "ECONFLICT": Code("Conflict", "somebody else wrote first", kind="transient"),
    "EDEGRADED": Code("Resting", "it rests after failures in a row", kind="transient"),
    "EUNAVAILABLE": Code(
        "Unavailable", "a store, a registry or a sandbox is away", kind="transient"
    ),
    "EDAMAGED": Code("Damaged", "what was kept cannot be read"),
    "EINTERNAL": Code("Internal Error", "the runtime itself failed"),
    "EINTERRUPTED": Code(
        "Interrupted",
        "a crash or a stop cut it off; whether it took effect is unknown",
        counts=False,
    ),
    "EHOSTMEM": Code("Host Out Of Memory", "the machine itself has no memory left", kind="fatal"),
    "EBREACH": Code(
        "Sandbox Breach", "a sandbox process did what no capability can make it do", kind="fatal"
    ),
    "ESTOPPED": Code("Stopped", "it was told to stop before it began", counts=False),
}
OTHER: Final = Code("Failed", "a code of the capability's own")


def code_of(name: str) -> Code:
    """Return what is known of a code; `OTHER` for one that a capability made up."""
    return CODES.get(name, OTHER)


def describe_failure(code: str, reason: str, texts: Texts) -> str:
    """Return what has failed, in the language of `texts`: the sentence for the `reason` where a
    failure has one, else what its code means.
    """
    told = texts.failure_reasons.get(reason)
    return told or texts.code_meanings.get(code if code in CODES else "") or code_of(code).meaning


def describe_refusal(problem: SigilError, texts: Texts) -> str:
    """Return what a problem says itself, and what can be done about it, without a full stop."""
    told = f"{problem.message}; {problem.suggestion}" if problem.suggestion else problem.message
    if texts.command_sign == ENGLISH.command_sign:
        return told
    from functions.texts.command_signs import write_commands

    return write_commands(told, texts.command_sign)


def explain_refusal(problem: SigilError, texts: Texts) -> str:
    """Return why a person's command was refused. What a problem says itself is in English, so in
    another language the sentence for its reason stands for it, where there is one.
    """
    own = "" if texts.code == ENGLISH.code else texts.failure_reasons.get(problem.reason, "")
    return own or problem.message
