"""Scans whose turns compute of their constants alone before they use them, with gradients."""
import loops
from draw import step


def program(draw, name):
    return loops.scan(draw, name, Body)


class Body(loops.Body):
    def product(self):
        draw, size = self.draw, self.shape[1]
        self.add(step("u", "mul", draw.of(*self.weights), draw.of(0.5, -0.7)))
        for _ in range(draw.of(0, 1, 1, 2)):
            self.add(*draw.of([step("u", draw.of("sin", "tanh", "square"), "u")], [step("u", "transpose", "u", axes=[1, 0])],
                              [step("u", "roll", "u", shift=draw.of(1, -2), axis=draw.of(0, 1))], [step("u", "softmax", "u", axis=draw.of(0, 1))],
                              [step("u", "cumsum", "u", axis=draw.of(0, 1)), step("u", "div", "u", float(size))],
                              [step("u", "tril", "u")], [step("e", "eye", size), step("u", "add", "u", "e")],
                              [step("u", "matmul", "u", draw.of("u", *self.weights)), step("u", "div", "u", float(size))],
                              [step("m", "max", "u", axis=draw.of(0, 1), keepdims=True), step("u", "sub", "u", "m")]))
            self.steps += draw.held("u", [size, size], 0.2)
        self.add(step("v", "matmul", "v", "u"), step("v", "div", "v", size**0.5), step("v", draw.of("tanh", "sin"), "v"))
