"""What programs ask over HTTP and people at the shell: schedules, runs and the ledger."""
