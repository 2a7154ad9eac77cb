"""A short form of the long run of a stream."""

from tests.reliability import soak_streams


def test_statistics_of_a_stream_do_not_drift():
    drift, growth, accuracy = soak_streams.run(20_000, 1000, show=lambda line: None)
    assert drift < soak_streams.DRIFT
    assert growth < soak_streams.MEMORY
    assert accuracy > 0.8
