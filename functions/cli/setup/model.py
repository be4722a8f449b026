"""The question for a model: a provider, its key, its model, and a test of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from functions.cli.setup.flags import SetupFlags
from functions.cli.setup.model_check import ModelFacts, check_model, today
from functions.cli.setup.providers import OFFLINE, OTHER, PROVIDERS, Provider, find_provider
from functions.cli.setup.questions import Questions, require_choice
from functions.cli.setup.settings_file import SettingsFile
from functions.known_models import find_model, find_near_end
from functions.model_list import list_models, read_end
from sigil.errors import BackendError, UsageError, one_line
from sigil.settings import read_variable

SMALL_WINDOW = 16_000
"""Tokens; the prompt, a few tools and one long answer of a tool fill a smaller window."""
SHOWN_MODELS: Final = 30
"""So many names of an endpoint's models are shown."""
PRICES: Final = "UNCAGED_LLM_PRICES"
_NAMES = ("UNCAGED_LLM_URL", "UNCAGED_LLM_KEY", "UNCAGED_LLM_MODEL", "UNCAGED_LLM_WINDOW")


def choose_model(questions: Questions, flags: SetupFlags, file: SettingsFile) -> list[str]:
    """Ask for a model, try it, and write it down; return the settings that changed."""
    known = file.values
    while True:
        provider = _choose_provider(questions, flags, known)
        if provider.name == OFFLINE:
            questions.printer.note("no language model: a planner answers a few phrases")
            changes = dict.fromkeys(_NAMES, "")
            return file.change(changes | _find_prices(file, changes))
        changes = _ask_settings(questions, flags, known, provider, file)
        changes |= _find_prices(file, changes)
        is_asked = not questions.yes or bool(flags.url)  # the address was shown, or given
        is_its = changes["UNCAGED_LLM_URL"] == file.values.get("UNCAGED_LLM_URL")
        is_new = changes["UNCAGED_LLM_KEY"] not in ("", file.values.get("UNCAGED_LLM_KEY"))
        if is_its and is_new and not is_asked:
            file.refuse_foreign_address("UNCAGED_LLM_URL", "the key")
        settings = file.preview(changes)
        if flags.untested:
            return file.change(changes)
        try:
            with questions.printer.progress(f"asking {settings.llm_model}"):
                facts = check_model(settings, provider)
        except BackendError as problem:
            if questions.yes:
                raise
            questions.printer.error(problem)
            if questions.confirm("Change the answers?", default=True):
                flags = SetupFlags()
                known |= changes
                continue
            if not questions.confirm("Keep them all the same, untested?", default=False):
                raise
            return file.change(changes)
        if _is_accepted(questions, settings.llm_model, facts):
            if facts.window and not flags.window:
                changes["UNCAGED_LLM_WINDOW"] = str(facts.window)
            return file.change(changes)
        flags = SetupFlags()
        known |= changes


def _is_accepted(questions: Questions, name: str, facts: ModelFacts) -> bool:
    """Print what the model can do; return whether it is kept, which a person decides when it calls
    no tools.
    """
    questions.printer.note(facts.describe(one_line(name, 60)))
    if facts.end:
        questions.printer.note(f"warning: {one_line(facts.end.describe(today()))}")
    if 0 < facts.window < SMALL_WINDOW:
        questions.printer.note(
            f"warning: a window of {facts.window:,} tokens is small for an agent: start the model's"
            " server with a larger one (Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: --ctx-size)"
        )
    if facts.tools.calls_tools:
        return True
    reason = {
        "second": "the request with a tool's result fails",
        "written": "the model writes its calls as text, where only one that stands alone counts",
        "refused": "this endpoint takes no tools",
    }.get(facts.tools.outcome, "the model did not call the tool that it was asked to call")
    questions.printer.note(
        f"warning: {reason}, and the agent does its work with tools: choose another model, or"
        " expect little more than talk"
    )
    return questions.confirm("Keep it all the same?", default=questions.yes)


def _find_prices(file: SettingsFile, changes: Mapping[str, str]) -> dict[str, str]:
    """Return the change of the prices that comes with a change of the model: those of the table of
    known models, and none in place of those that this table gave the model before.

    What somebody wrote down by hand stays.
    """
    set_now = file.values.get(PRICES, "")
    before = _list_prices(file.values)
    if set_now and set_now != before:
        return {}
    return {PRICES: _list_prices(changes)}


