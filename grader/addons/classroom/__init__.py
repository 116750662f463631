"""A whole class: what came in, gradings done side by side, marks by policy, and what goes back."""
