"""Pictures of curves: the only room that imports matplotlib."""
