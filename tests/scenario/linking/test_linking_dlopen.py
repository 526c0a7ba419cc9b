"""A BLAS that is loaded by dlopen(): in every scope, in a separate namespace, more than once, before main(), by a plugin's plugin, in a
child process."""

import linking
import pytest
from linking import CALLS, EVERYWHERE, NOWHERE, PATCHED_ONLY, Reach

# For each way to load (dlopen/host.c), which interceptors reach the calls of a plugin that is linked with a BLAS library.
PLUGIN = {
    "local": EVERYWHERE,
    "global": EVERYWHERE,
    "deep": PATCHED_ONLY,  # the plugin searches its own libraries first
    "never unloaded": EVERYWHERE,
    "namespace": PATCHED_ONLY,  # our exported names are not in that namespace
    "again": Reach(3 * CALLS, 3 * CALLS, 3 * CALLS),
    "exec": EVERYWHERE,
    "child": EVERYWHERE,  # counts only the parent's calls, since a child computes on the CPU
}
# The same for a BLAS library that the program itself loads.
LIBRARY = {
    "handle": PATCHED_ONLY,
    "default handle": EVERYWHERE,
}


@pytest.fixture
def host(workshop):
    return workshop.program("host", "dlopen/host.c", flags=["-ldl"])


@pytest.fixture
def plugin(workshop):
    return workshop.shared_object("plugin", "common/plugin.c", workshop.blas())


@pytest.mark.parametrize("how", PLUGIN)
def test_plugin(host, plugin, how):
    linking.check([host, how, plugin], PLUGIN[how])


@pytest.mark.parametrize("how", LIBRARY)
def test_library(workshop, host, how):
    linking.check([host, how, workshop.blas()], LIBRARY[how])


@pytest.mark.parametrize("how", ["local", "deep", "namespace", "again"])
def test_plugin_with_a_blas_inside(workshop, host, how):
    """The plugin exports dgemm_. The loader binds the plugin's calls to an earlier dgemm_, which is ours, unless flags forbid it."""
    plugin = workshop.shared_object("plugin", "common/plugin.c", "common/blas.c")
    linking.check([host, how, plugin], PLUGIN[how])


def test_another_plugin_in_a_child(workshop, host, plugin):
    other = workshop.shared_object("other", "common/plugin.c", workshop.blas("other_toy"))
    linking.check([host, "before child", plugin, other], Reach(2 * CALLS, 2 * CALLS, 2 * CALLS))


def test_two_plugins_with_the_same_names_inside(workshop, host, plugin):
    """Each patched function leads to its own original."""
    other = workshop.shared_object("other", "common/plugin.c", "common/blas.c", flags=["-Wl,-Bsymbolic"])
    linking.check([host, "before child", other, plugin], Reach(2 * CALLS, 2 * CALLS, CALLS))


def test_before_main(workshop, plugin):
    """Another library's constructor runs before ours."""
    library = workshop.shared_object("early", "dlopen/constructor.c", flags=[f'-DPLUGIN="{plugin}"', "-ldl"])
    program = workshop.program("program", "dlopen/constructed.c", library, flags=["-ldl"])
    linking.check([program, plugin], EVERYWHERE)


def test_plugin_that_loads_a_plugin(workshop, host):
    inner = workshop.shared_object("inner", "common/plugin.c", "common/blas.c", flags=["-Wl,-Bsymbolic"])
    outer = workshop.shared_object("outer", "dlopen/nested.c", flags=[f'-DPLUGIN="{inner}"', "-ldl"])
    linking.check([host, "local", outer], PATCHED_ONLY)


@pytest.mark.parametrize("how", ["deep", "namespace"])
def test_plugin_that_loads_a_plugin_behind_our_back(workshop, host, how):
    """The plugin calls the C library's dlopen. We notice the loaded library only at the next dlopen that we see. (This is a limit, not a promise.)"""
    inner = workshop.shared_object("inner", "common/plugin.c", "common/blas.c", flags=["-Wl,-Bsymbolic"])
    outer = workshop.shared_object("outer", "dlopen/nested.c", flags=[f'-DPLUGIN="{inner}"', "-ldl"])
    linking.check([host, how, outer], NOWHERE)


def test_plugin_whose_constructor_loads_a_plugin(workshop, host):
    inner = workshop.shared_object("inner", "common/plugin.c", "common/blas.c", flags=["-Wl,-Bsymbolic"])
    sources = ["dlopen/constructor.c", "dlopen/nested.c"]
    outer = workshop.shared_object("outer", *sources, flags=[f'-DPLUGIN="{inner}"', "-ldl"])
    linking.check([host, "local", outer], PATCHED_ONLY)


# For each way to load (dlopen/successors.c) and each place of the BLAS, which interceptors reach the calls.
SUCCESSORS = {
    ("plain", "inside"): EVERYWHERE,
    ("plain", "needed"): EVERYWHERE,
    ("by the C library", "needed"): EVERYWHERE,
    ("namespace", "inside"): PATCHED_ONLY,
}


def successors(workshop, blas):
    """The program, and two plugins that may be loaded at the same address."""
    host = workshop.program("host", "dlopen/successors.c", flags=["-ldl"])
    plugins = []
    for version in (1, 2):
        needed = "dlopen/counted_blas.c" if blas == "inside" else workshop.shared_object(f"blas{version}", "dlopen/counted_blas.c")
        plugins.append(workshop.shared_object(f"plugin{version}", "dlopen/successor.c", needed, flags=[f"-DVERSION={version}"]))
    return host, *plugins


@pytest.mark.parametrize(("how", "blas"), SUCCESSORS)
def test_plugins_in_each_others_place(workshop, how, blas):
    """A plugin that is closed and opened again has the code of its file at that time, and calls its own BLAS."""
    host, one, other = successors(workshop, blas)
    order = [one, other, one, one, other]
    reach = Reach(*(len(order) * calls for calls in vars(SUCCESSORS[how, blas]).values()))
    linking.check([host, how, workshop.directory / "plugin.so", *order], reach)


def test_calls_of_plugins_in_each_others_place_are_told_apart(workshop):
    host, one, other = successors(workshop, "needed")
    outcomes = linking.check([host, "plain", "-", one, other], Reach(2 * CALLS, 2 * CALLS, 2 * CALLS))
    for mode in ("auto", "preload"):  # (under patch, the caller is an exported name)
        sites = outcomes[mode].report["call_sites"]
        assert {site["object"]: site["calls"] for site in sites} == {str(one): CALLS, str(other): CALLS}
