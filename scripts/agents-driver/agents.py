"""The agents: how descent is told of each, and how each is led to the model on loopback. One home a trial, none a person's."""
import json
import os
import subprocess

CODEX_PROVIDER = ['model_provider="s"', 'model="scripted"']


def provider(url):
    return '{name="s",base_url="%s/v1",env_key="OPENAI_API_KEY",wire_api="responses"}' % url


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def claude(home, url):
    return {"ANTHROPIC_API_KEY": "sk-ant-scripted", "ANTHROPIC_BASE_URL": url, "CLAUDE_CONFIG_DIR": home + "/claude"}, []


def codex(home, url):
    os.makedirs(home + "/codex", exist_ok=True)
    args = [word for line in CODEX_PROVIDER + ["model_providers.s=" + provider(url)] for word in ("-c", line)]
    return {"OPENAI_API_KEY": "sk-scripted", "CODEX_HOME": home + "/codex"}, args


def codex_acp(home, url):
    write(home + "/codex/config.toml", "\n".join(CODEX_PROVIDER + ["model_providers.s = " + provider(url)]) + "\n")
    return {"OPENAI_API_KEY": "sk-scripted", "CODEX_HOME": home + "/codex"}, []


def gemini(home, url):
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    write(home + "/.gemini/settings.json", json.dumps(chosen))
    return {"GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": url}, ["-m", "gemini-2.5-flash"]


def opencode(home, url):
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 100000, "output": 4096}}
    options = {"baseURL": url + "/v1", "apiKey": "scripted"}
    s = {"npm": "@ai-sdk/openai-compatible", "name": "s", "options": options, "models": {"scripted": model}}
    config = {"autoupdate": False, "share": "disabled", "model": "s/scripted", "small_model": "s/scripted", "provider": {"s": s}}
    write(home + "/opencode.json", json.dumps(config))
    return {"OPENCODE_CONFIG": home + "/opencode.json", "OPENCODE_DISABLE_MODELS_FETCH": "1"}, []


# By the names of descent's presets.
AGENTS = {
    "claude": claude,
    "codex": codex,
    "claude-acp": claude,
    "codex-acp": codex_acp,
    "gemini": gemini,
    "opencode": opencode,
}


def environment(home, more):
    """Nothing of the person's own environment but the PATH."""
    path = os.environ["AGENTS_BIN"] + ":" + os.environ["PATH"]
    own = {"HOME": home, "PATH": path, "LANG": "C.UTF-8", "NO_PROXY": "*", "XDG_CONFIG_HOME": home + "/.config"}
    return {**own, "XDG_DATA_HOME": home + "/.data", "XDG_CACHE_HOME": home + "/.cache", **more}


class Model:
    """A scripted model server, gone when it is closed."""

    def __init__(self, *flags):
        command = [os.environ["AGENTS_MODEL"], "--until-eof", *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
