"""A model as lines of plain text: a GPU machine may have no Python packages besides the standard library."""

from typing import Any

from blastoff import quantities


def figures(model: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures other than rates of routines."""
    gpu, link, tracking = model["gpu"], model.get("link", {}), model.get("tracking", {})
    lines = [("opening the device", gpu.get("open_seconds")), ("closing it at the end", gpu.get("close_seconds"))]
    lines += [("smallest operation", gpu.get("launch_seconds"))]
    lines += [("small call, matrices there", gpu.get("call_seconds")), ("scan of a matrix", tracking.get("scan_seconds"))]
    result = [(label, quantities.duration(value)) for label, value in lines if value is not None]
    for label, key in (
        ("page-locked to device", "to_device"),
        ("page-locked from device", "from_device"),
        ("pageable to device", "pageable_to_device"),
        ("pageable from device", "pageable_from_device"),
        ("matrices to device", "staged_to_device"),
        ("results from device", "staged_from_device"),
        ("results into untouched memory", "first_touch_from_device"),
    ):
        if key in link:
            result.append((label, f"{quantities.size(link[key])}/s"))
    if "pinning" in model and model["pinning"]["seconds_per_byte"] > 0:
        result.append(("page-locking", f"{quantities.size(1 / model['pinning']['seconds_per_byte'])}/s"))
    host = model.get("host", {})
    for label, part, key in (
        ("device memory", gpu, "memory_rate"),
        ("main memory", host, "memory_rate"),
        ("device memory, by the CPU", host, "device_memory_rate"),
    ):
        if key in part:
            result.append((label, f"{quantities.size(part[key])}/s"))
    return result


def rates(model: dict[str, Any]) -> list[list[str]]:
    """A line for each routine: the device's rate at its largest size, then the CPU's by number of threads."""
    host = model.get("host", {}).get("rates", [])
    threads = sorted({row["threads"] for row in host})
    lines = [["routine", "device", *(f"CPU, {count} thread{'s' * (count > 1)}" for count in threads)]]
    device = {(row["family"], row["precision"]): row for row in model["gpu"].get("rates", [])}
    cpu = {(row["family"], row["precision"], row["threads"]): row for row in host}
    for family, precision in dict.fromkeys([*device, *((row["family"], row["precision"]) for row in host)]):
        cells = [device.get((family, precision)), *(cpu.get((family, precision, count)) for count in threads)]
        lines.append([precision + family, *(quantities.rate(row["points"][-1][1]) if row else "-" for row in cells)])
    return lines


def print_model(model: dict[str, Any]) -> None:
    """The figures, then the rates."""
    print(model["name"])
    for label, value in figures(model):
        print(f"  {label:28}{value:>14}")
    lines = rates(model)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    print()
    for line in lines:
        print("  " + "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths, strict=True))))
