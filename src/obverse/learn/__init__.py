"""Learn: short lessons on the real engine, each ending in an exercise that the product checks."""
