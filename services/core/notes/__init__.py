"""Pages: what their markdown says (pure), how they are written, and what links them."""
