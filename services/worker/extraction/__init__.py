"""Words of a person to facts with evidence."""
