"""What doctor reports about pages: their size and how they are zeroed, and when the driver moves them by itself."""

from pathlib import Path

from blastoff import page_settings
from blastoff.doctor.finding import Finding, State

SMALL_PAGE, LARGER_PAGE = 4096, 65536
MIGRATION = {
    "on": "on: the driver moves pages of ordinary memory that the GPU uses often",
    "off": "off: pages stay where the CPU put them until somebody moves them",
    "default": "the driver's default: pages of ordinary memory that the GPU uses often move where it uses the CPU's page tables, and nowhere else",
}


def base_pages(page_size: int, root: Path = Path("/")) -> Finding:
    """Whether there are pages of 64 KiB, and what new pages cost."""
    if page_size == LARGER_PAGE:
        text = "this kernel has pages of 64 KiB"
    else:
        given = page_settings.small_huge_pages(root)
        larger = f"transparent ones of 64 KiB: {given}" if given else "no transparent ones of 64 KiB"
        text = f"this kernel has pages of {page_size // 1024} KiB, {larger}; a kernel with pages of 64 KiB is another build"
    early = page_settings.zeroes_pages_early(root)
    if early is None:
        return Finding("pages", State.NOTE, f"{text}; whether init_on_alloc is on cannot be read")
    zeroed = "init_on_alloc is on: memory of drivers is zeroed, too, when it is allocated" if early else "init_on_alloc is off"
    advice = "Where allocation takes long, boot with init_on_alloc=0 on the kernel's command line." if early else ""
    return Finding("pages", State.NOTE, f"{text}; {zeroed}", advice)


def access_counters(root: Path = Path("/")) -> Finding:
    """Migration by the GPU's access counters: its threshold, and how to switch it off."""
    counters = page_settings.access_counters(root)
    if counters is None:
        return Finding("access counters", State.NOTE, "none: the module nvidia_uvm is not loaded, or tells nothing of them")
    threshold = "" if counters.threshold is None else f"; threshold: {counters.threshold} accesses"
    advice = "" if counters.migration == "off" else f"To switch it off, the administrator sets: options nvidia_uvm {counters.parameter}=0."
    return Finding("access counters", State.NOTE, MIGRATION[counters.migration] + threshold, advice)
