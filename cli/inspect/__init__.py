"""Commands that judge inputs, and show what follows from them."""
