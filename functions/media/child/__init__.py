"""What runs in the child process alone: it locks itself down and opens one file."""
