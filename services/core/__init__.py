"""What all services share; knows none of them."""
