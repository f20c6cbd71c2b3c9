"""What people compete in: organizations, activities, rounds, assignments, participants."""
