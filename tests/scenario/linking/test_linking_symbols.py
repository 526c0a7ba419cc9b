"""BLAS with symbols of every kind: hidden, bound early, versioned, with two names, behind a wrapper; and functions that only look like BLAS."""

import linking
from linking import CALLS, EVERYWHERE, PATCHED_ONLY, SOURCES, Reach


def plugin_program(workshop):
    return workshop.program("host", "dlopen/host.c", flags=["-ldl"])


def test_hidden(workshop):
    """A plugin whose BLAS has hidden symbols."""
    script = f"-Wl,--version-script={SOURCES}/symbols/hidden.map"
    plugin = workshop.shared_object("plugin", "common/plugin.c", "common/blas.c", flags=[script])
    linking.check([plugin_program(workshop), "local", plugin], PATCHED_ONLY)


def test_bound_to_itself(workshop):
    plugin = workshop.shared_object("plugin", "common/plugin.c", "common/blas.c", flags=["-Wl,-Bsymbolic"])
    linking.check([plugin_program(workshop), "global", plugin], PATCHED_ONLY)


def test_symbol_version(workshop):
    blas = workshop.blas(flags=[f"-Wl,--version-script={SOURCES}/symbols/version.map"])
    linking.check([workshop.program("program", "common/program.c", blas)], EVERYWHERE)


def test_two_symbol_versions(workshop):
    """Both versions are patched. A call of the old version that calls the new one counts as one call."""
    script = f"-Wl,--version-script={SOURCES}/symbols/versions.map"
    blas = workshop.shared_object("toy", "symbols/versions.c", flags=[script])
    linking.check([workshop.program("new", "common/program.c", blas)], EVERYWHERE)
    linking.check([workshop.program("old", "symbols/old_user.c", blas)], EVERYWHERE)


def test_two_names_of_one_function(workshop):
    blas = workshop.shared_object("toy", "symbols/alias.c")
    outcomes = linking.check([workshop.program("program", "symbols/aliases.c", blas)], Reach(2 * CALLS, 2 * CALLS, 2 * CALLS))
    assert linking.patched(outcomes["patch"], blas) == ["dgemm_"]


def test_cblas_that_calls_fortran(workshop):
    """CBLAS and Fortran BLAS are in one library, and in two."""
    blas = workshop.blas()
    together = workshop.shared_object("together", "symbols/cblas.c", "common/blas.c", flags=["-DWRAPPER"])
    apart = workshop.shared_object("apart", "symbols/cblas.c", blas, flags=["-DWRAPPER"])
    for library in (together, apart):
        linking.check([workshop.program("program", "symbols/cblas.c", library)], EVERYWHERE)


def test_functions_of_the_programs_own(workshop):
    """Such functions are left alone, whatever their arguments and results are."""
    program = workshop.program("program", "symbols/own.c", workshop.blas())
    outcomes = linking.check([program], EVERYWHERE)
    for mode in ("patch", "auto"):
        assert linking.left_alone(outcomes[mode]) == dict.fromkeys(["dgemm", "sgemm"], "no underscore, in an object without all of level 3")
    exporting = workshop.program("exporting", "symbols/own.c", workshop.blas(), flags=["-rdynamic"])
    linking.check([exporting], EVERYWHERE)


def test_what_a_product_in_c_returns(workshop):
    """On a device it is the 0 that f2c's routines return, and on the CPU it is whatever the product returns."""
    linking.check([workshop.program("program", "symbols/returned.c", flags=["-DRETURNED=0"])], linking.PATCHED_ONLY)
    program = workshop.program("other", "symbols/returned.c", flags=["-DRETURNED=7"])
    outcome = linking.intercepted([program], "auto", min_size=1000)
    assert (outcome.status, outcome.stdout) == (0, linking.plain([program]).stdout)
    assert (outcome.total("calls"), outcome.total("offloaded")) == (linking.CALLS, 0)
