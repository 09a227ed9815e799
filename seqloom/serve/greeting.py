"""What the server says when it starts: its address, and settings to paste into the clients that people have."""

from seqloom.serve.languages import name_of
from seqloom.serve.service import Service


def greeting(service: Service, address: str) -> str:
    source, target = next(iter(service.models))
    key = service.key is not None
    python_key = ', api_key="YOUR KEY"' if key else ""
    curl_key = ' -d api_key="YOUR KEY"' if key else ""
    any_key = "YOUR KEY" if key else "any"
    rows = {
        "curl": f"curl {address}/translate -d q=Hello -d source={source} -d target={target}{curl_key}",
        "libretranslatepy": f'LibreTranslateAPI("{address}"{python_key}).translate("Hello", "{source}", "{target}")',
        "deep-translator": f'LibreTranslator("{source}", "{target}", api_key="{any_key}", custom_url="{address}/")',
        "Mastodon": f"LIBRE_TRANSLATE_ENDPOINT={address} LIBRE_TRANSLATE_API_KEY={any_key.replace(' ', '_')}",
        "Weblate": f'LibreTranslate, configuration {{"url": "{address}", "key": "{any_key if key else ""}"}}',
        "deepl": f'DeepLClient("{any_key}", server_url="{address}")',
        "openai": f'OpenAI(base_url="{address}/v1", api_key="{any_key}"), model="{source}-{target}"',
    }
    models = [f"  {name_of(m.source)} -> {name_of(m.target)} ({m.name})" for m in service.models.values()]
    settings = [f"  {name:<17} {line}" for name, line in rows.items()]
    return "\n".join(
        [
            f"Seqloom serves {len(models)} model{'s' * (len(models) > 1)} at {address} (the page is there too)",
            *models,
            "Settings for clients:",
            *settings,
            "Ctrl-C stops; requests that were let in are answered first.",
        ]
    )
