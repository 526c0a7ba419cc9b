"""qemu: a machine's processor, memory and console."""

import subprocess
from pathlib import Path

import console
from machines import Machine

CPUS = 2
BOOT_SECONDS = 60  # the longest that a kernel takes to come up, of which it needs 3 to 5 on an idle computer


def command(machine: Machine, kernel: Path, initramfs: Path) -> list[str]:
    if machine.architecture == "amd64":
        qemu, serial = ["qemu-system-x86_64", "-cpu", "max"], "ttyS0"
    else:
        # Emulating the specified algorithm of pointer authentication would take most of the time.
        qemu, serial = ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"], "ttyAMA0"
    memory = ["-m", f"{sum(machine.nodes)}M", "-smp", str(CPUS)]
    for node, size in enumerate(machine.nodes):
        cpus = f",cpus=0-{CPUS - 1}" if node == 0 else ""
        memory += ["-object", f"memory-backend-ram,id=m{node},size={size}M", "-numa", f"node,nodeid={node},memdev=m{node}{cpus}"]
    quiet = f"console={serial} quiet loglevel=1 panic=-1 mitigations=off no_timer_check"
    boot = ["-kernel", str(kernel), "-initrd", str(initramfs), "-append", quiet]
    return [*qemu, "-accel", "tcg", *memory, "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio", *boot]


def run(machine: Machine, kernel: Path, initramfs: Path, log: Path) -> str:
    """Runs the machine until it switches itself off, does not come up, or its time is over. Returns its console output."""

    def said() -> str:
        return log.read_text(errors="replace").replace("\r\n", "\n").replace("\r", "\n")

    with open(log, "wb") as output:
        process = subprocess.Popen(command(machine, kernel, initramfs), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        for seconds in (BOOT_SECONDS, machine.seconds - BOOT_SECONDS):
            try:
                process.wait(timeout=seconds)
                break
            except subprocess.TimeoutExpired:
                if console.parse(said()).boot_seconds is None:
                    break
        process.kill()
        process.wait()
    return said()
