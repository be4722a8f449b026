"""Schedules wake an agent at a time: reminders, and work that it does again and again."""
