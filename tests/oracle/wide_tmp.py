from tests.oracle.generate import random_case


def make(seed):
    return random_case(seed, wide=True)
