"""Programs of other kinds some of whose arguments nobody has placed: the program that takes them does."""
import expressions
import lookups
import loops
import networks
import operands
import per_device
import products
import rearrangements
import recurrent
import shapes
import slices

KINDS = (expressions, lookups, loops, networks, operands, per_device, products, rearrangements, recurrent, shapes, slices)


def program(draw, name):
    document = draw.of(*KINDS).program(draw, name)
    placed = [each for each in document["program"] if each["op"] == "device_put"]
    for each in placed[draw.of(0, 1):]:
        if draw.is_true(0.5):
            document["program"].remove(each)
    return document
