"""Programs with per-device code, over all axes or some, as what a scan does in each turn, or a branch."""
import around
import groups
import more_groups
import nested
import per_device
import repeated
from draw import MESHES, Draw
from turns import chosen, in_turns

KINDS = (groups, more_groups, nested, per_device, per_device, repeated)


def program(d, name):
    draw = Draw(d.random.getrandbits(48), MESHES)
    document = d.of(*KINDS).program(draw, name)
    document["program"][-1].pop("out_shardings", None)
    turned = d.of(in_turns, in_turns, chosen)(d, draw, document)
    return (d.is_true(0.3) and around.of_gradient(turned)) or turned
