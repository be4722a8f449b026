"""The agents of one deployment: the root of the settings, and those that have a record below it."""
