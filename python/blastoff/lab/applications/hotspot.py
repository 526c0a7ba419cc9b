"""Hotspot: the temperature of a chip under the power of its parts."""

import numpy as np

from blastoff.lab.applications.application import Application, Array, Buffers, given, grid_2d
from blastoff.lab.buffers import launch
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import HEAT

STEP, ACROSS, UP, AMBIENT = 0.1, 0.8, 0.05, 80.0


class Hotspot(Application):
    """`steps` is even, so that the result is in the array of the initial temperature."""

    name = "hotspot"
    kernels = (HEAT,)
    tolerance = 1e-3

    def __init__(self, side: int, steps: int) -> None:
        self.side, self.steps, self.size_text = side, steps, f"{side} x {side}, {steps} steps"
        random = np.random.default_rng(4)
        power = random.random((side, side), dtype=np.float32)
        temperature = random.random((side, side), dtype=np.float32) * 20 + 320
        self.arrays: dict[str, Array] = {
            "power": given(power),
            "temperature": given(temperature, read_back=True),
            "other": Array(np.float32, (side, side), device_only=True),
        }
        self.lap_bytes = 3 * power.nbytes
        self.expected = self.by_fluxes(power, temperature)

    def by_fluxes(self, power: np.ndarray, temperature: np.ndarray) -> np.ndarray:
        """The result in double precision, computed from the heat that flows through each border between two cells."""
        now = temperature.astype(np.float64)
        for _ in range(self.steps):
            change = power + (AMBIENT - now) * UP
            down, right = ACROSS * np.diff(now, axis=0), ACROSS * np.diff(now, axis=1)
            change[:-1] += down
            change[1:] -= down
            change[:, :-1] += right
            change[:, 1:] -= right
            now += STEP * change
        return now

    def compute(self, device: Device, buffers: Buffers) -> None:
        source, target = buffers["temperature"], buffers["other"]
        for _ in range(self.steps):
            launch(device, HEAT, *grid_2d(self.side), self.side, STEP, ACROSS, UP, AMBIENT, buffers["power"], source, target)
            source, target = target, source
            self.lap()

    def error(self, results: dict[str, np.ndarray]) -> float:
        return float(np.max(np.abs(results["temperature"] - self.expected)))
