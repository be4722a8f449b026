"""The providers of models that `uncaged setup` knows by name.

The example models of hosted providers are in the table of `functions.known_models`, without an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models behind an OpenAI-compatible endpoint.

    `variables` are those of the environment in which people already have its key; none: it takes
    no key. `model` is an example, `help` the page that tells of keys and models.
    """

    name: str
    title: str
    url: str = ""
    variables: tuple[str, ...] = ()
    model: str = ""
    help: str = ""
    start: str = ""
    """What to do when nothing answers there: it runs on this machine."""


OFFLINE: Final = "offline"
OTHER: Final = "other"

_ALL: Final = (
    Provider(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        "gpt-5.6-terra",
        "https://platform.openai.com/docs/models",
    ),
    Provider(
        "anthropic",
        "Anthropic (Claude)",
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        "claude-sonnet-5-5",
        "https://docs.anthropic.com/en/api/openai-sdk",
    ),
    Provider(
        "google",
        "Google (Gemini)",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-3.8-flash",
        "https://ai.google.dev/gemini-api/docs/openai",
    ),
    Provider(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        "deepseek-v4-flash",
        "https://api-docs.deepseek.com",
    ),
    Provider(
        "moonshot",
        "Moonshot (Kimi); in China: --url https://api.moonshot.cn/v1",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        "kimi-k2.6",
        "https://platform.moonshot.ai/docs",
    ),
    Provider(
        "dashscope",
        "Alibaba (Qwen); outside China: --url https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        "qwen-plus",
        "https://help.aliyun.com/zh/model-studio",
    ),
    Provider(
        "openrouter",
        "OpenRouter (models of many providers)",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        "deepseek/deepseek-chat",
        "https://openrouter.ai/docs/models",
    ),
    Provider(
        "ollama",
        "Ollama on this machine",
        "http://127.0.0.1:11434/v1",
        (),
        "qwen3:8b",
        "https://docs.ollama.com",
        "start it with `ollama serve`",
    ),
    Provider(
        "llamacpp",
        "llama.cpp on this machine",
        "http://127.0.0.1:8080/v1",
        (),
        "default",
        "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
        "start it with `llama-server --jinja -m MODEL.gguf`",
    ),
    Provider(OTHER, "any other address that speaks OpenAI's chat completions"),
    Provider(OFFLINE, "no language model: a few phrases only, to try it out"),
)
PROVIDERS: Final = {provider.name: provider for provider in _ALL}


def find_provider(url: str) -> Provider:
    """Return the provider with this address, that of any other address otherwise."""
    for provider in _ALL:
        if provider.url and provider.url == url.rstrip("/"):
            return provider
    return PROVIDERS[OTHER]
