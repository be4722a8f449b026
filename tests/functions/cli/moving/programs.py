"""Agents of other programs, as these programs keep them on a disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

BOT_TOKEN: Final = "7301234567:AAHfiqksKZ8WmR2zMcWQ6dqv4bQeIYvTzzz"
MODEL_KEY: Final = "anthropic-key-of-ada-2f9c"
SEARCH_KEY: Final = "brave-search-key-77"
GITHUB_TOKEN: Final = "token-for-github-5512"
SECRETS: Final = (BOT_TOKEN, MODEL_KEY, SEARCH_KEY, GITHUB_TOKEN, "hunter2-hunter2")
WEATHER_SKILL: Final = """\
---
name: weather
description: Get current weather and forecasts (no API key required).
homepage: https://wttr.in/:help
metadata: {"nanobot":{"emoji":"🌤️","requires":{"bins":["curl"]}}}
---

# Weather

Ask wttr.in first.
"""
NANOBOT_CONFIG: Final[dict[str, Any]] = {
    "agents": {
        "defaults": {
            "workspace": "~/.nanobot/workspace",
            "model": "anthropic/claude-opus-4-5",
            "maxTokens": 8192,
            "temperature": 0.1,
            "maxToolIterations": 40,
            "memoryWindow": 100,
        }
    },
    "channels": {
        "telegram": {"enabled": True, "token": BOT_TOKEN, "allowFrom": ["42"], "proxy": None},
        "qq": {"enabled": False, "appId": "", "secret": "", "allowFrom": []},
    },
    "providers": {
        "anthropic": {"apiKey": MODEL_KEY, "apiBase": None, "extraHeaders": None},
        "openai": {"apiKey": "", "apiBase": None},
    },
    "gateway": {"host": "0.0.0.0", "port": 18790},
    "tools": {
        "web": {"search": {"apiKey": SEARCH_KEY, "maxResults": 5}},
        "exec": {"timeout": 60},
        "restrictToWorkspace": False,
        "mcpServers": {
            "github": {
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-github"],
                "env": {"GITHUB_TOKEN": GITHUB_TOKEN},
            },
            "Docs Server": {
                "url": "https://docs.example.com/mcp",
                "headers": {"Authorization": f"Bearer {GITHUB_TOKEN}"},
                "toolTimeout": 30,
            },
            "unseen": {"command": "run\x00", "args": []},
            "leaky": {"command": "leaky", "args": ["--api-key", "k"]},
            "old": {"type": "sse", "url": "https://old.example.com/sse"},
            "hosted": {"url": "https://hosted.example.com/mcp?key=abc"},
        },
    },
}


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, by their paths."""
    for path, body in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body.encode() if isinstance(body, str) else body)
    return folder


def write_nanobot(folder: Path) -> Path:
    """Write what `~/.nanobot` has after some months."""
    return write_files(
        folder,
        {
            "config.json": json.dumps(NANOBOT_CONFIG, indent=2),
            "workspace/AGENTS.md": "# Agent Instructions\n\nBe concise and accurate.\n",
            "workspace/SOUL.md": "# Soul\n\nI am Nano, a curious helper. 🐈\n",
            "workspace/USER.md": "# User Profile\n\n- **Name**: Ada\n",
            "workspace/TOOLS.md": f"# Tools\n\nSearch with {SEARCH_KEY}. 密码：hunter2-hunter2\n",
            "workspace/HEARTBEAT.md": "# Heartbeat Tasks\n\n- [ ] look at the post\n",
            "workspace/memory/MEMORY.md": "# Long-term Memory\n\n## Preferences\n\n- likes tea\n",
            "workspace/memory/HISTORY.md": (
                "[2026-02-03 09:10] Ada asked for a ferry to Naxos; the 7:30 one was booked.\n\n"
                "[2026-02-04 18:00] [RAW] 2 messages\n"
                "[2026-02-04T17:59] USER: where is my parcel\n"
                "[2026-02-04T18:00] ASSISTANT: at the depot in Graz\n\n"
            ),
            "workspace/skills/weather/SKILL.md": WEATHER_SKILL,
            "workspace/skills/weather/references/cities.md": "Graz, Naxos\n",
            "workspace/skills/My_Skill/SKILL.md": WEATHER_SKILL.replace("weather", "My_Skill"),
            "workspace/sessions/telegram_42.jsonl": '{"_type": "metadata"}\n',
            "workspace/cron/jobs.json": '{"version": 1, "jobs": []}',
            "workspace/report.csv": "a,b\n",
        },
    )


