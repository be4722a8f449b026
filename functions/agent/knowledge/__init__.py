"""Knowledge is what an agent, or a whole team, can look up: documents, each with its source."""
