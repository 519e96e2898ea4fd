"""States as documents: types, their JSON, and how they change over versions."""
