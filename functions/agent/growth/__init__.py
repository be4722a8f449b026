"""Growth: an agent proposes to change a part of itself, and an owner takes it back or keeps it."""
