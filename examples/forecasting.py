"""Forecasts by free runs: Lorenz's system from twenty pasts, and an hourly load whose weather is known ahead.

Both series are made here.
"""

import numpy as np

import kenyon as kn


def main() -> None:
    series = lorenz(5000)
    model = kn.Forecaster(random_state=0).fit(series[:4000])
    starts = np.arange(4000, 4900, 45)
    runs = model.forecast(75, np.stack([series[t - 500 : t] for t in starts]))
    wanted = np.stack([series[t : t + 75] for t in starts])
    errors = np.sqrt((((runs - wanted) / series.std(axis=0)) ** 2).mean(axis=(1, 2)))
    print(f"Lorenz, {len(starts)} free runs of 75 steps: median error {np.median(errors):.4f} deviations")

    load, warm = demand(3000)
    with_weather = kn.Forecaster(random_state=0).fit(load[:2800], exogenous=warm[:2800])
    without = kn.Forecaster(random_state=0).fit(load[:2800])
    week = slice(2800, 2968)
    print(f"load of a week, weather known: R² {r2(load[week], with_weather.forecast(168, exogenous=warm[week])):.3f}")
    print(f"load of a week, not known: R² {r2(load[week], without.forecast(168)):.3f}")


def lorenz(n: int, h: float = 0.02) -> np.ndarray:
    """Return Lorenz's system on its attractor, by Runge and Kutta's rule."""

    def slope(x):
        return np.array([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])

    x, found = np.array([1.0, 1.0, 25.0]), []
    for _ in range(n + 500):
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c))
        found.append(x)
    return np.array(found[500:])


def demand(n: int):
    """Return an hourly load that follows the hour of the day, the weather and itself; and the weather with the hour."""
    rng, hour = np.random.default_rng(0), np.arange(n)
    weather = np.zeros(n)
    for t in range(1, n):
        weather[t] = 0.97 * weather[t - 1] + 0.25 * rng.normal()
    daily = np.stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24)], axis=1)
    load = np.zeros(n)
    for t in range(1, n):
        load[t] = 0.6 * load[t - 1] + daily[t] @ [1.0, 0.5] + np.tanh(weather[t]) + 0.05 * rng.normal()
    return load, np.column_stack([weather, daily])


def r2(y, found) -> float:
    return 1 - float(((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum())


if __name__ == "__main__":
    main()
