"""GitHub as a chat platform: comments below issues and pull requests."""
