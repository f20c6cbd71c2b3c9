"""Who judges: runner keys, their approval, their pools."""
