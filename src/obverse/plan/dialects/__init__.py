"""What differs between engines when a plan is printed."""
