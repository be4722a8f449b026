"""The programs of the sandbox's child processes, and what each gives up before it meets a guest."""
