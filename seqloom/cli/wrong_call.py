"""What is wrong with a call, in a sentence: an option is missing, has no value, or is not known."""

from cyclopts import CycloptsError, MissingArgumentError, UnknownOptionError

from seqloom.errors import did_you_mean


def tell_wrong_call(error: CycloptsError) -> str:
    match error:
        case MissingArgumentError():
            return tell_missing(error)
        case UnknownOptionError():
            return tell_unknown(error)
    return str(error)


def tell_missing(error: MissingArgumentError) -> str:
    """Say that an option is missing; cyclopts would say that it `requires an argument`."""
    assert error.argument is not None
    if given := error.keyword:
        return f"{given}: no value. Write a value that begins with a dash with an equals sign: {given}=-x."
    name = error.argument.name
    typed = [word.partition("=")[0] for word in error.unused_tokens or () if word.startswith("-")]
    near = [word for word in typed if did_you_mean(word, [name])]
    return f"{' '.join(error.command_chain or ())}: {name} is missing." + "".join(
        f" Did you mean {name} instead of {word}?" for word in near[:1]
    )


def tell_unknown(error: UnknownOptionError) -> str:
    """Name the option alone, without the value after its equals sign; cyclopts would find no name that is near it."""
    name = (error.token.keyword or error.token.value).partition("=")[0]
    known = [known for argument in error.argument_collection if argument.parse for known in argument.names]
    return f"Unknown option: {name}.{did_you_mean(name, known)}"
