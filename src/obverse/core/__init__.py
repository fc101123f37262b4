"""The vocabulary of Obverse; imports nothing else of ours."""
