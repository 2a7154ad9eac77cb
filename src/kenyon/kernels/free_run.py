"""Networks that run freely: what a readout says is the next input.

    s(t) = [y(t-1), e(t)]
    V(t) = (1-a) V(t-1) + a f[ W_in s(t) + rho W V(t-1) + b ]
    y(t) = b_out + W x([V(t), s(t), 1])

e are inputs that are known ahead. A single run has lanes of neurons, as in `one_episode`; of several, each has a lane,
as in `many_episodes`. Both add up in the same order, so a run is the same to the bit alone and beside others. Networks
with delays do not run freely.
"""

import numpy as np

from kenyon.kernels import many_episodes, one_episode
from kenyon.kernels.cache import kernel
from kenyon.kernels.every_step import encode, set_out, weighted_sum


@kernel
def free_run(network, reading, work, V, start, ahead, out):
    """Run a `SortedNetwork` freely from states V, shape (n_neurons,); return after how many steps s was not finite.

    start   (n_outputs,): the first input, which V have not heard yet
    ahead   (n_steps, n_known): inputs that are known ahead, which follow the outputs in s
    work    the `work_space` of this network
    out     (n_steps, n_outputs)
    """
    n_neurons, (n_steps, n_outputs), n_known = len(V), out.shape, ahead.shape[1]
    n_inputs = n_outputs + n_known
    state, new = work
    first = one_episode._rest(network, n_inputs, work)
    set_out(network, V, state.values)
    z, x = np.ones(n_neurons + n_inputs + 1, np.float32), np.empty(reading.W.shape[1])
    s = z[n_neurons : n_neurons + n_inputs]
    s[:n_outputs] = start
    for step in range(n_steps):
        s[n_outputs:] = ahead[step]
        state.values.reshape(-1)[first : first + n_inputs] = s
        one_episode._step(network, state, new)
        state, new = new, state
        one_episode._keep(network, state.values, z[:n_neurons])
        encode(reading, z, x)
        for j in range(n_outputs):
            out[step, j] = reading.bias[j] + weighted_sum(reading.W[j], x)
        s[:n_outputs] = out[step]
        if not np.isfinite(s).all():
            return step
    return n_steps


@kernel
def free_runs(network, reading, state, new, V, start, ahead, out):
    """Do the same for up to as many runs as `state` has lanes, through a `Network`.

    V, start, ahead and out have a first dimension more, the runs. `state` and `new` are `Rows` for this network, these
    inputs, and a bias if there is one.
    """
    (n_runs, n_neurons), (_, n_steps, n_outputs) = V.shape, out.shape
    n_read, first = n_neurons + n_outputs + ahead.shape[2], len(network.leaks)  # the first row of what is heard
    last = first + n_outputs + ahead.shape[2]
    for rows in (state.values, new.values):
        rows[:last] = np.float32(0)
        rows[last:] = np.float32(1)  # where the bias comes from
    Z, x = np.ones((n_runs, 1, n_read + 1), np.float32), np.empty(reading.W.shape[1])
    for run in range(n_runs):
        for neuron in range(n_neurons):
            state.values[network.places[neuron], run] = V[run, neuron]
        Z[run, 0, n_neurons : n_neurons + n_outputs] = start[run]
    for step in range(n_steps):
        for run in range(n_runs):
            Z[run, 0, n_neurons + n_outputs : n_read] = ahead[run, step]
            state.values[first:last, run] = Z[run, 0, n_neurons:n_read]
        many_episodes._step(network, state, new)
        state, new = new, state
        many_episodes._keep(network, state, 0, 0, Z)
        for run in range(n_runs):
            encode(reading, Z[run, 0], x)
            for j in range(n_outputs):
                out[run, step, j] = reading.bias[j] + weighted_sum(reading.W[j], x)
            Z[run, 0, n_neurons : n_neurons + n_outputs] = out[run, step]
        if not np.isfinite(Z[:, 0, n_neurons:n_read]).all():
            return step
    return n_steps
