"""The paper, reproduced: its figures, its claims and a report on both."""
