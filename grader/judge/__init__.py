"""Pure functions that judge values, traffic, deadlocks, and budgets. No file, socket or clock."""
