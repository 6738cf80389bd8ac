"""As groups, of kinds that it has not: calls, policies of checkpoint, random numbers, other dtypes, transformations."""
import calls
import changed
import draws
import dtypes
import groups
import invariants
import medleys
import options
import transforms

KINDS = (calls, changed, draws, dtypes, invariants, medleys, options, transforms)


def program(d, name):
    return groups.program(d, name, KINDS)
