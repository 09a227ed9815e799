"""seqloom models: list the bundled models."""

import json


def models(*, json_: bool = False) -> None:
    """List the bundled models: languages, size, scores, licence.

    They came with Seqloom and need no network. Use a name wherever a command takes a model folder; a folder of that
    name comes first. `seqloom info NAME` shows more, and the card in its folder has everything.

    Parameters
    ----------
    json_
        print a JSON list instead of text

    Examples
    --------
        seqloom models
        seqloom models --json
        seqloom translate fr-en "Ils regardent."
        seqloom info fr-en
    """
    from seqloom.workflows.models import bundled_models, render

    found = bundled_models()
    print(json.dumps([model.to_json() for model in found], ensure_ascii=False) if json_ else render(found))
