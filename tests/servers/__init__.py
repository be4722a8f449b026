"""Real servers that tests start: on 127.0.0.1, on a free port, gone with the test run."""
