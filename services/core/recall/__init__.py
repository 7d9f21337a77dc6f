"""Query to ranked memories: gate, scoring, fusion, budget. Pure but for the ports."""
