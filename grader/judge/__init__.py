"""Pure functions that decide: values, traffic, deadlocks, budgets. No file, socket or clock."""