def _list_prices(values: Mapping[str, str]) -> str:
    """Return the prices of the table for the model of these settings, as a setting has them."""
    known = find_model(values.get("UNCAGED_LLM_URL", ""), values.get("UNCAGED_LLM_MODEL", ""))
    return known.prices.as_setting() if known and known.prices else ""


def _choose_provider(questions: Questions, flags: SetupFlags, known: Mapping[str, str]) -> Provider:
    if flags.provider:
        require_choice("--provider", flags.provider, tuple(PROVIDERS))
        return PROVIDERS[flags.provider]
    if flags.url:
        return find_provider(flags.url)
    url = known.get("UNCAGED_LLM_URL", "")
    with_key = (one for one in PROVIDERS.values() if any(map(read_variable, one.variables)))
    found = find_provider(url) if url else next(with_key, None)
    default = found.name if found else (OFFLINE if questions.yes else next(iter(PROVIDERS)))
    titles = {provider.name: provider.title for provider in PROVIDERS.values()}
    return PROVIDERS[questions.choose("Model of which provider", titles, default, "--provider")]


def _ask_settings(
    questions: Questions,
    flags: SetupFlags,
    known: Mapping[str, str],
    provider: Provider,
    file: SettingsFile,
) -> dict[str, str]:
    """Return the settings of a provider's model."""
    url = flags.url or provider.url
    if not url:
        url = questions.ask(
            "Address, such as http://127.0.0.1:8000/v1", known.get("UNCAGED_LLM_URL", ""), "--url"
        )
    is_same = known.get("UNCAGED_LLM_URL", "").rstrip("/") == url.rstrip("/")
    key = _ask_key(questions, flags, provider, known.get("UNCAGED_LLM_KEY", "") if is_same else "")
    model = flags.model
    if not model:
        default = known.get("UNCAGED_LLM_MODEL", "") if is_same else ""
        default = default or provider.model
        if not questions.yes:
            # the person saw the address to which the key goes
            default = _show_models(questions, file, url, key, default)
        model = questions.ask("Model", default, "--model")
    return {
        "UNCAGED_LLM_URL": url,
        "UNCAGED_LLM_KEY": key,
        "UNCAGED_LLM_MODEL": model,
        "UNCAGED_LLM_WINDOW": str(flags.window) if flags.window else "",
    }


def _show_models(questions: Questions, file: SettingsFile, url: str, key: str, default: str) -> str:
    """Print the endpoint's models, where it lists them; return the one that is offered first."""
    settings = file.preview({"UNCAGED_LLM_URL": url, "UNCAGED_LLM_KEY": key})
    with questions.printer.progress(f"asking {one_line(url, 60)} for its models"):
        models = list_models(settings)
    names = sorted(name for name in models if name)
    if not names:
        return default
    ends = [find_near_end(url, name, today(), read_end(models, name)) for name in names]
    lasting = [name for name, end in zip(names, ends, strict=True) if not end]
    _print_names(questions, lasting)
    for end in ends:
        if end:
            questions.printer.note(f"  not for long: {one_line(end.describe(today()))}")
    return lasting[0] if len(lasting) == 1 and default not in names else default


def _print_names(questions: Questions, names: Sequence[str]) -> None:
    shown = ", ".join(one_line(name, 60) for name in names[:SHOWN_MODELS])
    more = len(names) - SHOWN_MODELS
    note = f"  its models: {shown or 'none that lasts'}"
    questions.printer.note(f"{note} and {more} more" if more > 0 else note)


def _ask_key(questions: Questions, flags: SetupFlags, provider: Provider, known: str) -> str:
    """Return the key: of a variable of the environment, as it was, or as it is typed."""
    if flags.key_from:
        key = read_variable(flags.key_from).strip()
        if not key:
            raise UsageError(
                "EUSAGE",
                f"the environment has no {one_line(flags.key_from, 60)}",
                suggestion="--key-from takes the name of a variable that has the key",
            )
        return key
    for name in provider.variables:
        key = read_variable(name).strip()
        if key and questions.confirm(f"Use the key in {name}?", default=True):
            return key
    if known and questions.confirm("Keep the key that is set?", default=True):
        return known
    if not provider.variables and provider.name != OTHER:
        return ""
    return questions.ask_secret(
        f"Key ({provider.help})" if provider.help else "Key (Enter for none)",
        f"--key-from {next(iter(provider.variables), 'NAME')}",
        optional=provider.name == OTHER,
    )