def write_openclaw(folder: Path) -> Path:
    """Write what `~/.openclaw` has, with settings that a person edited as JSON5."""
    config = f"""{{
  // my settings
  agents: {{ defaults: {{ workspace: "~/.openclaw/workspace",
                          model: {{ primary: 'anthropic/claude-opus-4-6' }} }} }},
  "gateway": {{ "auth": {{ "mode": "token", "token": "{MODEL_KEY}" }} }},
  channels: {{ telegram: {{ enabled: true, botToken: "{BOT_TOKEN}", dmPolicy: "pairing" }} }},
  skills: {{ entries: {{ sag: {{ enabled: true, env: {{ ELEVENLABS_API_KEY: "${{ELEVEN}}" }} }} }} }},
  /* servers */
  mcp: {{ servers: {{
    context7: {{ command: "uvx", args: ["context7-mcp"] }},
    docs: {{ url: "https://mcp.example.com/mcp", transport: "streamable-http", auth: "oauth",
             toolFilter: {{ include: ["search"] }} }},
    off: {{ command: "x", enabled: false }},
    filtered: {{ command: "x", toolFilter: {{ exclude: ["admin_*"] }} }},
    local: {{ command: "node", args: ["./server.js"], cwd: "/srv/tools" }},
  }} }},
}}
"""
    return write_files(
        folder,
        {
            "openclaw.json": config,
            "credentials/whatsapp/creds.json": f'{{"key": "{GITHUB_TOKEN}"}}',
            "agents/main/sessions/1.jsonl": "{}\n",
            "skills/shared-notes/SKILL.md": WEATHER_SKILL.replace("weather", "shared-notes"),
            "skills/weather/SKILL.md": WEATHER_SKILL.replace("wttr.in first", "another one"),
            "workspace/AGENTS.md": "# AGENTS.md - Your Workspace\n\nRead SOUL.md first.\n",
            "workspace/SOUL.md": "# SOUL.md - Who You Are\n\nBe genuinely helpful.\n",
            "workspace/IDENTITY.md": "# IDENTITY.md\n\n- **Name:** Clawd\n- **Emoji:** 🦞\n",
            "workspace/USER.md": "# USER.md\n\n- **Name:** Ada\n",
            "workspace/TOOLS.md": "# TOOLS.md\n\n- kitchen camera: 10.0.0.7\n",
            "workspace/HEARTBEAT.md": "# HEARTBEAT.md\n",
            "workspace/MEMORY.md": "- the boiler was serviced in May\n",
            "workspace/memory/2026-03-01.md": "## Morning\n\nThe plumber came at ten.\n",
            "workspace/memory/2026-03-02.md": "The invoice of the plumber is 140 euros.\n",
            "workspace/memory/projects.md": "A list.\n",
            "workspace/skills/weather/SKILL.md": WEATHER_SKILL,
            "workspace-coder/SOUL.md": "Another agent.\n",
        },
    )


def make_letta(**fields: Any) -> dict[str, Any]:
    """Return the document of an agent file, with other `fields` for its agent."""

    def block(number: int, label: str, value: str) -> dict[str, Any]:
        return {
            "id": f"block-{number}",
            "label": label,
            "value": value,
            "limit": 20_000,
            "is_template": False,
            "read_only": False,
            "description": "",
            "metadata": {},
        }

    def message(number: int, role: str, text: str, **more: Any) -> dict[str, Any]:
        return {
            "type": "message",
            "id": f"message-{number}",
            "role": role,
            "content": [{"type": "text", "text": text}],
            "tool_calls": None,
            "created_at": f"2026-01-05T10:0{number}:00.459100+00:00",
            **more,
        }

    said = {"name": "send_message", "arguments": '{"message": "Take the ferry."}'}
    agent = {
        "id": "agent-0",
        "name": "Sam",
        "agent_type": "letta_v1_agent",
        "system": "<base_instructions>\nYou are a helpful self-improving agent.",
        "block_ids": ["block-0", "block-1", "block-2"],
        "memory_blocks": [],
        "tool_ids": ["tool-0", "tool-1"],
        "tool_rules": [{"tool_name": "send_message", "type": "exit_loop"}],
        "llm_config": {"model": "gpt-4o-mini", "context_window": 32_000},
        "tool_exec_environment_variables": {"GITHUB_TOKEN": GITHUB_TOKEN},
        "secrets": None,
        "in_context_message_ids": ["message-0"],
        "messages": [
            message(0, "system", "<base_instructions>"),
            message(1, "user", '{"type": "user_message", "message": "how do I get to Naxos?"}'),
            message(2, "assistant", "thinking", tool_calls=[{"id": "1", "function": said}]),
            message(3, "tool", '{"status": "OK"}'),
            message(4, "user", '{"type": "heartbeat", "message": "beat", "reason": "x"}'),
        ],
        **fields,
    }
    return {
        "agents": [agent],
        "groups": [],
        "blocks": [
            block(0, "human", "First name: Ada\n"),
            block(1, "persona", "I am Sam.\n"),
            block(2, "projects", f"The move to Graz. The key is {GITHUB_TOKEN}."),
            block(3, "unused", "of another agent"),
        ],
        "files": [],
        "sources": [],
        "tools": [
            {"id": "tool-0", "name": "send_message", "tool_type": "letta_core"},
            {"id": "tool-1", "name": "cancel_order", "tool_type": "custom", "source_code": "x"},
        ],
        "mcp_servers": [
            {
                "id": "mcp_server-0",
                "server_type": "stdio",
                "server_name": "files",
                "server_url": None,
                "stdio_config": {"type": "stdio", "command": "npx", "args": ["-y", "files-mcp"]},
                "metadata_": {},
            },
            {
                "id": "mcp_server-1",
                "server_type": "streamable_http",
                "server_name": "linear",
                "server_url": "https://mcp.linear.app/mcp",
                "stdio_config": None,
            },
        ],
        "metadata": {"revision_id": "d5103ee17ed5"},
        "created_at": "2026-01-06T00:58:01.695247+00:00",
    }


def make_early_letta() -> dict[str, Any]:
    """Return the document of an agent file of the first form, which has one agent."""
    return {
        "agent_type": "memgpt_agent",
        "name": "Early",
        "version": "0.7.0",
        "system": "You are Loop. You remember.",
        "core_memory": [{"label": "persona", "value": "I am Early.", "limit": 5000}],
        "messages": [],
        "tool_exec_environment_variables": [{"key": "GITHUB_TOKEN", "value": GITHUB_TOKEN}],
        "tool_rules": [],
        "tools": [],
    }
