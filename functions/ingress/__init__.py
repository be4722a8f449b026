"""The ways in: what platforms and programs outside send goes into the queue."""
