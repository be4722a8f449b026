"""The daily look at an agent's models: one that ended or soon ends is told to those who look after
the agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from functions.agent.agents.lifecycle import scan_live
from functions.alerts import Notifier, model_end_alert, send_alert
from functions.known_models import ModelEnd, find_near_end
from functions.model_list import list_models, read_end
from functions.settings import Settings
from sigil.storage.kv import KV
from sigil.storage.setting_secrets import reveal


def tell_model_ends(settings: Settings, kv: KV, notifier: Notifier, now: float) -> int:
    """Send an alert for each model of the agent, and of those below it, that ended or ends soon;
    return their count. `now` is in seconds since 1970.
    """
    today = datetime.fromtimestamp(now, UTC).date()
    count = 0
    for end in find_ends(settings, kv, now):
        alert = model_end_alert(settings.agent, end.name, end.describe(today), now)
        count += send_alert(alert, notifier)
    return count


def find_ends(settings: Settings, kv: KV, now: float) -> Iterator[ModelEnd]:
    """Yield the ends of the models that the settings and the agents' records name.

    An endpoint is asked for its list once, where its key is known: a list without a key tells no
    ends.
    """
    today = datetime.fromtimestamp(now, UTC).date()
    chosen = {record.model for _, record in scan_live(kv, settings.agent) if record.model}
    named = [(settings, [settings.llm_model, *sorted(chosen - {settings.llm_model})])]
    if settings.has_fallback:
        named.append((settings.fallback, [settings.fallback.llm_model]))
    for each, names in named:
        if not each.endpoint:
            continue
        models = list_models(each) if reveal(each.llm_key) else {}
        for name in names:
            end = find_near_end(each.endpoint, name, today, read_end(models, name))
            if end:
                yield end
