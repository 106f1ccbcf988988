"""The compass written out as plainly as possible, one token at a time, to hold the package against."""

import math

from theodolite.geometry import Box


def sector_of(dx, dy_down, sectors, bins):
    """Which sector a step from the centre leads into."""
    width = 360 / sectors
    angle = math.degrees(math.atan2(-dy_down, dx))
    if bins == "centre":
        angle += width / 2
    while angle < 0:
        angle += 360
    while angle >= 360:
        angle -= 360
    return min(int(angle / width), sectors - 1)


def compass(values, rects, centre, sigma, sectors=8, bins="edge", reference=None):
    """P of equation 2 as a list; tokens at the centre and without a place are passed over."""
    sums = [0.0] * sectors
    for value, (x0, y0, x1, y1) in zip(values, rects, strict=True):
        if math.isnan(x0):
            continue
        dx, dy = (x0 + x1) / 2 - centre[0], (y0 + y1) / 2 - centre[1]
        if dx == 0 and dy == 0:
            continue
        share = 1.0 if reference is None else 1 - overlap((x0, y0, x1, y1), reference)
        weight = 1.0 if sigma is None else math.exp(-(dx**2 + dy**2) / (2 * sigma**2))
        sums[sector_of(dx, dy, sectors, bins)] += float(value) * share * weight
    total = sum(sums)
    return [each / total for each in sums]


def overlap(rect, box: Box):
    """Share of a rectangle in a box."""
    x0, y0, x1, y1 = rect
    wide = max(0.0, min(x1, box.x1) - max(x0, box.x0))
    high = max(0.0, min(y1, box.y1) - max(y0, box.y0))
    return wide * high / ((x1 - x0) * (y1 - y0))


def compass_by_area(values, rects, centre, sigma, sectors, bins, reference=None):
    """The same with every token cut into many points; the weight stays that of the token's centre."""
    sums, fine = [0.0] * sectors, 40
    for value, (x0, y0, x1, y1) in zip(values, rects, strict=True):
        weight = 1.0
        if sigma is not None:
            rho2 = ((x0 + x1) / 2 - centre[0]) ** 2 + ((y0 + y1) / 2 - centre[1]) ** 2
            weight = math.exp(-rho2 / (2 * sigma**2))
        for i in range(fine):
            for j in range(fine):
                x, y = x0 + (x1 - x0) * (i + 0.5) / fine, y0 + (y1 - y0) * (j + 0.5) / fine
                if (
                    reference is not None
                    and reference.x0 < x < reference.x1
                    and reference.y0 < y < reference.y1
                ):
                    continue
                sums[sector_of(x - centre[0], y - centre[1], sectors, bins)] += (
                    float(value) * weight / fine**2
                )
    total = sum(sums)
    return [each / total for each in sums]


def error(first, second):
    """Equation 6."""
    return abs((first - second + 180) % 360 - 180)


def mean_direction(shares, centres):
    """Angle and length of the mean vector."""
    x = sum(p * math.cos(math.radians(c)) for p, c in zip(shares, centres, strict=True))
    y = sum(p * math.sin(math.radians(c)) for p, c in zip(shares, centres, strict=True))
    return math.degrees(math.atan2(y, x)) % 360, math.hypot(x, y)
