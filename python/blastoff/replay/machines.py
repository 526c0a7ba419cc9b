"""Machine models by name, and the model of the CPU on which a trace was taken."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blastoff import files, library
from blastoff.errors import CommandError

SIMULATED = "simulated:"
"""Prefix of the name of the simulated device with a clock. Its rates follow, in the form of --simulated-rates."""

DATA_SHEET = "data sheet"
"""Where the figures of a model come from that was not measured."""


def part(model: str, name: str) -> dict[str, Any]:
    """A part of the text of a model; {} if it has none, or if the text is no model: the library says what is wrong with it."""
    try:
        found = files.parsed(model)[name]
    except (ValueError, LookupError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Machine:
    """A machine for which a prediction is made."""

    label: str
    model: str = ""
    """The text of the model, or ""."""
    rates: str = ""
    """The rates of the simulated device, or ""."""

    @property
    def basis(self) -> str:
        """Where the model's figures come from: "measured" on such a machine, "data sheet", or "simulated"."""
        if self.rates:
            return "simulated"
        return "measured" if part(self.model, "source").get("kind") == "measured" else DATA_SHEET

    def request(self) -> dict[str, str]:
        """The machine's part of the request to the library (src/prediction/prediction.h)."""
        return {"simulated": self.rates} if self.rates else {"machine": self.model}


def shipped() -> Path:
    """The folder of the models that came with the library."""
    beside = library.find_library().parent
    for place in ("../share/blastoff/machines", "../../share/blastoff/machines", "../machines", "../share/machines"):
        if (beside / place).is_dir():
            return (beside / place).resolve()
    return library.PACKAGE.parent.parent / "share" / "machines"


def _models_in(folder: Path) -> list[Path]:
    """The models in a folder, if there is one that can be read: the home directory may be somebody else's."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return []


def known() -> dict[str, Path]:
    """The files of all models that have a name, by name: those that came with the library, the site's and the user's (src/runtime/models.h)."""
    cache = files.user_cache()
    folders = [shipped(), Path("/etc/blastoff/machines"), *([cache / "machines"] if cache is not None else [])]
    return {path.stem: path for folder in folders for path in _models_in(folder)}


def read(path: Path) -> str:
    try:
        return files.read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"predict: {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def model_in(path: Path) -> str:
    """The text of a model in a file that somebody names. The library says later what else is wrong with it."""
    text = read(path)
    try:
        is_model = files.parsed(text)["blastoff_machine"] == 1
    except (ValueError, LookupError, TypeError):
        is_model = False
    if not is_model:
        raise CommandError(f"predict: {path} is not a machine model; blastoff calibrate writes one")
    return text


def find(name: str) -> Machine:
    """A machine by its name, by a prefix of only one name, or by the path of its model."""
    if name == SIMULATED:
        raise CommandError("predict: machine simulated: has no rates; accepted: simulated:NAME=NUMBER[,...], as for run --simulated-rates")
    if name.startswith(SIMULATED):
        return Machine("simulated", rates=name.removeprefix(SIMULATED))
    if "/" in name or name.endswith(".json"):
        return Machine(Path(name).stem, model_in(Path(name)))
    models = known()
    matching = [name] if name in models else [each for each in models if each.startswith(name)] if name else []
    if len(matching) != 1:
        wrong, empty = "is the beginning of several names" if matching else "is not known", "''"
        raise CommandError(f"predict: machine {name or empty} {wrong}; known: {', '.join(models)}, {SIMULATED}RATES, or the path of a model")
    return Machine(matching[0], read(models[matching[0]]))


def is_usable(model: str) -> bool:
    """Whether Blastoff has a device for the machine's GPU: it has one for NVIDIA's."""
    return any(str(name).startswith("NVIDIA") for name in part(model, "gpu").get("names", []))


def chosen(names: str | None) -> list[Machine]:
    """The machines in a list of names; without a list, all shipped ones that Blastoff can use."""
    if names is not None:
        return [find(name) for name in split(names)]
    return [machine for path in sorted(shipped().glob("*.json")) if is_usable((machine := find(path.stem)).model)]


def split(names: str) -> list[str]:
    """Splits a list at its commas, except for the commas between rates."""
    words: list[str] = []
    for word in names.split(","):
        if words and words[-1].startswith(SIMULATED) and "=" in word:
            words[-1] += f",{word}"
        else:
            words.append(word)
    return words


def describes(model: dict[str, Any], cpu: str) -> bool:
    host = model.get("host", {})
    return bool(cpu) and host.get("cpu") == cpu and bool(host.get("rates"))


def source(cpu: str) -> str:
    """The text of a model that was measured on such a CPU; "" if there is none. The user's models come first."""
    for path in reversed(known().values()):
        text = read(path)
        try:
            if describes(files.parsed(text), cpu):
                return text
        except (ValueError, AttributeError):
            continue
    return ""
