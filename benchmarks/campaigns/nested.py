"""Code of groups of devices within code of groups: per device over one axis, within that over another, the third one left to the partitioner."""
import json

import groups
from draw import one_or_all, step

MESHES = [((2, 2, 2), "abc"), ((2, 2, 2), "bca"), ((2, 3, 2), "abc"), ((2, 2, 2), "cab")]


def program(d, name):
    while True:
        document = groups.program(d, name, meshes=MESHES)
        manual = document["functions"]["f"]["body"][0]["axis_names"]
        if len(manual) > 1:
            continue
        axis = d.of(*(each for each in document["meshes"]["m"]["axes"] if each not in manual))
        if nested := within(document, axis):
            return nested


def within(document, axis):
    """The code with its middle as code over the axis, whose results are weighed by their places along it and summed; nothing where it names it."""
    group = document["functions"]["group"]
    params, results, body = group["params"], group["results"], group["body"]
    begin = sum(each["op"] == "squeeze" and each["args"] == [each["let"]] and each["let"] in params for each in body[:len(params)])
    middle, end = body[begin:-len(results)], body[-len(results):]
    if f'"{axis}"' in json.dumps(middle):
        return None
    middle += [step("place", "axis_index", axis_name=axis), step("place", "convert", "place", dtype="float32"), step("place", "add", "place", 1.0)]
    for each in results:
        middle += [step(each, "mul", each, "place"), step(each, "psum", each, axis_name=axis)]
    document["functions"]["inner"] = {"params": params, "body": middle, "results": results}
    call = step(one_or_all(results), "shard_map", *params, fn="inner", axis_names=[axis], in_specs=[[]] * len(params),
                out_specs=[[]] * len(results))
    group["body"] = body[:begin] + [call] + end
    return document
